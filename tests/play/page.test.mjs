// Parts of the page, which is in the folder SITE, without a browser.

import assert from "node:assert/strict";
import test from "node:test";
import { pathToFileURL } from "node:url";

const load = (file) => import(new URL(file, `${pathToFileURL(process.env.SITE)}/`));
const { learnResult, suitingLevel } = await load("app/adapting.js");
const { judgeAgain, lossesOf } = await load("app/analyst.js");
const { Catalog } = await load("app/catalog.js");
const { Clock } = await load("app/clock.js");
const { OWN } = await load("app/dom.js");
const { exactBest, exactFor0, exactMark, ExactValues } = await load("app/exact.js");
const { forgetGame, holdGame, keepGame, keptGame, keptGames, letGoOfGame } =
  await load("app/games.js");
const { rowsInWords } = await load("app/panels.js");
const { headersOf, linkIn, lossOf, playRecord, readText, recordOf, textOf } =
  await load("app/records.js");
const { fits, isSeat, levelInWords, readSeat, seatJob, seatName } = await load("app/seats.js");
const { Session } = await load("app/session.js");
const { AddressBar, playMoves, readFragment, writeFragment } = await load("app/share.js");
const { Table } = await load("app/table.js");
const { Throttle } = await load("app/throttle.js");
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
  const record = (depth) => ({ ...gameOf(["c3", "b2"]).record,
    variations: { 2: [nested(depth)] } });
  keepGame("deep", { ...gameOf([]), record: record(8) });
  const kept = keptGame("deep");
  assert.deepEqual(kept.record, record(8));
  assert.throws(() => keepGame("deep", { ...gameOf([]), record: record(9) }),
    /within 8 variations/);
  assert.deepEqual(keptGame("deep"), kept);
});

test("what is kept but cannot be read goes first", () => {
  const store = emptyBrowser();
  for (let number = 0; number < 50; number += 1) store[`${OWN}game.x${number}`] = "{";
  for (let number = 0; number < 3; number += 1) keepGame(`played${number}`, gameOf(["c3"]));
  for (let number = 0; number < 50; number += 1) keepGame(`new${number}`, gameOf([]));
  assert.deepEqual(
    Object.keys(store).filter((name) => name.startsWith(`${OWN}game.x`)),
    [],
  );
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
  assert.deepEqual(exact.files,
    [new URL("exact/some.wasm", `${pathToFileURL(process.env.SITE)}/`).href]);
  exact.open({ exact: null });
  assert.deepEqual(exact.files, []);
});

/**
 * Counting to seven, as the engine's game: an action adds 1, 2 or 3, not the same as the last one
 * did; who adds 1 moves again; who reaches 7 wins, beyond it is a draw. The seed says who begins.
 * The text of a position is the count.
 */
class Counting {
  actions = [];

  constructor(seed, from) {
    this.first = seed % 2;
    this.begun = typeof from === "string" ? Number(from) : 0;
  }

  moverAfter(plies) {
    return (this.first + this.actions.slice(0, plies).filter((action) => action > 0).length) % 2;
  }

  get mover() {
    return this.moverAfter(this.actions.length);
  }

  get outcome() {
    const total = this.actions.reduce((sum, action) => sum + action + 1, this.begun);
    return total < 7 ? 0 : total > 7 ? 3 : 1 + this.moverAfter(this.actions.length - 1);
  }

  get legalActions() {
    return this.outcome ? [] : [0, 1, 2].filter((action) => action !== this.actions.at(-1));
  }

  isLegal = (action) => this.legalActions.includes(action);
  word = (action) => action + 1;
  play = (action) => this.actions.push(action);
  undo = () => this.actions.pop();
  view = () => ({ roles: [1, 0], shown: [...this.actions] });
  nextPose = (pose, way) => [...this.actions, pose, way];
}

const SCENE = { words: ["none", "one", "two", "three"],
  clock: { name: "hourglass", action: 2, seconds: 60, task: "count" } };
