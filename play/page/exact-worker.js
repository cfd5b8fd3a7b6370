/**
 * The thread that finds exact values, by an analysis of all positions or a search to the end of the
 * game.
 *
 * It serves (see serving.js) "open" (module: an address) and "solve" (record, time, leads); a
 * solve reports `{id, found}` on the way.
 */

import { fetchFile } from "./fetching.js";
import { serve } from "./serving.js";
import { Solver } from "./solver.js";

const REPORT = 300; // ms between reports

let solver = null;

async function open({ module }) {
  const answer = await fetchFile(module, "The solver of exact values");
  solver = await Solver.load(await answer.arrayBuffer());
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

serve({ open, solve });
