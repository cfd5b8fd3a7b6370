/**
 * Keeps the page and the games that were played in the browser, so that they open without a network.
 *
 * `site.json` lists the site's files and has a version, which changes when one of them does. Each
 * version has a cache of its own, complete once it has `site.json`. Files `on_demand`, those of the
 * games, go there once they are asked for, or a page names them; their names change with their
 * content, so a new version takes over what is there. Opening the page takes the newest complete one,
 * and looks in the background whether there is a newer version for the next time.
 */

const PREFIX = `ludarium ${self.registration.scope} `;
const LIST = "site.json";

const here = (file) => new URL(file, self.registration.scope).href;

async function latestSite() {
  const answer = await fetch(here(LIST), { cache: "no-store" });
  if (!answer.ok) throw new Error(`cannot fetch ${LIST}: ${answer.status}`);
  return answer;
}

/** Cache the latest version, unless it is there; returns whether it was new. */
async function update() {
  const answer = await latestSite();
  const { version, files, on_demand: waiting } = await answer.clone().json();
  const cache = await caches.open(PREFIX + version);
  if (await cache.match(here(LIST))) return false;
  const later = new Set([...waiting, "sw.js"]);
  const wanted = files.filter((file) => !later.has(file)).map(here);
  for (const file of waiting.map(here)) {
    const kept = await caches.match(file);
    if (kept) await cache.put(file, kept);
  }
  await cache.addAll(wanted.map((file) => new Request(file, { cache: "no-cache" })));
  const start = await cache.match(here("index.html"));
  if (start) await cache.put(here("./"), start);
  await cache.put(here(LIST), answer);
  return true;
}

/** Tell the pages that are open of a version that is newer than theirs. */
async function lookForNewer() {
  if (!(await update().catch(() => false))) return; // without a connection nothing is newer
  for (const page of await self.clients.matchAll()) page.postMessage("newer");
}

/** Whether a window is open that may still need files of the version it was loaded with. */
async function isInUse() {
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  return windows.length > 0;
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

let current = null; // name of the cache that answers

async function useNewest() {
  const complete = await versions();
  current = complete.at(-1) ?? null;
  if (await isInUse()) return; // another time
  await Promise.all(complete.slice(0, -1).map((name) => caches.delete(name)));
}

async function respond(request) {
  if (request.mode === "navigate" || current === null) await useNewest();
  if (current !== null) {
    const cache = await caches.open(current);
    const kept = await cache.match(request, { ignoreSearch: true });
    if (kept) return kept;
    // A window of an older version asks for what its version has.
    const older = await caches.match(request, { ignoreSearch: true });
    if (older) return older;
    const { on_demand: waiting } = await (await cache.match(here(LIST))).json();
    if (waiting.some((file) => here(file) === request.url)) {
      const answer = await fetch(request);
      if (answer.ok) await cache.put(request, answer.clone());
      return answer;
    }
  }
  return fetch(request);
}

/** Keep files that a page has loaded without this worker: those of the game it began with. */
async function keep(files) {
  await Promise.allSettled(files.map((file) => respond(new Request(file))));
}

self.addEventListener("install", (event) => {
  event.waitUntil(update().then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  event.waitUntil(useNewest().then(() => self.clients.claim()));
});

self.addEventListener("message", (event) => {
  event.waitUntil(keep(event.data.files));
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(self.registration.scope)) return;
  event.respondWith(respond(request));
  if (request.mode === "navigate") event.waitUntil(lookForNewer());
});