const description = { version: 4, options: { to: 7 }, actions: { names: ["1", "2", "3"] } };
const engine = { newGame: (seed, from) => new Counting(seed, from), manifest: { description } };
const variant = { id: "to seven", options: { to: 7 }, levels: "a ladder", network: null };
const counting = { name: "counting", title: "Counting", variants: [variant] };
const catalog = new Catalog({ version: "1", games: [counting] }, true);
const LEVELS = [10, 250, 700].map((elo, at) =>
  ({ number: at + 1, name: ["", "easy", ""][at], elo, params: { at } }));

/** A board for counting. */
const boardOf = (seed = 1) =>
  ({ game: counting, variant, levels: LEVELS, table: new Table(engine, SCENE, seed) });

/** A session, what it has told, and the jobs of its thinker, whose answer can be given. */
function counted(seats, { seed = 1, ...state } = {}) {
  const told = [];
  const tell = { changed: () => (told.changes = (told.changes ?? 0) + 1), thinking() {} };
  for (const name of ["played", "ended", "failed"]) {
    tell[name] = (about) => told.push([name, about?.text ?? about]);
  }
  const jobs = [];
  const run = (job, { signal }) =>
    new Promise((resolve, reject) => jobs.push({ job, signal, resolve, reject }));
  const session = new Session({ run }, tell);
  session.begin(boardOf(seed), { seats, ...state });
  return { session, told, jobs };
}

const texts = (nodes) => nodes.map((node) => node.text).join(" ");

test("a table goes to any node, and knows what is legal there", () => {
  const { table } = boardOf(1);
  const one = table.play(table.root, 0);
  const two = table.play(one, 2);
  const other = table.play(table.play(table.root, 1), 0);
  assert.deepEqual([table.root, one, two, other].map(({ mover }) => mover), [1, 1, 0, 0]);
  assert.deepEqual([one.role, two.role, other.role, two.ply], [0, 0, 1, 2]);
  assert.equal(table.play(one, 2), two);
  assert.deepEqual(table.at(two).actions, [0, 2]);
  assert.deepEqual(table.at(other).actions, [1, 0]);
  assert.deepEqual(table.at(other.parent).actions, [1]);
  assert.deepEqual(table.legal(two).map(({ text }) => text), ["one", "two"]);
  assert.deepEqual([table.find(two, "2"), table.find(two, "one"), table.find(two, "1")],
    [null, 0, 1]);
  assert.deepEqual([table.isLegal(two, 2), table.isLegal(two, 1)], [false, true]);
  assert.throws(() => table.play(two, 2), /^RangeError: 3 is not legal$/);
  assert.deepEqual([table.follow([0, 2, 1]), table.follow([1])], [two, other.parent]);
  assert.deepEqual(table.way(other), { seed: 1, from: null, actions: [1, 0] });
  const scene = { ...SCENE, diagram: { letters: "LD", option: "start" } };
  const own = new Table(engine, scene, 1, "LDD");
  assert.deepEqual(own.way(own.root).from, [true, false, false]);
  assert.deepEqual([table.shownAfter(one, 1), table.at(one).actions], [[0, 1], [0]]);
  assert.deepEqual(
    [table.texts(one, [1, 0]), table.nextPose(two, 4, 1)],
    [
      ["two", "one"],
      [0, 2, 4, 1],
    ],
  );
});

