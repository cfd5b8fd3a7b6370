/**
 * Levels of strength: reads the ladders that `ludarium levels` has measured (NAME.levels.json); a
 * game's search plays by their knobs, see docs/guide/levels.md.
 *
 *     const levels = readLevels(await (await fetch("corso.levels.json")).text());
 *     const { knobs } = levels.find(({ name }) => name === "easy");
 *     const seed = Math.floor(Math.random() * 2 ** 53);
 *     const { action } = await game.search.playLevel(knobs, seed);
 *
 * This file needs no library; `game` is a `Game` of engine.js.
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

/**
 * The levels in a ladder's file, from the weakest to the strongest.
 * @param {string | object} json the file's text, or its parsed content.
 * @returns {{number: number, name: string, knobs: object, elo: number}[]} `name` is one of WORDS, or
 *   empty; `elo` is in points above random play.
 * @throws {Error} it is not a ladder; the message says why.
 */
export function readLevels(json) {
  const data = typeof json === "string" ? parse(json) : json;
  if (data?.format !== FORMAT) {
    throw new Error(`this is not a ladder of levels: format is ${data?.format}, not ${FORMAT}`);
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

/** The word for each level, or an empty text; of two words for one level the stronger counts. */
function namesOf(count) {
  const names = new Array(count).fill("");
  WORDS.forEach((word, index) => {
    names[Math.floor((index * (count - 1)) / (WORDS.length - 1) + 0.5)] = word;
  });
  return names;
}
