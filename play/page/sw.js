/**
 * Caches the page, and the games that were played, so that they open offline.
 *
 * `site.json` lists the site's files and has a version, which changes when one of them does. Each
 * version has a cache of its own, complete once it has `site.json`. Files `on_demand`, those of the
 * games, are cached when they are requested, or when a page names them; their names change with
 * their content.
 *
 * The oldest complete cache answers. Opening the page checks in the background for a newer
 * version. When a window opens while no other is open, the newest version takes over, with the
 * files kept on demand, and older versions are deleted. So all open windows, and their threads,
 * have files of one version.
 */

const PREFIX = `ludarium ${self.registration.scope} `;
const LIST = "site.json";

const here = (file) => new URL(file, self.registration.scope).href;

async function latestSite() {
  const answer = await fetch(here(LIST), { cache: "no-store" });
  if (!answer.ok) throw new Error(`cannot fetch ${LIST}: ${answer.status}`);
  return answer;
}

/** Cache the latest version, unless it is cached; return whether it was new. */
async function update() {
  const answer = await latestSite();
  const { version, files, on_demand: waiting } = await answer.clone().json();
  const cache = await caches.open(PREFIX + version);
  if (await cache.match(here(LIST))) return false;
  const later = new Set([...waiting, "sw.js"]);
  const wanted = files.filter((file) => !later.has(file)).map(here);
  await cache.addAll(wanted.map((file) => new Request(file, { cache: "no-cache" })));
  const start = await cache.match(here("index.html"));
  if (start) await cache.put(here("./"), start);
  await cache.put(here(LIST), answer);
  return true;
}

/** Tell open pages of a version that is newer than theirs. */
async function lookForNewer() {
  if (!(await update().catch(() => false))) return; // offline nothing is newer
  for (const page of await self.clients.matchAll()) page.postMessage("newer");
}

/** Whether an open window may still need files of the version with which it was loaded. */
async function isInUse() {
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  return windows.some(({ url }) => url.startsWith(self.registration.scope));
}

/** Names of the complete caches, the oldest first. */
async function versions() {
  const complete = [];
  for (const name of await caches.keys()) {
    if (!name.startsWith(PREFIX)) continue;
    const cache = await caches.open(name);
    if (await cache.match(here(LIST))) complete.push(name);
  }
  return complete;
}

/** The addresses of files that a version keeps once they are requested. */
async function onDemand(cache) {
  const { on_demand: waiting } = await (await cache.match(here(LIST))).json();
  return waiting.map(here);
}

/** Keep a file if the disk has room; if not, it is fetched again the next time. */
const keep = (cache, file, answer) => cache.put(file, answer).catch(() => {});

let current = null; // name of the cache in use

/** Switch to the newest version, and delete older ones. */
async function turnToNewest() {
  const older = await versions();
  current = older.pop() ?? null;
  if (older.length === 0) return;
  const cache = await caches.open(current);
  for (const file of await onDemand(cache)) {
    const kept = await caches.match(file);
    if (kept) await keep(cache, file, kept);
  }
  await Promise.all(older.map((name) => caches.delete(name)));
}

async function respond(request) {
  if (request.mode === "navigate" && !(await isInUse())) await turnToNewest();
  current ??= (await versions())[0] ?? null;
  if (current === null) return fetch(request);
  const cache = await caches.open(current);
  const kept = await cache.match(request, { ignoreSearch: true });
  if (kept) return kept;
  const answer = await fetch(request);
  const isWanted = answer.ok && (await onDemand(cache)).includes(request.url);
  if (isWanted) await keep(cache, request, answer.clone());
  return answer;
}

/** Keep files that a page has loaded without this worker: those of its first game. */
async function keepLoaded(files) {
  await Promise.allSettled(files.map((file) => respond(new Request(file))));
}

self.addEventListener("install", (event) => {
  event.waitUntil(update().then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  event.waitUntil(self.clients.claim());
});

self.addEventListener("message", (event) => {
  event.waitUntil(keepLoaded(event.data.files));
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(self.registration.scope)) return;
  event.respondWith(respond(request));
  if (request.mode === "navigate") event.waitUntil(lookForNewer());
});
