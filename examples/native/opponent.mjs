// Two levels of Corso play a game in Node, by the WebAssembly module: Node calls no native library
// without an addon, and the module plays the same.
//
//     python -m ludarium.play.build corso
//     node examples/native/opponent.mjs build/modules/corso models/shipped/corso.levels.json
//
// engine.js and levels.js are in the wheel too, in ludarium/play/js.

import { readFileSync } from "node:fs";
import { Engine } from "../../play/js/engine.js";
import { readLevels } from "../../play/js/levels.js";

const [module, ladder] = process.argv.slice(2);
const engine = await Engine.load(readFileSync(`${module}.wasm`));
engine.useNetwork(readFileSync(`${module}.network`));
const levels = readLevels(readFileSync(ladder, "utf-8"));
const { words } = JSON.parse(readFileSync(`${module}.scene.json`, "utf-8"));
const game = engine.newGame();
const played = [];
while (!game.isOver) {
  const level = levels[game.ply % 2 ? 0 : levels.length - 1];
  const { action } = await game.search.playLevel(level.params, game.ply);
  played.push(words[game.word(action)]);
  game.play(action);
}
console.log(`${played.join(" ")} \noutcome ${game.outcome} after ${game.ply} plies`);