test("people play on, look back, take back, and resign", () => {
  const taught = counted([PERSON, { kind: "guide" }]).session;
  taught.play(0); // after the guided game was left
  assert.equal(taught.isKept, false); // kept games have no guides
  const { session, told } = counted([PERSON, PERSON], { isKept: false });
  assert.deepEqual([session.mayResign, session.takeBackTo, session.isKept, session.fromStart],
    [false, null, false, true]);
  for (const action of [0, 2, 1]) session.play(action);
  assert.deepEqual([texts(session.live.path), session.winner, session.isKept],
    ["one three two", null, true]);
  assert.deepEqual([session.mayResign, session.mayPlay, session.live.mover], [true, true, 1]);
  session.look(session.live.path[1]);
  session.play(0);
  assert.deepEqual([texts(session.live.path), session.view === session.live],
    ["one three one", true]);
  assert.equal(texts(session.table.root.end.path), "one three one");
  session.look(session.table.root);
  session.takeBack();
  session.takeBack();
  assert.deepEqual([texts(session.live.path), session.view, session.mayRedo],
    ["one", session.table.root, true]);
  session.redo();
  assert.deepEqual([texts(session.live.path), session.mayRedo], ["one three", true]);
  session.look(session.live);
  session.play(0);
  assert.equal(session.mayRedo, false);
  session.resign();
  assert.deepEqual([session.resigned, session.winner, session.mayResign, session.isStudy],
    [0, 1, false, true]);
  assert.equal(told.changes, 13);
  assert.deepEqual(told.filter(([what]) => what !== "played"), [["ended", undefined]]);
});

test("only who takes back the end of a resigned game takes back the resignation", () => {
  const { session } = counted([PERSON, PERSON]);
  const [one, end, variation] = ["0", "0.2", "0.1"].map((moves) =>
    playMoves(session.table, moves.split("."), moves.split(".").length));
  const state = { seats: [PERSON, PERSON], node: end, view: variation, studying: true };
  session.begin(session.board, { ...state, resigned: 1 });
  session.takeBack();
  assert.deepEqual([session.view, session.live, session.resigned], [one, end, 1]);
  session.redo();
  assert.deepEqual([session.view, session.live, session.resigned], [variation, end, 1]);
  session.look(end);
  session.takeBack();
  assert.deepEqual([session.view, session.live, session.resigned], [one, one, null]);
  session.redo();
  assert.deepEqual([session.view, session.live, session.resigned], [end, end, 1]);
  session.takeBack();
  session.begin(session.board, { ...state, node: one, view: one });
  assert.equal(session.mayRedo, false);
});

test("who counts to the end has won, and nobody moves after it", () => {
  const { session, told } = counted([PERSON, PERSON]);
  for (const action of [2, 1, 0]) session.play(action);
  assert.deepEqual([session.winner, session.mayPlay, session.isStudy, session.live.isOver],
    [null, true, false, false]);
  session.play(1);
  assert.deepEqual([session.live.outcome, session.winner, session.mayPlay], [3, null, false]);
  assert.deepEqual(recordOf(session).result, [0, 0]);
  session.look(session.live.parent);
  assert.deepEqual([session.isStudy, session.mayPlay], [true, true]);
  assert.deepEqual(told.at(-1), ["ended", undefined]);
  for (const seed of [1, 2]) {
    const won = counted([PERSON, PERSON], { seed }).session;
    for (const action of [2, 0, 1, 0]) won.play(action);
    assert.deepEqual([won.live.outcome, won.winner, won.live.isOver],
      [1 + (seed % 2), seed % 2, true]);
    assert.deepEqual(recordOf(won).result, seed === 1 ? [-1, 1] : [1, -1]);
  }
});

