// As native_games.c, with a WebAssembly module: node native_games.mjs MODULE NETWORK LEVELS.

import { readFileSync } from "node:fs";
import { Engine } from "../../play/js/engine.js";
import { readLevels } from "../../play/js/levels.js";

const [module, network, levels] = process.argv.slice(2).map((path) => readFileSync(path));
const engine = await Engine.load(module);
engine.useNetwork(network);
const params = readLevels(levels.toString()).map((level) => level.params);
const game = engine.newGame();
for (const line of readFileSync(0, "utf-8").trim().split("\n")) {
  const [number, level, start] = line.split(" ");
  game.start(Number(number), start === "-" ? null : Array.from(start, (letter) => letter === "L"));
  const actions = [];
  while (!game.isOver) {
    const seed = 1000 * number + game.ply;
    const { action } = await game.search.playLevel(params[level - 1], seed);
    game.play(action);
    actions.push(action);
  }
  console.log(actions.join(" "));
}
