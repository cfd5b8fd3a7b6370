// The engine's interface, with the module of tic-tac-toe whose path is in MODULE.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { Engine, Outcome } from "../../play/js/engine.js";

const bytes = readFileSync(process.env.MODULE);
const engine = await Engine.load(bytes);
const equal = { logits: new Float32Array(9), wdl: [0.5, 0, 0.5] };
const evaluate = () => equal;

const play = (...actions) => {
  const game = engine.newGame();
  actions.forEach((action) => game.play(action));
  return game;
};

test("a game is played to its end", () => {
  const game = play(0, 3, 1, 4);
  assert.deepEqual([game.ply, game.mover, game.outcome], [4, 0, Outcome.ONGOING]);
  assert.deepEqual(game.legalActions, [2, 5, 6, 7, 8]);
  assert.equal(game.play(2), Outcome.PLAYER_0_WINS);
  assert.deepEqual([game.isOver, game.score, game.rewards], [true, 1, [1, -1]]);
  assert.deepEqual(game.legalActions, []);
  assert.equal(game.randomAction(), -1);
  assert.throws(() => game.play(5), /action 5 \(c2\) is not legal: the game is over/);
});

test("an action that is not legal changes nothing", () => {
  const game = play(4);
  const before = game.save();
  assert.throws(() => game.play(4), { name: "RangeError", message: /action 4 \(b2\)/ });
  for (const action of [-1, 9, 1.5, "a1", undefined, NaN]) {
    assert.throws(() => game.play(action), /out of range; actions are 0 to 8/);
  }
  assert.deepEqual(game.save(), before);
});

test("a game without a format of its positions has no text, and reads none", () => {
  const game = play(4);
  assert.equal(game.text, "");
  const before = game.save();
  assert.throws(() => game.start(0, "3/1X1/3 1"), /no position of tictactoe: .* has no PositionFormat/);
  assert.deepEqual(game.save(), before);
});