test("an agent moves where it is to move, and stops when it is not", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const settled = async (time) => {
    for (let round = 0; round < 9; round += 1) await null;
    t.mock.timers.tick(time);
    for (let round = 0; round < 9; round += 1) await null;
  };
  const seats = [{ kind: "level", level: 2 }, PERSON];
  const { session, told, jobs } = counted(seats);
  assert.deepEqual([session.person, session.hasAgents, session.agent, session.mayPlay],
    [1, true, null, true]);
  session.play(2);
  assert.deepEqual(jobs[0].job,
    { type: "search", seed: 1, from: null, actions: [2], params: { at: 1 } });
  assert.deepEqual([session.agent.node, session.mayPlay], [session.live, false]);
  jobs[0].resolve({ action: 0 });
  await settled(349);
  assert.equal(session.live.ply, 1);
  await settled(1);
  assert.deepEqual([session.live.ply, jobs.length, session.agent.node], [2, 2, session.live]);
  assert.equal(session.takeBackTo, session.table.root);
  session.setPaused(true);
  assert.deepEqual([jobs[1].signal.aborted, session.agent], [true, null]);
  jobs[1].resolve({ action: 1 });
  await settled(1000);
  assert.equal(session.live.ply, 2);
  session.setPaused(false);
  const { board, live } = session;
  session.begin(board, { seats: [{ kind: "level", level: 3 }, PERSON], node: live });
  assert.deepEqual([jobs[2].signal.aborted, jobs.length, jobs[3].job.params], [true, 4, { at: 2 }]);
  jobs[3].reject(new Error("no memory"));
  await settled(1000);
  assert.deepEqual(told.at(-1), ["failed", "The agent cannot move: no memory"]);
  assert.deepEqual([session.paused, session.agent, session.live.ply, jobs.length],
    [true, null, 2, 4]);
  session.resign();
  assert.deepEqual([session.resigned, session.live.mover, session.winner], [1, 0, 0]);
  t.mock.method(Math, "random", () => 0.99);
  const watched = counted([seats[0], { kind: "random" }]).session;
  await settled(799);
  assert.equal(watched.live.ply, 0);
  await settled(1);
  assert.deepEqual([texts(watched.live.path), watched.person, watched.mayResign],
    ["three", null, false]);
  watched.begin(boardOf(), { seats, studying: true });
  assert.deepEqual([watched.agent, watched.isKept, watched.isStudy], [null, false, true]);
});

test("a record has the whole tree, and is read back as it was", (t) => {
  process.env.TZ = "Asia/Tokyo"; // where it is the second of January already
  t.mock.timers.enable({ apis: ["Date"], now: new Date(2026, 0, 2, 0, 30) });
  const { session } = counted([PERSON, { kind: "level", level: 2 }], { seed: 2 });
  const { table } = session;
  for (const line of ["0.2.1", "0.1.2", "0.1.0.2", "1.0"]) playMoves(table, line.split("."), 0);
  table.follow([0, 1]).comment = "beside";
  table.follow([0, 1, 0, 2]).comment = "deeper";
  table.follow([0, 2]).comment = "main";
  Object.assign(session, { live: table.follow([0, 2, 1]), resigned: 0 });
  const record = recordOf(session);
  assert.deepEqual(record, {
    ...{ game: "counting", version: 4, options: { to: 7 }, seed: 2,
      moves: ["one", "three", "two"] },
    notes: { 2: "main" },
    variations: { 1: [{ moves: ["two", "one"] }],
      2: [{ moves: ["two", "three"], notes: { 2: "beside" },
      variations: { 3: [{ moves: ["one", "three"], notes: { 4: "deeper" } }] } }] },
    result: [-1, 1],
    players: ["Person", "Level 2 (easy)"],
    date: "2026-01-02",
  });
  const again = boardOf(2);
  playRecord(again.table, record);
  const { seats, resigned, studying } = session;
  assert.deepEqual(recordOf({ board: again, seats, resigned, studying,
    headers: headersOf(record) }), record);
  assert.deepEqual(headersOf(record), { players: record.players, date: record.date });
  assert.deepEqual(lossOf(record, again.table.root.end), { resigned: 0, illegal: null });
  const ended = { ...record, moves: ["three", "two", "three"], notes: {}, variations: {} };
  assert.throws(() => playRecord(boardOf(2).table, { ...ended, moves: [...ended.moves, "one"] }),
    /move 4, one, is not legal/);
  assert.throws(() => playRecord(boardOf(2).table, { ...record, version: 3 }),
    /version 3 of the rules; here is 4/);
  assert.deepEqual(readText(JSON.stringify(record), catalog, again),
    { game: counting, variant, diagram: null, record });
  const list = readText("one, three", catalog, again);
  assert.deepEqual(list.record, { version: 4, seed: 2, position: null, moves: ["one", "three"] });
  assert.throws(() => readText(JSON.stringify({ ...record, options: { to: 8 } }), catalog, again),
    /with {"to":8}; here are/);
});

