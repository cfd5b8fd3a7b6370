/**
 * The thread that thinks: rules, search and network of one game.
 *
 * It serves (see serving.js) "open" (module, network) and "search" (the job of `search` below). On
 * the way a search reports `{id, found, simulations}`, and "open" reports `{id, loading}`.
 */

import { Engine } from "./engine.js";
import { fetchFile } from "./fetching.js";
import { serve } from "./serving.js";

const BREATH = 25; // ms of searching between checks for messages
const REPORT = 400; // ms between reports

let game = null;

async function open({ id, module, network }) {
  const engine = await Engine.load(module);
  if (network !== null) {
    self.postMessage({ id, loading: true });
    engine.useNetwork(await (await fetchFile(network, "The network")).arrayBuffer());
  }
  game = engine.newGame();
  game.search.seed(Math.floor(Math.random() * 2 ** 32));
  return null;
}

/**
 * Search the position after `actions` from a start.
 * @param {object} job
 * @param {number} job.seed seed of the start.
 * @param {string | boolean[] | null} job.from the start, as for `Game.start`.
 * @param {number[]} job.actions
 * @param {object} [job.settings] settings of the search, not used with `params`.
 * @param {number} [job.time] most ms.
 * @param {object} [job.params] a level's parameters, by which it then searches and chooses.
 * @param {boolean} [job.reports] report results on the way, not only the number of simulations.
 */
async function search({ id, seed, from, actions, settings, time, params, reports }, stop) {
  if (!game.search.hasNetwork) {
    throw new Error("there is no network for this board to think with");
  }
  if (stop.signal.aborted) return null;
  game.start(seed, from);
  for (const action of actions) game.play(action);
  const end = time === undefined ? Infinity : performance.now() + time;
  let reported = performance.now();
  let breath = reported;
  const onProgress = async () => {
    const now = performance.now();
    if (now > end) stop.abort();
    if (now - reported > REPORT) {
      reported = now;
      const found = reports ? game.search.results() : null;
      self.postMessage({ id, found, simulations: game.search.simulations });
    }
    if (now - breath < BREATH) return;
    await new Promise((resolve) => setTimeout(resolve));
    breath = performance.now();
  };
  const run = { signal: stop.signal, onProgress };
  return params
    ? game.search.playLevel(params, Math.floor(Math.random() * 2 ** 53), run)
    : game.search.run(settings, run);
}

serve({ open, search });