test("actions are taken back", () => {
  const game = engine.newGame();
  const start = game.save();
  const seen = game.observation();
  game.play(0);
  game.play(8);
  assert.equal(game.undo(), 8);
  assert.equal(game.undo(), 0);
  assert.equal(game.undo(), undefined);
  assert.deepEqual(game.save(), start);
  assert.deepEqual(game.observation(), seen);
  assert.deepEqual(game.legalActions, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
});

test("games do not share memory, and go from one to the other", () => {
  const one = play(0, 1, 2);
  const other = engine.newGame();
  assert.equal(other.ply, 0);
  other.restore(structuredClone(one.save()));
  assert.deepEqual(other.save(), one.save());
  other.undo();
  assert.deepEqual([other.actions, one.actions], [[0, 1], [0, 1, 2]]);
  assert.deepEqual(other.record, play(0, 1).record);
  const { actions, seed } = one.save();
  assert.throws(() => other.restore({ seed, actions, states: [] }), /not saved by a game/);
});

test("observations are those of a player", () => {
  const game = play(4);
  const marked = (planes) => Array.from(planes.keys()).filter((index) => planes[index]);
  assert.deepEqual(marked(game.observation().slice(0, 18)), [9 + 4]);
  assert.deepEqual(marked(game.observation({ player: 0 }).slice(0, 18)), [4]);
  assert.throws(() => game.observation({ player: 2 }), /player is 2/);
});

test("random games come back", () => {
  const game = play(0, 4);
  const before = game.save();
  const { outcomes } = game.randomGames(50);
  assert.equal(outcomes.reduce((sum, games) => sum + games), 50);
  assert.deepEqual(game.save(), before);
});

test("seeds are whole numbers", () => {
  const drawn = (seed) => {
    const game = engine.newGame(seed);
    return Array.from({ length: 20 }, () => game.randomAction());
  };
  assert.deepEqual(drawn(2 ** 40), drawn(2 ** 40));
  assert.notDeepEqual(drawn(1), drawn(2));
  for (const seed of [-1, 0.5, 2 ** 53, NaN]) {
    assert.throws(() => engine.newGame(seed), /seed is .*accepted/);
  }
});

for (const algorithm of ["gumbel", "puct"]) {
  test(`${algorithm} finds a win and knows that it is one`, async () => {
    const game = play(0, 3, 1, 4);
    const found = await game.search.run({ simulations: 50, algorithm }, { evaluate });
    assert.deepEqual([found.action, found.value, found.proven], [2, 1, true]);
    assert.equal(found.variation[0], 2);
  });

  test(`${algorithm} shares its simulations`, async () => {
    const settings = { simulations: 200, algorithm, solver: false };
    const found = await engine.newGame().search.run(settings, { evaluate: async () => equal });
    assert.equal(found.simulations, 200);
    assert.equal(found.visits.reduce((sum, visits) => sum + visits), 200);
    assert.ok(Math.abs(found.policy.reduce((sum, share) => sum + share) - 1) < 1e-5);
    assert.ok(found.variation.length > 2 && found.evaluations > 50);
    found.visits.forEach((visits, action) => {
      assert.equal(visits === 0, Number.isNaN(found.actionValues[action]));
    });
  });
}

test("noise can be given", async () => {
  const { search } = engine.newGame();
  const noise = new Float32Array(9);
  noise[3] = 50;
  const settings = { simulations: 8, solver: false, max_considered: 2 };
  const found = await search.run(settings, { evaluate, noise });
  assert.ok(found.visits[3] >= 4);
  assert.equal((await search.run(settings, { evaluate })).visits[3], 0);
  await assert.rejects(search.run({}, { evaluate, noise: [1] }), /noise is of 1 actions, not 9/);
});

test("a search ends early with what it has found", async () => {
  const stop = new AbortController();
  const { search } = engine.newGame();
  const seen = [];
  const onProgress = (simulations) => {
    seen.push(simulations);
    assert.ok(search.results().simulations === simulations);
    if (simulations >= 20) stop.abort();
  };
  const run = { evaluate, signal: stop.signal, onProgress };
  const found = await search.run({ simulations: 1000 }, run);
  assert.ok(found.simulations >= 20 && found.simulations < 100);
  assert.equal(seen.at(-1), found.simulations);
  assert.ok(found.visits[found.action] > 0);
  const again = await search.run({}, { evaluate, signal: AbortSignal.abort() });
  assert.equal(again.evaluations, 1);
});

test("looking at a search that runs does not change it", async () => {
  const noisy = { simulations: 80, noise: 1, temperature_plies: 0, solver: false };
  const drawn = { simulations: 80, algorithm: "puct", noise: 0.25, temperature: 1, solver: false };
  // A move wins, and the search goes on for points, which the network sees everywhere.
  const pointed = { simulations: 80, score: 0.3 };
  for (const [settings, moves] of [[noisy, []], [drawn, []], [pointed, [0, 3, 1, 4]]]) {
    const runs = [];
    const evaluate = () => ({ ...equal, score: 0.5 });
    for (const look of [true, false]) {
      const { search } = play(...moves);
      search.seed(7);
      const onProgress = (simulations) => look && simulations < 80 && search.results();
      runs.push(await search.run(settings, { evaluate, onProgress }));
    }
    assert.deepEqual(runs[0], runs[1]);
  }
});

test("one search of a game runs at a time", async () => {
  const game = engine.newGame();
  const first = game.search.run({}, { evaluate: async () => equal });
  await assert.rejects(game.search.run({}, { evaluate }), /is running/);
  game.play(0); // the search goes on in the position that it began in
  assert.equal((await first).simulations, 64);
  assert.equal((await game.search.run({}, { evaluate })).visits[0], 0);
});

test("what does not fit is told, and the next search works", async () => {
  const { search } = engine.newGame();
  const cases = [
    [{ simulations: 1601 }, /simulations is 1601; accepted: a whole number from 1 to 1600/],
    [{ simulations: 0 }, /simulations is 0/],
    [{ max_considered: 65 }, /max_considered is 65/],
    [{ simulation: 5 }, /no setting is called simulation; there are algorithm,/],
    [{ algorithm: "minimax" }, /algorithm is minimax/],
    [{ solver: 1 }, /solver is 1; accepted: false or true/],
    [{ noise: NaN }, /noise is NaN; accepted: a number from 0 to 10/],
    [{ score: 1 }, /score is 1; accepted: a number from 0 to below 1/],
    [{ c_puct: 0 }, /c_puct is 0; accepted: a number above 0, up to 100/],
    [{ algorithm: "puct", noise: 1.5 }, /noise is 1.5; with puct it is at most 1/],
  ];
  for (const [settings, message] of cases) {
    await assert.rejects(search.run(settings, { evaluate }), message);
  }
  const answers = [
    [{ logits: [0, 0], wdl: equal.wdl }, /2 logits for 9 actions/],
    [{ logits: equal.logits, wdl: [NaN, 0, 0] }, /win, draw and loss NaN,0,0/],
    [{ logits: equal.logits, value: 0 }, /win, draw and loss undefined/],
    [{ logits: equal.logits, wdl: [2, 0, 0] }, /win, draw and loss 2,0,0/],
    [{ logits: Array(9).fill(NaN), wdl: equal.wdl }, /answers are not finite numbers/],
  ];
  for (const [answer, message] of answers) {
    await assert.rejects(search.run({}, { evaluate: () => answer }), message);
  }
  assert.throws(() => search.results(), /no search has had an answer/);
  await assert.rejects(
    search.run({}, {
      evaluate: () => {
        throw new Error("the network is gone");
      },
    }),
    /the network is gone/,
  );
  assert.equal((await search.run({}, { evaluate })).simulations, 64);
  await assert.rejects(play(0, 3, 1, 4, 2).search.run({}, { evaluate }), /finished game/);
});

test("a level plays the same move with the same seed, and no other with other parameters", async () => {
  const { search } = engine.newGame();
  const strongest = { simulations: 32, temperature: 0, max_value_loss: 0, logit_noise: 0, win_detection_prob: 1 };
  const weak = { ...strongest, temperature: 5, max_value_loss: 2, logit_noise: 40, win_detection_prob: 0 };
  const move = async (params, seed) => (await search.playLevel(params, seed, { evaluate })).action;
  const best = (await search.run({ simulations: 32 }, { evaluate })).action;
  const moves = new Set();
  for (let seed = 0; seed < 20; seed += 1) {
    assert.equal(await move(strongest, seed), best);
    assert.equal(await move(weak, 2 ** 53 - 1 - seed), await move(weak, 2 ** 53 - 1 - seed));
    moves.add(await move(weak, seed));
  }
  assert.ok(moves.size > 3);
  await assert.rejects(move({ ...weak, simulations: 1601 }, 1), /simulations is 1601; accepted/);
  await assert.rejects(move({ ...weak, logit_noise: undefined }, 1), /logit_noise is undefined/);
  await assert.rejects(move({ ...weak, win_detection_prob: null }, 1), /_prob is null/);
  await assert.rejects(
    move({ ...weak, max_value_loss: -1 }, 1), /the parameter max_value_loss is -1, not 0 to 1000/);
  await assert.rejects(move({ ...weak, win_detection_prob: 2 }, 1), /_prob is 2, not 0 to 1/);
  await assert.rejects(move(weak, 0.5), /seed is 0.5; accepted/);
});

test("remembered answers are not asked again, until they are forgotten", async () => {
  const { search } = engine.newGame();
  const asked = async () => (await search.run({ simulations: 100 }, { evaluate })).evaluations;
  const first = await asked();
  assert.ok(first > 50);
  assert.equal(await asked(), 1); // the root is always asked about
  search.forget();
  assert.equal(await asked(), first);
});

test("a module can be fetched and sent, and a foreign one is told", async () => {
  const other = await Engine.load(structuredClone(engine.module));
  assert.equal(other.manifest.name, "tictactoe");
  const address = `data:application/wasm;base64,${bytes.toString("base64")}`;
  for (const source of [address, new URL(address), await fetch(address)]) {
    assert.equal((await Engine.load(source)).manifest.name, "tictactoe");
  }
  await assert.rejects(Engine.load(new Response(null, { status: 404 })), /cannot fetch.*404/);
  const empty = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);
  await assert.rejects(Engine.load(empty), /not a module of ludarium/);
});