test("a text is read in the encodings of editors, and a pasted link is known as one", () => {
  const bytes = (text, unit) => Uint8Array.from([...text].flatMap((letter) => unit(letter.charCodeAt(0))));
  const encodings = [
    (code) => [code],
    (code) => [code, 0],
    (code) => [0, code],
  ];
  for (const unit of encodings) assert.equal(textOf(bytes("{}", unit).buffer), "{}");
  assert.equal(textOf(bytes("\ufeff{}", (code) => [code % 256, code >> 8]).buffer), "{}");
  assert.equal(textOf(bytes("\ufeff{}", (code) => [code >> 8, code % 256]).buffer), "{}");
  for (const link of ["#g=corso&m=1", " https://host/play/#g=corso&m=1\n", "<http://h/#g=corso&m=1>"]) {
    assert.equal(linkIn(link), "#g=corso&m=1");
  }
  assert.equal(linkIn('{"event": "https://host/#g=corso"}'), null);
  assert.equal(linkIn("c3 b2"), null);
});

test("a position is read row by row, and what says nothing is left out", () => {
  const rows = [
    { name: "rank 2", places: [["a2", 0], ["b2", 1]], words: ["", "stone"] },
    { name: "rank 1", places: [["a1", 2]], words: ["", "stone"] },
  ];
  assert.deepEqual(rowsInWords({ rows }, [0, 1, 0]), ["Rank 2: b2 stone."]);
  assert.deepEqual(rowsInWords({ rows }, [1, 1, 0], [0, 1, 1]), ["Rank 2: a2 stone."]);
  assert.deepEqual(rowsInWords({ rows }, [1, 1, 1]), ["Rank 2: a2 stone, b2 stone.", "Rank 1: a1 stone."]);
});

test("judgements of a review are kept with the tree, and others are ignored", () => {
  const { nodes } = sessionWith(0, 1, 0);
  assert.equal(lossesOf(nodes[0]), null);
  Object.assign(nodes[2], { loss: 0.5, isExact: true });
  const losses = JSON.parse(JSON.stringify(lossesOf(nodes[0])));
  const again = sessionWith(0, 1, 0).nodes;
  judgeAgain(again[0], losses);
  assert.deepEqual(again.map(({ loss, isExact }) => [loss, isExact]),
    nodes.map(({ loss, isExact }) => [loss, isExact]));
  for (const wrong of [undefined, 5, [], [null, 5, ["x"], [{}]]]) {
    const { nodes: others } = sessionWith(0, 1, 0);
    judgeAgain(others[0], wrong);
    assert.ok(others.every(({ loss }) => loss === undefined));
  }
});

test("two windows do not have one game, and a reload gets its own again", async (t) => {
  const held = new Map();
  const locks = {
    async request(name, { signal, ifAvailable }, work) {
      if (ifAvailable && held.has(name)) return work(null);
      while (held.has(name)) {
        await new Promise((go, stop) => {
          held.get(name).then(go);
          signal.addEventListener("abort", () => stop(new Error("AbortError")));
        });
      }
      const ended = Promise.resolve(work({ name })).then(() => held.delete(name));
      held.set(name, ended);
    },
  };
  globalThis.location = "https://host/play/";
  Object.defineProperty(globalThis, "navigator", { value: { locks }, configurable: true });
  assert.equal(await holdGame("one"), "one");
  assert.equal(await holdGame("one"), "one");
  const other = await load("app/games.js?other window");
  const copy = await other.holdGame("one");
  assert.notEqual(copy, "one");
  const waits = other.holdGame("one");
  letGoOfGame();
  assert.equal(await waits, "one");
  assert.equal(await holdGame("two"), "two");
});

