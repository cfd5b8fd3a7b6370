/**
 * Caches the page, and the games that were played, so that they open offline.
 *
 * `site.json` lists the site's files and has a version, which changes when one of them does. Each
 * version has a cache of its own, complete once it has `site.json`. Files `on_demand`, those of the
 * games, are cached when they are requested, or when a page names them; their names change with
 * their content.
 *
 * The oldest complete cache answers; what it lacks, or cannot read, comes from the network. Opening
 * the page checks in the background for a newer version, and mends the cache of the latest one.
 * When a window opens or is loaded again while no other is open, or when a page asks for it, the
 * newest version takes over, with the files kept on demand, and older versions are deleted. So all
 * open windows, and their threads, have files of one version.
 */

const PREFIX = `ludarium ${self.registration.scope} `;
const LIST = "site.json";

const here = (file) => new URL(file, self.registration.scope).href;

async function latestSite() {
  const answer = await fetch(here(LIST), { cache: "no-store" });
  if (!answer.ok) throw new Error(`cannot fetch ${LIST}: ${answer.status}`);
  return answer;
}

/** Cache what is missing of the latest version, without the files on demand. */
async function update() {
  const answer = await latestSite();
  const { version, files, on_demand: waiting } = await answer.clone().json();
  const cache = await caches.open(PREFIX + version);
  const there = new Set((await listOf(cache)) && (await cache.keys()).map(({ url }) => url));
  const later = new Set([...waiting, "sw.js"]);
  const wanted = files.filter((file) => !later.has(file)).map(here);
  const missing = wanted.filter((file) => !there.has(file));
  await cache.addAll(missing.map((file) => new Request(file, { cache: "no-cache" })));
  if (missing.includes(here("index.html"))) {
    await cache.put(here("./"), await cache.match(here("index.html")));
  }
  if (missing.length) await cache.put(here(LIST), answer);
}

/** Tell open pages of a version that is newer than theirs. */
async function tellOfNewer() {
  const newest = (await versions()).at(-1) ?? null;
  if (newest === null || current === null || newest === current) return;
  for (const page of await self.clients.matchAll()) page.postMessage("newer");
}

async function lookForNewer() {
  await update().catch(() => {}); // offline nothing is newer
  await tellOfNewer();
}

/** How many open windows may still need files of the version with which they were loaded. */
async function windowsInUse() {
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  return windows.filter(({ url }) => url.startsWith(self.registration.scope)).length;
}

/** The list of files of a version's cache; null if it is missing or damaged. */
async function listOf(cache) {
  try {
    return await (await cache.match(here(LIST))).json();
  } catch {
    return null;
  }
}

/** Names of the complete caches, the oldest first. */
async function versions() {
  const complete = [];
  for (const name of await caches.keys()) {
    if (!name.startsWith(PREFIX)) continue;
    if (await listOf(await caches.open(name))) complete.push(name);
  }
  return complete;
}

/** The addresses of files that a version keeps once they are requested. */
async function onDemand(cache) {
  return (await listOf(cache))?.on_demand.map(here) ?? [];
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

/** The cache that answers a request, or null. */
async function cacheFor(request) {
  if (request.mode === "navigate") {
    const own = request.isReloadNavigation ? 1 : 0; // the window itself, as it was
    if ((await windowsInUse()) <= own) await turnToNewest();
  }
  if (current !== null && !(await caches.has(current))) current = null; // deleted by the browser
  current ??= (await versions())[0] ?? null;
  return current === null ? null : caches.open(current);
}

/** Answer from the cache; whatever is wrong with it, the network answers. */
async function respond(request) {
  const cache = await cacheFor(request).catch(() => null);
  const kept = await cache?.match(request, { ignoreSearch: true }).catch(() => null);
  if (kept?.ok) return kept;
  const answer = await fetch(request);
  const isWanted = answer.ok && cache !== null && (await onDemand(cache)).includes(request.url);
  if (isWanted) await keep(cache, request, answer.clone());
  return answer;
}

/** Let the newest version take over now, in all windows. */
async function takeOver() {
  await turnToNewest();
  for (const page of await self.clients.matchAll({ type: "window" })) page.postMessage("reload");
}

/** Keep files that a page names: it has begun their game, perhaps before this worker was there. */
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
  const { type, files } = event.data;
  event.waitUntil(type === "update" ? takeOver() : keepLoaded(files).then(tellOfNewer));
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(self.registration.scope)) return;
  event.respondWith(respond(request));
  if (request.mode === "navigate") event.waitUntil(lookForNewer());
});
