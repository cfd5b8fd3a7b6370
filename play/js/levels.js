/**
 * Levels of strength: plays as `ludarium.arena.level.LevelSearcher` does in Python, with the ladders
 * that it measured (NAME.levels.json); docs/guide/levels.md tells how a level plays.
 *
 *     const levels = readLevels(await (await fetch("corso.levels.json")).text());
 *     const { knobs } = levels.find(({ name }) => name === "easy");
 *     const { action } = await playLevel(game, knobs);
 *
 * Needs nothing; `game` is one of engine.js. Where a function takes `random`, that is one
 * that draws numbers from [0, 1), such as Math.random.
 */

/** Words for levels, spread evenly from the weakest to the strongest. */
export const WORDS = Object.freeze(["beginner", "easy", "medium", "hard", "expert", "strongest"]);

const FORMAT = 2;
const MOST_CHARACTERS = 2 ** 20;
const MOST_LEVELS = 100;
const MOST_ELO = 1e5;
const RANGES = {
  simulations: [1, 10_000],
  temperature: [0, 1000],
  bound: [0, 1000],
  blur: [0, 1000],
  sees_wins: [0, 1],
};

// What a factor of e in the search's policy is worth, in value; the same as in Python.
const PREFERENCE = 0.02;
const LEAST_POLICY = Math.fround(1e-6);
const LEAST_LOT = 1e-12;

/**
 * Search and choose a move as a level does.
 * @param {import("./engine.js").Game} game with the position to search.
 * @param {object} knobs of the level.
 * @param {() => number} [random]
 * @param {object} [run] evaluate, signal and onProgress, see `Search.run`.
 * @returns {Promise<object>} what the search found, with the level's `action` instead of the best.
 */
export async function playLevel(game, knobs, random = Math.random, run = {}) {
  const lot = random();
  const settings = searchSettings(knobs, random());
  const noise = rootNoise(knobs, game.numActions, random);
  const found = await game.search.run(settings, { ...run, noise });
  return { ...found, action: chooseMove(found, knobs, () => lot) };
}

/**
 * The settings of a level's search: its simulations, and whether it is sure to find wins at once.
 * @param {object} knobs
 * @param {number} lot in [0, 1), which decides about the wins.
 */
export function searchSettings({ simulations, sees_wins: seesWins }, lot) {
  return { simulations, prove: lot < seesWins, temperature_plies: 0 };
}

/** The noise on the network's logits that decides which moves a level looks at. */
export function rootNoise({ blur }, numActions, random) {
  return Float32Array.from({ length: numActions }, () => {
    const lot = Math.min(Math.max(random(), LEAST_LOT), 1 - LEAST_LOT);
    return blur ? -blur * Math.log(-Math.log(lot)) : 0;
  });
}

/**
 * Draw a move among those that a search looked at.
 * @param {object} found by `game.search.run`: action, policy and actionValues are used.
 * @param {object} knobs the temperature and the bound are used.
 * @param {() => number} [random] asked once, and not at all without a temperature.
 * @returns {number} the action.
 */
export function chooseMove(found, knobs, random = Math.random) {
  if (!knobs.temperature) return found.action;
  const chances = choiceProbabilities(found, knobs);
  const target = random() * chances.reduce((sum, chance) => sum + chance, 0);
  let cumulative = 0;
  const drawn = chances.findIndex((chance) => (cumulative += chance) > target);
  return drawn < 0 ? found.action : drawn; // a draw so close to 1 that the product rounds up
}

/**
 * Probability of each action: exp(-loss / temperature) within the bound, where loss is against the
 * action that the search would play; the search's favourites among equals are preferred a little.
 * @param {object} found see `chooseMove`.
 * @param {object} knobs with a temperature above 0.
 * @returns {Float64Array} by action; 0 where the search did not look.
 */
export function choiceProbabilities({ action, policy, actionValues }, { temperature, bound }) {
  const favour = Float64Array.from(policy, (share) =>
    Math.fround(Math.log(Math.max(share, LEAST_POLICY))),
  );
  const mostFavoured = favour.reduce((most, each) => Math.max(most, each), -Infinity);
  const weights = Float64Array.from(actionValues, (value, index) => {
    if (index === action) return 1;
    const loss = Math.max(actionValues[action] - value, 0); // NaN where the search did not look
    if (!(loss <= bound)) return 0;
    return Math.exp(-(loss + PREFERENCE * (mostFavoured - favour[index])) / temperature);
  });
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/**
 * The levels in a ladder's file, from the weakest to the strongest.
 * @param {string | object} json the file's text, or what it holds.
 * @returns {{number: number, name: string, knobs: object, elo: number}[]} `name` is one of WORDS, or
 *   empty; `elo` is in points above random play.
 * @throws {Error} it is no ladder; the message says why.
 */
export function readLevels(json) {
  const data = typeof json === "string" ? parse(json) : json;
  if (data?.format !== FORMAT) {
    throw new Error(`this is no ladder of levels: format is ${data?.format}, not ${FORMAT}`);
  }
  const levels = data.ladder?.levels;
  if (!Array.isArray(levels) || levels.length < 2 || levels.length > MOST_LEVELS) {
    throw new Error(`a ladder has a list of 2 to ${MOST_LEVELS} levels`);
  }
  const names = namesOf(levels.length);
  const found = levels.map((level, index) => ({
    number: index + 1,
    name: names[index],
    knobs: readKnobs(level, index + 1),
    elo: inRange(`elo of level ${index + 1}`, level?.rating?.elo, -MOST_ELO, MOST_ELO),
  }));
  found.forEach(({ number, elo }, index) => {
    if (elo <= (index ? found[index - 1].elo : 0)) {
      throw new Error(`level ${number} is not stronger than the one below, at ${elo} Elo points`);
    }
  });
  return found;
}

function parse(text) {
  if (text.length > MOST_CHARACTERS) {
    throw new Error(`a ladder of levels has at most ${MOST_CHARACTERS} characters`);
  }
  return JSON.parse(text);
}

function readKnobs(level, number) {
  const knobs = {};
  for (const [name, [least, most]] of Object.entries(RANGES)) {
    knobs[name] = inRange(`${name} of level ${number}`, level?.knobs?.[name], least, most);
  }
  if (!Number.isInteger(knobs.simulations)) {
    throw new Error(`simulations of level ${number} is ${knobs.simulations}, not a whole number`);
  }
  return knobs;
}

function inRange(what, value, least, most) {
  if (typeof value !== "number" || !(value >= least && value <= most)) {
    throw new Error(`${what} is ${value}; accepted: a number from ${least} to ${most}`);
  }
  return value;
}

/** The word for each level, empty where there is none; where two meet, the stronger word counts. */
function namesOf(count) {
  const names = new Array(count).fill("");
  WORDS.forEach((word, index) => {
    names[Math.floor((index * (count - 1)) / (WORDS.length - 1) + 0.5)] = word;
  });
  return names;
}