test("a game that began at a position has it in its link and its record", () => {
  const board = { ...boardOf(1), table: new Table(engine, SCENE, 1, null, "+4") };
  const session = new Session(null, { changed() {}, played() {}, ended() {} });
  session.begin(board, { seats: [PERSON, PERSON], studying: true });
  session.play(2);
  assert.equal(session.view.outcome, 2);
  assert.deepEqual([session.fromStart, writeFragment(session)],
    [false, "#g=counting&o=to%20seven&s=1&f=%2B4&m=2"]);
  assert.equal(readFragment(writeFragment(session), catalog).position, "+4");
  const { record } = readText(JSON.stringify(recordOf(session)), catalog, board);
  assert.deepEqual([record.position, record.moves, record.result], ["+4", ["three"], [-1, 1]]);
  assert.deepEqual(headersOf(record), { date: record.date });
  assert.equal(readText("three", catalog, board).record.position, "+4");
  assert.deepEqual(board.table.way(session.view), { seed: 1, from: "+4", actions: [2] });
  assert.throws(() => new Table(engine, SCENE, 1, null, "7"), /the game is over at “7”/);
});

test("an address has the game, and leads to the position", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { session } = counted([PERSON, PERSON], { seed: 3 });
  for (const action of [0, 2, 0]) session.play(action);
  assert.equal(writeFragment(session), "#g=counting&o=to%20seven&s=3&m=0.2.0");
  session.look(session.live.parent);
  const read = readFragment(writeFragment(session), catalog);
  assert.deepEqual([read.seed, read.moves, read.ply, read.variant, read.opponent],
    [3, ["0", "2", "0"], 2, variant, null]);
  assert.equal(texts(playMoves(boardOf(3).table, read.moves, read.ply).path), "one three");
  assert.equal(readFragment("#top", catalog), null);
  assert.equal(readFragment("#g=counting&opponent=level:2&seat=1", catalog).seat, 1);
  t.mock.method(Math, "random", () => 0.99);
  const plain = { ...read, seed: 0, moves: [], ply: 0, seat: 1 };
  assert.deepEqual(readFragment("#g=counting", catalog), plain);
  const [bar, shown] = [new AddressBar(), []];
  globalThis.history = { replaceState: (...about) => shown.push(about[2]) };
  for (const fragment of ["#a", "#a", "#b", "#c"]) bar.show(fragment);
  bar.flush();
  bar.show("#d");
  bar.leave();
  bar.flush();
  assert.deepEqual(shown, ["#a", "#c"]);
  for (const [link, why] of [["#g=chess", /“chess”/], ["#g=counting&o=x", /“x” of/],
    ["#g=counting&s=x", /s=x/]]) {
    assert.throws(() => readFragment(link, catalog), why);
  }
  assert.throws(() => readFragment("#g=counting&d=LD", catalog), /to seven” has its own start/);
  assert.throws(() => readFragment("#g=counting&m=0.2&p=3", catalog),
    /p=3; accepted: a whole number from 0 to 2/);
  assert.throws(() => playMoves(boardOf().table, ["2", "1", "2", "0"], 4), /“0”.*over by then/);
});

test("seats are read, checked and named", () => {
  const good = [PERSON, { kind: "random" }, { kind: "level", level: 1 },
    { kind: "network", simulations: 1600 }, { kind: "network", seconds: 60 }];
  const wrong = [null, {}, { kind: "level", level: 0 }, { kind: "network", simulations: 1601 },
    { kind: "network", seconds: 61, simulations: 1 }];
  assert.deepEqual([...good, ...wrong].map(isSeat),
    [true, true, true, true, true, false, false, false, false, false]);
  const full = { levels: "a ladder", network: "a network" };
  assert.deepEqual(readSeat("level:auto", full), { kind: "level", level: 1, adapts: true });
  assert.deepEqual(readSeat("network:1600", full), { kind: "network", simulations: 1600 });
  for (const text of ["level:0", "network:1601", "network:0"]) {
    assert.throws(() => readSeat(text, full), /level:auto, network:64\.$/);
  }
  assert.throws(() => readSeat("network:64", { levels: null, network: null }),
    /there are random\.$/);
  const named = [
    { kind: "level", level: 3, adapts: true },
    { kind: "level", level: 3 },
    { kind: "network", simulations: 1 },
    { kind: "network", seconds: 2 },
  ];
  assert.deepEqual(
    named.map((seat) => seatName(seat, LEVELS)),
    ["Level 3, adapting", "Level 3", "Network, 1 simulation", "Network, 2 s a move"],
  );
  assert.deepEqual([1, 2, 3].map((level) => levelInWords(level, LEVELS)), [
    "1 of 3: beats random moves about half of the time",
    "2 of 3, easy: beats a beginner four of five times",
    "3 of 3: beats a beginner 19 of 20 times",
  ]);
  assert.deepEqual(seatJob(named[3], LEVELS), { time: 2000, settings: { simulations: 1600 } });
  assert.deepEqual(
    named.map((seat) => fits(seat, { variant, levels: LEVELS })),
    [true, true, false, false],
  );
  assert.equal(fits({ kind: "level", level: 4 }, { variant, levels: LEVELS }), false);
});

