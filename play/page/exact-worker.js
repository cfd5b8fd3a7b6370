/**
 * The thread that finds exact values: a table of all positions, or a search to the end of the game.
 *
 * Takes messages `{type, id, ...}`: "open" (module, table: addresses), "solve" (record, time, leads),
 * "stop". Answers each open and solve with `{id, done}` or `{id, error}`; a solve tells
 * `{id, found}` on the way.
 */

import { Solver } from "./solver.js";

const REPORT = 300; // ms between reports

let solver = null;
let ended = Promise.resolve(); // when all that was asked for before has ended
const stops = new Map();

async function bytesOf(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address} cannot be loaded: ${answer.status}`);
  return answer.arrayBuffer();
}

async function open({ module, table }) {
  const [program, packed] = await Promise.all([bytesOf(module), table && bytesOf(table)]);
  const opened = await Solver.load(program);
  if (opened.needsTable) await opened.learn(packed);
  solver = opened;
  return { source: solver.source };
}

function solve({ id, record, time, leads }, stop) {
  if (stop.signal.aborted) return null;
  let reported = performance.now();
  const onProgress = (found) => {
    if (performance.now() - reported < REPORT) return;
    reported = performance.now();
    self.postMessage({ id, found });
  };
  return solver.solve(record, { time, leads, signal: stop.signal, onProgress });
}

async function answer(id, work) {
  try {
    self.postMessage({ id, done: await work() });
  } catch (error) {
    self.postMessage({ id, error: error.message });
  }
  stops.delete(id);
}

self.addEventListener("message", ({ data }) => {
  if (data.type === "stop") {
    stops.get(data.id)?.abort();
    return;
  }
  const stop = new AbortController();
  stops.set(data.id, stop);
  const work = data.type === "open" ? () => open(data) : () => solve(data, stop);
  ended = ended.then(() => answer(data.id, work));
});
