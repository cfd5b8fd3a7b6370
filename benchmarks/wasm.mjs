// The counterpart of wasm.py: how fast a module is in Node.
// node wasm.mjs MODULE NETWORK REQUEST, the request being JSON; prints JSON.

import { readFileSync } from "node:fs";
import { Engine } from "../play/js/engine.js";

const [path, network, request] = process.argv.slice(2);
const { seconds, settings } = JSON.parse(request);
const engine = await Engine.load(readFileSync(path));
engine.useNetwork(readFileSync(network));

/** Seconds of processor time so far. */
function now() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function plies() {
  const game = engine.newGame(1);
  game.randomGames(1000); // V8 compiles once more what is used much
  let done = 0;
  let games = 16;
  const began = now();
  while (now() - began < seconds) {
    done += game.randomGames(games).plies;
    games = Math.min(2 * games, 4096);
  }
  return done / (now() - began);
}

const answer = { logits: new Float32Array(engine.newGame().numActions), wdl: [0, 0, 0] };

/** Simulations per second of searches from the start; by the network, or with an answer for nothing. */
async function simulations(run) {
  const game = engine.newGame(1);
  for (let warm = 0; warm < 5; warm++) await game.search.run(settings, run);
  let done = 0;
  const began = now();
  while (now() - began < seconds) {
    game.search.forget();
    done += (await game.search.run(settings, run)).simulations;
  }
  return done / (now() - began);
}

const found = { plies: plies(), simulations: await simulations({ evaluate: () => answer }) };
console.log(JSON.stringify({ ...found, "with network": await simulations() }));
