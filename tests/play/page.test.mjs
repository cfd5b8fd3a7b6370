// Parts of the page, which is in the folder SITE, without a browser.

import assert from "node:assert/strict";
import test from "node:test";
import { pathToFileURL } from "node:url";

const load = (file) => import(new URL(file, `${pathToFileURL(process.env.SITE)}/`));
const { ExactValues } = await load("app/exact.js");
const { keepGame, keptGame, keptGames } = await load("app/games.js");

/** A browser that keeps nothing yet. */
function emptyBrowser() {
  const localStorage = Object.create({
    getItem(name) {
      return this[name] ?? null;
    },
    setItem(name, text) {
      this[name] = text;
    },
    removeItem(name) {
      delete this[name];
    },
  });
  globalThis.window = { localStorage };
  return localStorage;
}

/** A game to keep, with these moves. */
function gameOf(moves) {
  const record = { game: "corso", version: "1", options: { size: 5 }, moves };
  const person = { kind: "person" };
  return { variant: "corso", seats: [person, person], live: [], view: [], studying: false, record };
}

test("games without moves take no other game's place, and the latest are kept too", (t) => {
  let time = 0;
  t.mock.method(Date, "now", () => (time += 1));
  const store = emptyBrowser();
  for (let number = 0; number < 60; number += 1) keepGame(`played${number}`, gameOf(["c3"]));
  for (let number = 0; number < 60; number += 1) keepGame(`new${number}`, gameOf([]));
  const played = keptGames().filter(({ record }) => record.moves.length);
  assert.equal(played.length, 50);
  assert.notEqual(keptGame("new59"), null);
  assert.equal(Object.keys(store).length, 100);
});

test("exact values are among the files that were loaded, once somebody has asked for them", () => {
  globalThis.Worker = class {
    addEventListener() {}
    postMessage() {}
  };
  const exact = new ExactValues();
  assert.deepEqual(exact.files, []);
  exact.open({ exact: { module: "exact/some.wasm", source: "a search" } });
  assert.deepEqual(exact.files, []);
  exact.find({}, new Uint8Array(1), { time: 1, onFound: () => {} });
  assert.deepEqual(exact.files, [new URL("exact/some.wasm", `${pathToFileURL(process.env.SITE)}/`).href]);
  exact.open({ exact: null });
  assert.deepEqual(exact.files, []);
});
