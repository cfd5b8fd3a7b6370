// The counterpart of test_wasm.py: the same games and searches with a module.
// node agreement.mjs MODULE REQUEST, the request being JSON; prints JSON.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Engine } from "../../play/js/engine.js";

const [path, request] = process.argv.slice(2);
const engine = await Engine.load(readFileSync(path));
const { games, searches, hasOwners, reasons, answers } = JSON.parse(request);

/** Numbers in range(2**32), as test_wasm.py draws them. */
class Draws {
  constructor(seed) {
    this.bits = seed >>> 0;
  }

  below(bound) {
    this.bits = (Math.imul(this.bits, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.bits * bound) / 2 ** 32);
  }
}

/** The bytes of the record's fields without what lies between them. */
function contents(game) {
  const { fields } = engine.manifest.arrays.game_states;
  const record = game.record;
  return Buffer.concat(
    Object.values(fields).map(({ offset, bytes, shape }) =>
      record.subarray(offset, offset + bytes * shape.reduce((a, b) => a * b, 1)),
    ),
  );
}

function digestOfGames(first, end) {
  const digest = createHash("sha256");
  const game = engine.newGame();
  let plies = 0;
  for (let seed = first; seed < end; seed++) {
    const draws = new Draws(seed);
    game.start(seed);
    for (;;) {
      digest.update(contents(game));
      digest.update(game.mask);
      for (const player of [0, 1]) {
        digest.update(game.observation({ player }));
      }
      digest.update(Int32Array.of(game.score, ...game.rewards));
      const { shown, task, roles, points } = game.view();
      digest.update(shown);
      digest.update(Int32Array.of(task, ...roles, ...points));
      if (plies % 8 === 0) {
        const threats = game.threats();
        for (const part of [...threats.actions, ...threats.cells]) digest.update(part);
        digest.update(Int32Array.of(threats.coversOpponent ? 1 : 0));
        if (hasOwners) digest.update(game.ownership({ playouts: 5, seed }));
      }
      if (seed % 10 === 0 && plies % 8 === 3) {
        const { text } = game;
        digest.update(text);
        if (text) game.start(seed, text);
      }
      if (game.isOver) break;
      const legal = game.legalActions;
      const action = legal[draws.below(legal.length)];
      digest.update(Int32Array.of(action, game.word(action)));
      const other = plies % game.numActions;
      if (!game.isLegal(other)) digest.update(game.reason(other, reasons));
      digest.update(Int32Array.from([0, 1], (way) => game.nextPose(plies % 8, way)));
      game.play(action);
      plies += 1;
    }
  }
  return { plies, digest: digest.digest("hex") };
}

/** A network's answer that is a hash of the observation. */
function answer(observation) {
  const words = new Uint32Array(observation.buffer, observation.byteOffset, observation.length);
  let sum = 0;
  words.forEach((word, index) => {
    sum = (sum + Math.imul(word ^ (word >>> 23), Math.imul(2 * index + 1, 0x9e3779b1))) >>> 0;
  });
  const actions = engine.manifest.description.actions.names.length;
  const numbers = Array.from({ length: actions + 1 }, (_, index) => {
    let bits = (sum + Math.imul(index, 0x9e3779b9)) >>> 0;
    bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b) >>> 0;
    bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35) >>> 0;
    return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
  });
  return {
    logits: Float32Array.from(numbers.slice(0, actions), (number) => 6 * number - 3),
    wdl: [numbers[actions], 0, 1 - numbers[actions]],
  };
}

/** Go to a random position in which the game goes on. */
function wander(game, seed, draws) {
  game.start(seed);
  let plies = draws.below(Math.min(engine.manifest.max_plies, 60));
  for (; plies > 0 && !game.isOver; plies--) {
    const legal = game.legalActions;
    game.play(legal[draws.below(legal.length)]);
  }
  if (game.isOver) game.undo();
}

async function digestsOfSearches({ settings, positions, seed }) {
  const digests = [];
  const game = engine.newGame();
  game.search.seed(seed);
  const draws = new Draws(seed);
  while (digests.length < positions) {
    wander(game, seed + digests.length, draws);
    const found = await game.search.run(settings, { evaluate: answer, canonical: seed % 2 === 1 });
    const digest = createHash("sha256");
    digest.update(found.policy).update(found.visits).update(found.actionValues);
    digest.update(Float32Array.of(found.value));
    digest.update(Int32Array.of(found.action, +found.proven, found.simulations, found.evaluations));
    digests.push(digest.digest("hex"));
  }
  return digests;
}

function answersOfNetwork({ network, positions, seed }) {
  engine.useNetwork(readFileSync(network));
  const game = engine.newGame();
  const draws = new Draws(seed);
  return Array.from({ length: positions }, (_, number) => {
    wander(game, seed + number, draws);
    const { logits, wdl } = game.search.evaluate();
    return { logits: [...logits], wdl: [...wdl] };
  });
}

const report = { games: [], searches: [] };
for (const [first, end] of games) report.games.push(digestOfGames(first, end));
for (const search of searches) report.searches.push(await digestsOfSearches(search));
report.random = engine.newGame(5).randomGames(100);
if (answers) report.answers = answersOfNetwork(answers);
console.log(JSON.stringify(report));
