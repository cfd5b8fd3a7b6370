// The interface of exact values, with the module of tic-tac-toe whose path is in MODULE.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { Solver } from "../../play/js/solver.js";

const bytes = readFileSync(process.env.MODULE);
const solver = await Solver.load(bytes);
const room = solver.manifest.arrays.solver_states;
const cells = room.fields.cells;

/** A record in which X (the mover) and O lie on these cells. */
function position(own, others) {
  const record = new Uint8Array(room.bytes);
  record[room.fields.ply.offset] = own.length + others.length;
  record[room.fields.mover.offset] = own.length > others.length ? 1 : 0;
  own.forEach((cell) => (record[cells.offset + cell] = 1));
  others.forEach((cell) => (record[cells.offset + cell] = 2));
  return record;
}

test("the start is a draw, and so is every first action", async () => {
  const found = await solver.solve(position([], []));
  assert.equal(found.isComplete, true);
  assert.deepEqual(found.position, { outcome: 0, lead: 0, plies: null, text: "draw" });
  assert.equal(found.actions.length, 9);
  assert.ok(found.actions.every(({ outcome }) => outcome === 0));
  assert.ok(found.nodes > 0);
});

test("the action that wins comes first", async () => {
  const found = await solver.solve(position([0, 1], [3, 4]));
  assert.deepEqual([found.actions[0].action, found.actions[0].text], [2, "win by 1"]);
  assert.equal(found.position.outcome, 1);
  const lost = found.actions.filter(({ outcome }) => outcome === -1);
  assert.ok(lost.length > 0 && lost.every(({ action }) => action !== 5));
});

test("a search can be ended, and its time may be up at once", async () => {
  const stop = new AbortController();
  stop.abort();
  for (const run of [{ signal: stop.signal }, { time: 0 }]) {
    const fresh = await Solver.load(bytes);
    const found = await fresh.solve(position([], []), run);
    assert.equal(found.isComplete, false);
    assert.equal(found.actions.length, 9);
  }
});

test("what is not a module, or not a position, is refused", async () => {
  const empty = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
  await assert.rejects(Solver.load(empty), /not a module with exact values/);
  await assert.rejects(solver.solve(new Uint8Array(3)), /position of another game/);
});
