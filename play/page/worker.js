/**
 * The thread that thinks: rules and search of one game, and its network.
 *
 * Serves (see serving.js) "open" (module, network) and "search" (seed, actions, and what `search`
 * below takes); a search tells `{id, found}` and an open `{id, loading}` on the way.
 */

import { Engine } from "./engine.js";
import { fetchFile } from "./fetching.js";
import { playLevel } from "./levels.js";
import { serve } from "./serving.js";

const RUNTIME = new URL("./vendor/onnxruntime-web/", import.meta.url);
const BREATH = 25; // ms of thinking between looks at the messages
const REPORT = 400; // ms between reports

let runtime = null;
let game = null;
let session = null; // of the runtime, with a network
let evaluate = null;

async function loadRuntime() {
  const ort = await import(new URL("ort.wasm.min.mjs", RUNTIME).href);
  ort.env.wasm.wasmPaths = RUNTIME.href;
  ort.env.wasm.numThreads = 1;
  return ort;
}

async function loadNetwork(address) {
  runtime ??= loadRuntime();
  runtime.catch(() => (runtime = null));
  const [ort, answer] = await Promise.all([runtime, fetchFile(address, "The network")]);
  session = await ort.InferenceSession.create(new Uint8Array(await answer.arrayBuffer()));
  return asker(ort);
}

/** Give back the memory of a network that is not played with any more. */
async function forgetNetwork() {
  const past = session;
  session = null;
  evaluate = null;
  await past?.release();
}

/** Asks the network; from time to time, after a look at the messages. */
function asker(ort) {
  let breath = performance.now();
  return async (observation, shape) => {
    const planes = observation.slice(); // of the module's memory
    if (performance.now() - breath > BREATH) {
      await new Promise((resolve) => setTimeout(resolve));
      breath = performance.now();
    }
    const input = new ort.Tensor("float32", planes, [1, ...shape]);
    const { policy_logits: policy, outcome } = await session.run({ observation: input });
    return { logits: policy.data, wdl: outcome.data };
  };
}

async function open({ id, module, network }) {
  const engine = await Engine.load(module);
  game = engine.newGame();
  await forgetNetwork();
  if (network !== null) {
    self.postMessage({ id, loading: true });
    evaluate = await loadNetwork(network);
  }
  game.search.seed(Math.floor(Math.random() * 2 ** 32));
  return null;
}

/** What the network thinks of each legal action before any search, by action. */
async function priors() {
  const { logits } = await evaluate(game.observation(), game.observationShape);
  const legal = game.legalActions;
  const known = legal.map((action) => logits[action]);
  const most = Math.max(...known);
  const weights = known.map((logit) => Math.exp(logit - most));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const prior = new Float32Array(game.numActions);
  legal.forEach((action, number) => (prior[action] = weights[number] / total));
  return prior;
}

/**
 * Search the position after `actions`.
 * @param {object} job
 * @param {object} [job.settings] of the search, where it is not a level's.
 * @param {number} [job.time] most ms.
 * @param {object} [job.knobs] of a level, which then searches and chooses in its way.
 * @param {boolean} [job.reports] tell what is found on the way, and the network's priors.
 */
async function search({ id, seed, actions, settings, time, knobs, reports }, stop) {
  if (evaluate === null) throw new Error("there is no network for this board to think with");
  if (stop.signal.aborted) return null;
  game.start(seed);
  for (const action of actions) game.play(action);
  const prior = reports ? await priors() : null;
  const end = time === undefined ? Infinity : performance.now() + time;
  let reported = performance.now();
  const onProgress = () => {
    const now = performance.now();
    if (now > end) stop.abort();
    if (now - reported < REPORT) return;
    reported = now;
    const found = reports ? { ...game.search.results(), prior } : null;
    self.postMessage({ id, found, simulations: game.search.simulations });
  };
  const run = { signal: stop.signal, onProgress };
  const found = knobs
    ? await playLevel(game, evaluate, knobs, Math.random, run)
    : await game.search.run(evaluate, settings, run);
  return { ...found, prior };
}

serve({ open, search });