// The network whose file is in NETWORK.

const network = readFileSync(process.env.NETWORK);
const knowing = await Engine.load(engine.module);
knowing.useNetwork(network);

/** The network's answers to all positions up to a ply, by their observations. */
function answersUpTo(ply) {
  const answers = new Map();
  const game = knowing.newGame();
  const visit = () => {
    if (game.isOver) return;
    answers.set(String(game.observation()), game.search.evaluate());
    if (game.ply === ply) return;
    for (const action of game.legalActions) {
      game.play(action);
      visit();
      game.undo();
    }
  };
  visit();
  return answers;
}

test("a search asks the engine's network, as it would one of one's own", async () => {
  const answers = answersUpTo(5);
  const evaluate = (observation) => answers.get(String(observation));
  const settings = { simulations: 12 };
  const own = await knowing.newGame().search.run(settings);
  assert.deepEqual(await engine.newGame().search.run(settings, { evaluate }), own);
  const { logits } = knowing.newGame().search.evaluate();
  assert.ok(logits.every(Number.isFinite));
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
  own.prior.forEach((share, action) => {
    assert.ok(Math.abs(share - Math.exp(logits[action]) / total) < 1e-5);
  });
});

/** A game whose searches ask the network until they are done, in one call of the module. */
function gameWithoutSlices() {
  const { Instance } = WebAssembly;
  WebAssembly.Instance = function (module) {
    const { exports } = new Instance(module);
    return { exports: { ...exports, search_run: () => exports.search_run(1e9) } };
  };
  try {
    return knowing.newGame();
  } finally {
    WebAssembly.Instance = Instance;
  }
}