test("the latest result of each game decides the next level", () => {
  const store = emptyBrowser();
  assert.equal(suitingLevel(variant, LEVELS), 2);
  for (let number = 0; number < 120; number += 1) learnResult(variant, `game ${number}`, 250, 0);
  assert.equal(suitingLevel(variant, LEVELS), 1);
  assert.equal(JSON.parse(store[`${OWN}results.to seven`]).length, 100);
  for (let number = 110; number < 120; number += 1) learnResult(variant, `game ${number}`, 700, 1);
  assert.equal(JSON.parse(store[`${OWN}results.to seven`]).filter(({ points }) =>
    points).length, 10);
  assert.equal(suitingLevel({ id: "another" }, LEVELS), 2);
  assert.equal(suitingLevel({ id: "another" }, LEVELS.map((level) => ({ ...level, name: "" }))), 1);
});

test("a kept game is read as it was, or not at all", () => {
  const store = emptyBrowser();
  const game = { ...gameOf(["c3", "b2"]), live: [1, 0], view: [1], fromStart: true,
    studying: true };
  keepGame("one", game);
  const { saved, ...kept } = keptGame("one");
  assert.deepEqual(kept, { format: 1, ...game });
  for (const wrong of [{ format: 2 }, { saved: "now" }, { variant: 1 }, { studying: 0 },
    { seats: [PERSON] }, { live: [-1] }, { view: [0.5] }]) {
    store[`${OWN}game.one`] = JSON.stringify({ saved, ...kept, ...wrong });
    assert.deepEqual([keptGame("one"), keptGames()], [null, []]);
  }
  store[`${OWN}game.one`] = JSON.stringify({ saved, ...kept, fromStart: undefined });
  assert.equal(keptGame("one").fromStart, false);
  forgetGame("one");
  assert.deepEqual(Object.keys(store), []);
});

test("a clock runs while its action is legal, and plays it at the end", (t) => {
  let time = 5000;
  t.mock.timers.enable({ apis: ["setInterval"] });
  t.mock.method(performance, "now", () => time);
  const after = (ms) => [(time += ms), t.mock.timers.tick(200)];
  const element = () => ({
    setAttribute() {},
    append(...texts) {
      this.text = texts.join("");
    },
  });
  globalThis.document = { createElement: element, createElementNS: element };
  const shown = { dataset: {}, classList: { toggle: (name, isOn) => (shown[name] = isOn) },
    replaceChildren: (glass, { text }) => (shown.text = text) };
  const said = [];
  const { session } = counted([PERSON, PERSON]);
  const clock = new Clock(shown,
    { runOut: (action) => said.push(action), say: (text) => said.push(text) });
  clock.update(session, false);
  after(10_000);
  assert.deepEqual([clock.seconds, shown.dataset.seconds, shown.hidden, shown.short],
    [50, 50, false, false]);
  assert.equal(shown.text, "Player 2: 0:50 to count");
  session.play(0);
  clock.update(session, true);
  after(10_000);
  assert.equal(shown.text, "The hourglass is stopped at 0:50");
  clock.update(session, false);
  after(19_500);
  assert.equal(clock.seconds, 31);
  after(500);
  after(20_000);
  assert.deepEqual([said, shown.short],
    [["30 seconds left to count.", "10 seconds left to count."], true]);
  session.look(session.live.parent);
  clock.update(session, false);
  after(60_000);
  session.look(session.live);
  clock.update(session, false);
  after(10_000);
  assert.equal(said.at(-1), 2);
  session.moveOn(2);
  clock.update(session, false);
  assert.deepEqual([shown.dataset.seconds, session.view === session.live], ["", true]);
  session.play(1);
  clock.update(session, false);
  assert.equal(shown.text, "Player 2: 1:00 to count");
  session.resign();
  clock.update(session, false);
  assert.equal(shown.text, "The hourglass stands");
});

