// The service worker of the page, in a browser that is played here: what it keeps, and who gets what.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import vm from "node:vm";

const SCRIPT = readFileSync(new URL("../../play/page/sw.js", import.meta.url), "utf8");
const SCOPE = "https://host/play/";
const PAGES = ["index.html", "worker.js", "sw.js"];

class Cache {
  files = new Map();
  isFull = false;

  async match(request) {
    return this.files.get(request.url ?? request)?.clone();
  }

  async keys() {
    return [...this.files.keys()].map((url) => ({ url }));
  }

  async put(request, answer) {
    if (this.isFull) throw new Error("QuotaExceededError");
    this.files.set(request.url ?? request, answer);
  }

  async addAll(requests) {
    for (const { url } of requests) this.files.set(url, await this.fetch(url));
  }
}

/** A host of a site, and a browser with its service worker, which can be started anew. */
function open() {
  const caches = new Map();
  const windows = [];
  let site; // files by address
  let listeners;

  const publish = (version, onDemand) => {
    const files = [...PAGES, ...onDemand];
    const list = JSON.stringify({ version, files, on_demand: onDemand });
    site = new Map(files.map((file) => [SCOPE + file, `${file} of ${version}`]));
    site.set(`${SCOPE}site.json`, list);
  };
  const fetch = async (request) => {
    const content = site.get(request.url ?? request);
    return new Response(content ?? null, { status: content === undefined ? 404 : 200 });
  };
  const start = () => {
    listeners = {};
    const self = {
      registration: { scope: SCOPE },
      addEventListener: (type, listener) => (listeners[type] = listener),
      skipWaiting: async () => {},
      clients: { claim: async () => {}, matchAll: async () => windows },
    };
    const storage = {
      open: async (name) => {
        if (!caches.has(name)) caches.set(name, Object.assign(new Cache(), { fetch }));
        return caches.get(name);
      },
      keys: async () => [...caches.keys()],
      has: async (name) => caches.has(name),
      delete: async (name) => caches.delete(name),
      match: async (file) => {
        for (const cache of caches.values()) {
          const kept = await cache.match(file);
          if (kept) return kept;
        }
      },
    };
    vm.runInNewContext(SCRIPT, { self, caches: storage, fetch, Request, URL, Map, Set, Promise });
  };
  const happens = async (type, event = {}) => {
    let waits = [];
    let answer = null;
    listeners[type]({
      ...event,
      waitUntil: (promise) => waits.push(promise),
      respondWith: (promise) => (answer = promise),
    });
    await Promise.all(waits);
    return answer === null ? null : (await answer).text();
  };
  const ask = (file, mode = "no-cors", isReloadNavigation = false) =>
    happens("fetch", { request: { url: SCOPE + file, method: "GET", mode, isReloadNavigation } });
  const said = [];
  const openWindow = async () => {
    const content = await ask("index.html", "navigate");
    windows.push({ url: SCOPE, postMessage: (text) => said.push(text) });
    return content;
  };
  return { caches, windows, said, publish, start, happens, ask, openWindow };
}

/** A browser with a window on version 1, which has asked for `games/a.wasm`. */
async function visited() {
  const browser = open();
  browser.publish("1", ["games/a.wasm", "games/b.wasm"]);
  browser.start();
  await browser.happens("install");
  await browser.openWindow();
  await browser.ask("games/a.wasm");
  return browser;
}

test("windows that are open have files of one version, and their threads too", async () => {
  const browser = await visited();
  browser.publish("2", ["games/a.wasm", "games/b.wasm"]);
  browser.windows.push({ url: "https://host/docs/", postMessage: () => {} });
  assert.equal(await browser.openWindow(), "index.html of 1"); // and version 2 is there now
  for (const isNew of [false, true]) {
    if (isNew) browser.start(); // browsers end a worker that has nothing to do
    assert.equal(await browser.ask("worker.js"), "worker.js of 1");
    assert.equal(await browser.openWindow(), "index.html of 1");
  }
  browser.windows.splice(0, browser.windows.length, { url: "https://host/docs/" });
  assert.equal(await browser.openWindow(), "index.html of 2");
  assert.equal(await browser.ask("worker.js"), "worker.js of 2");
  assert.equal(browser.caches.size, 1);
});

test("what an older window keeps after an update is not lost", async () => {
  const browser = await visited();
  browser.publish("2", ["games/a.wasm", "games/b.wasm"]);
  await browser.openWindow();
  await browser.ask("games/b.wasm");
  browser.windows.length = 0;
  assert.equal(await browser.openWindow(), "index.html of 2");
  browser.publish("3", []); // which has neither
  assert.equal(await browser.ask("games/a.wasm"), "games/a.wasm of 1");
  assert.equal(await browser.ask("games/b.wasm"), "games/b.wasm of 2");
});

test("a full disk stops neither a file nor a new version", async () => {
  const browser = await visited();
  browser.publish("2", ["games/a.wasm", "games/b.wasm"]);
  await browser.openWindow();
  for (const cache of browser.caches.values()) cache.isFull = true;
  assert.equal(await browser.ask("games/b.wasm"), "games/b.wasm of 2");
  browser.windows.length = 0;
  assert.equal(await browser.openWindow(), "index.html of 2");
  assert.equal(await browser.ask("games/a.wasm"), "games/a.wasm of 2"); // fetched again
});

test("whatever is wrong with the cache, the network answers, and the next visit mends it", async () => {
  const damages = {
    "deleted under it": ({ caches }) => caches.clear(),
    "list damaged": ({ caches }) =>
      caches.values().next().value.files.set(`${SCOPE}site.json`, new Response("{")),
    "entry gone": ({ caches }) => caches.values().next().value.files.delete(`${SCOPE}index.html`),
    "entry unreadable": ({ caches }) => {
      caches.values().next().value.match = async () => {
        throw new Error("UnknownError");
      };
    },
  };
  for (const [name, damage] of Object.entries(damages)) {
    const browser = await visited();
    damage(browser);
    assert.equal(await browser.ask("worker.js"), "worker.js of 1", name);
    assert.equal(await browser.ask("games/b.wasm"), "games/b.wasm of 1", name);
    assert.equal(await browser.openWindow(), "index.html of 1", name);
    if (name === "entry unreadable") continue;
    const [cache] = browser.caches.values();
    for (const file of ["index.html", "worker.js", "site.json"]) {
      assert.equal((await cache.match(SCOPE + file)).ok, true, name);
    }
  }
});

test("a page hears of a newer version each time, and gets it by a reload or at once", async () => {
  const browser = await visited();
  browser.publish("2", ["games/a.wasm", "games/b.wasm"]);
  await browser.openWindow();
  await browser.happens("message", { data: { files: [] } });
  assert.deepEqual(browser.said, ["newer", "newer", "newer"]); // one window, then both
  assert.equal(await browser.ask("index.html", "navigate", true), "index.html of 1");
  browser.windows.pop(); // the reloaded window alone
  assert.equal(await browser.ask("index.html", "navigate", true), "index.html of 2");

  const other = await visited();
  other.publish("2", []);
  await other.openWindow();
  other.said.length = 0;
  await other.happens("message", { data: { type: "update" } });
  assert.deepEqual(other.said, ["reload", "reload"]);
  assert.equal(await other.openWindow(), "index.html of 2");
});
