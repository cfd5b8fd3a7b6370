// Parts of the page, which is in the folder SITE, without a browser.

import assert from "node:assert/strict";
import test from "node:test";
import { pathToFileURL } from "node:url";

const load = (file) => import(new URL(file, `${pathToFileURL(process.env.SITE)}/`));
const { ExactValues } = await load("app/exact.js");
const { keepGame, keptGame, keptGames } = await load("app/games.js");
const { headersOf, lossOf, recordOf } = await load("app/records.js");
const { Session } = await load("app/session.js");
const { Node } = await load("app/tree.js");
const { readRecord } = await load("record.js");

const PERSON = { kind: "person" };

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
  return { variant: "corso", seats: [PERSON, PERSON], live: [], view: [], studying: false, record };
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

/** A variation from a move on, with others nested in it. */
function nested(depth, move = 2) {
  const variations = depth > 1 ? { variations: { [move + 1]: [nested(depth - 1, move + 1)] } } : {};
  return { moves: ["a1", "b1"], ...variations };
}

test("a game beyond a record's limits stays kept as it was", () => {
  emptyBrowser();
  const record = (depth) => ({ ...gameOf(["c3", "b2"]).record, variations: { 2: [nested(depth)] } });
  keepGame("deep", { ...gameOf([]), record: record(8) });
  const kept = keptGame("deep");
  assert.deepEqual(kept.record, record(8));
  assert.throws(() => keepGame("deep", { ...gameOf([]), record: record(9) }), /within 8 variations/);
  assert.deepEqual(keptGame("deep"), kept);
});

test("what is kept but cannot be read goes first", () => {
  const store = emptyBrowser();
  for (let number = 0; number < 50; number += 1) store[`ludarium.game.x${number}`] = "{";
  for (let number = 0; number < 3; number += 1) keepGame(`played${number}`, gameOf(["c3"]));
  for (let number = 0; number < 50; number += 1) keepGame(`new${number}`, gameOf([]));
  assert.deepEqual(Object.keys(store).filter((name) => name.startsWith("ludarium.game.x")), []);
  assert.equal(keptGames().length, 53);
});

/** A session, and a node after each of these parents: the start has the number 0. */
function sessionWith(...parents) {
  const nodes = [new Node(null, -1, "", -1, { mover: 0, outcome: 0 })];
  for (const [action, parent] of parents.entries()) {
    const state = { mover: 1 - nodes[parent].mover, outcome: 0 };
    nodes.push(new Node(nodes[parent], action, `${action}`, 0, state));
    nodes[parent].children.push(nodes.at(-1));
  }
  const session = new Session(null, { changed() {}, ended() {} });
  return { session, nodes, board: { table: { root: nodes[0] } } };
}

test("only who takes back the end of a resigned game takes back the resignation", () => {
  const { session, nodes, board } = sessionWith(0, 1, 1);
  const [, , end, variation] = nodes;
  const seats = [PERSON, PERSON];
  session.begin(board, { seats, node: end, view: variation, studying: true, resigned: 1 });
  session.takeBack();
  assert.deepEqual([session.view, session.live, session.resigned], [nodes[1], end, 1]);
  session.redo();
  assert.deepEqual([session.view, session.live, session.resigned], [variation, end, 1]);
  session.look(end);
  session.takeBack();
  assert.deepEqual([session.view, session.live, session.resigned], [nodes[1], nodes[1], null]);
  session.redo();
  assert.deepEqual([session.view, session.live, session.resigned], [end, end, 1]);
});

test("a game that was lost by an illegal action is read and kept as one", () => {
  const { session, nodes, board } = sessionWith(0, 1);
  const [start, , end] = nodes;
  const lost = { result: [-1, 1], illegal_action: "a1" };
  assert.deepEqual(lossOf({ result: [1, -1] }, end), { resigned: 1, illegal: null });
  assert.deepEqual(lossOf(lost, { isOver: true }), { resigned: null, illegal: null });
  const engine = { manifest: { description: { version: 0, options: {} } } };
  const table = { ...board.table, root: start, engine, seed: 0 };
  const known = { ...board, table, game: { name: "corso" }, levels: [] };
  session.begin(known, { seats: [PERSON, PERSON], node: end, ...lossOf(lost, end), headers: {} });
  const record = recordOf(session);
  assert.deepEqual([record.result, record.illegal_action, session.winner], [[-1, 1], "a1", 1]);
  assert.deepEqual([session.isStudy, headersOf(record)], [true, {}]);
  session.takeBack();
  assert.deepEqual([recordOf(session).result, recordOf(session).illegal_action], [null, undefined]);
  assert.throws(() => readRecord(JSON.stringify({ ...record, illegal_action: 5 })), /is 5, not a text/);
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