test("exact values stay, and a search that was stopped can be asked again", async () => {
  const known = (...outcomes) =>
    ({ position: { outcome: outcomes[0] },
    actions: outcomes.slice(1).map((outcome, action) => ({ action, outcome })) });
  let answers;
  globalThis.Worker = class {
    addEventListener(type, listener) {
      this[type] = listener;
    }

    postMessage({ id, type }) {
      const all = type === "open" ? [{ done: {} }] : answers;
      for (const answer of all) queueMicrotask(() => this.message({ data: { id, ...answer } }));
    }
  };
  const exact = new ExactValues();
  exact.open({ exact: { module: "some.wasm", source: "a search" } });
  const stop = new AbortController();
  const run = { time: 7, signal: stop.signal, onFound: () => (found += 1) };
  let found = 0;
  const node = { exact: null };
  answers = [{ found: known(null, 1, null) }, { done: known(null, 1, null) }];
  await exact.find(node, null, { ...run, leads: false });
  assert.deepEqual([found, node.exact], [1, { ...known(null, 1, null), time: 7 }]);
  answers = [{ done: known(null, null, null) }];
  await exact.find(node, null, run);
  assert.deepEqual(node.exact, { ...known(null, 1, null), time: 7 });
  answers = [{ done: known(1, 1, null) }];
  await exact.find(node, null, { ...run, leads: false });
  assert.equal(node.exact.time, 7);
  answers = [{ done: known(1, 1, -1) }];
  await exact.find(node, null, { ...run, leads: false });
  assert.equal(node.exact.time, 0);
  await exact.find(node, null, run);
  assert.equal(node.exact.time, 7);
  answers = [{ found: known(1, 1, -1) }, { done: known(1, 1, -1) }];
  const stopped = exact.find(node, null, { ...run, onFound: () => stop.abort() });
  await stopped;
  assert.equal(node.exact.time, 0);
});

test("exact values are told for player 0, of the position or of the move that led to it", () => {
  const parent = {
    mover: 1,
    exact: {
      position: { outcome: 1 },
      actions: [
        { action: 3, outcome: 1 },
        { action: 5, outcome: -1 },
      ],
    },
  };
  const node = (action, exact = null) => ({ parent, action, mover: 0, exact });
  assert.deepEqual([parent, node(3), node(5), node(4)].map(exactFor0), [-1, -1, 1, null]);
  assert.equal(exactFor0(node(3, { position: { outcome: 0 }, actions: [] })), 0);
  assert.deepEqual([exactBest(parent), exactBest(node(3))], [3, null]);
  const marks = [[1, 4, 9], [-1, -4, 9], [0, 0, 9], [1, null, 9], [-1, null, null]];
  assert.deepEqual(
    marks.map(([outcome, lead, plies]) => exactMark({ outcome, lead, plies })),
    ["+4", "−4", "=9", "+9", "−"],
  );
});

test("work is done at once, and then once a pause", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let done = 0;
  const throttle = new Throttle(() => (done += 1), 400);
  for (let time = 0; time < 3; time += 1) throttle.ask();
  assert.equal(done, 1);
  t.mock.timers.tick(400);
  throttle.ask();
  assert.equal(done, 2);
  throttle.drop();
  t.mock.timers.tick(400);
  throttle.flush();
  assert.equal(done, 2);
});