test("slices of a search change nothing", async () => {
  const settings = { simulations: 300, solver: false };
  let calls = 0;
  const counted = { onProgress: () => (calls += 1) };
  const whole = await gameWithoutSlices().search.run(settings, counted);
  assert.equal(calls, 1);
  const game = knowing.newGame();
  const seen = [];
  const onProgress = async (simulations) => {
    seen.push(simulations);
    await new Promise((resolve) => setTimeout(resolve));
  };
  assert.deepEqual(await game.search.run(settings, { onProgress }), whole);
  assert.equal(seen.at(-1), 300);
  assert.ok(seen.length > 1);
});

test("nobody's answers are taken for those of somebody else", async () => {
  const settings = { simulations: 100, solver: false, noise: 0 };
  const other = () => ({ logits: [9, 0, 0, 0, 0, 0, 0, 0, 0], wdl: [0.9, 0, 0.1] });
  const { search } = knowing.newGame();
  for (const run of [{ evaluate }, {}, { evaluate: other }, { evaluate }]) {
    const alone = await knowing.newGame().search.run(settings, run);
    assert.deepEqual(await search.run(settings, run), alone);
  }
});

test("a game without a network says so", async () => {
  const { search } = engine.newGame();
  assert.equal(search.hasNetwork, false);
  assert.throws(() => search.evaluate(), /has no network: call useNetwork/);
  await assert.rejects(search.run(), /has no network: call useNetwork/);
});

test("a network's file is checked", async () => {
  const { module } = engine;
  const fresh = await Engine.load(module);
  for (const content of [undefined, "", new ArrayBuffer(0), new Uint8Array(99)]) {
    assert.throws(() => fresh.useNetwork(content), /not a network's file/);
  }
  const other = await Engine.load(module);
  other.manifest.network = "0".repeat(16);
  assert.throws(() => other.useNetwork(network), /is for tictactoe, not for this module of tictactoe, or/);
  const damage = /^Error: (the network's file is damaged, or|this is not a network's file)/;
  assert.throws(() => fresh.useNetwork(network.subarray(0, -1)), damage);
  for (let number = 0; number < 300; number += 1) {
    const damaged = Buffer.from(network);
    damaged[Math.floor((number * network.length) / 300)] ^= 1 << (number % 8);
    assert.throws(() => fresh.useNetwork(damaged), damage);
  }
  fresh.useNetwork(null);
  assert.equal(fresh.newGame().search.hasNetwork, false);
});
