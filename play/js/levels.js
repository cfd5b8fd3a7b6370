/**
 * Levels of strength: reads the ladders that `ludarium levels` has measured (NAME.levels.json); a
 * game's search plays by their parameters, see docs/guide/levels.md.
 *
 *     const levels = readLevels(await (await fetch("corso.levels.json")).text());
 *     const { params } = levels.find(({ name }) => name === "easy");
 *     const seed = Math.floor(Math.random() * 2 ** 53);
 *     const { action } = await game.search.playLevel(params, seed);
 *
 * This file needs no library; `game` is a `Game` of engine.js.
 */

/** Words for levels, spread evenly from the weakest to the strongest. */
export const WORDS = Object.freeze(["beginner", "easy", "medium", "hard", "expert", "strongest"]);

const FORMAT = 4;

/**
 * The levels in a ladder's file, from the weakest to the strongest.
 * @param {string | object} json the file's text, or its parsed content.
 * @returns {{number: number, name: string, params: object, elo: number}[]} `name` is one of WORDS, or
 *   empty; `elo` is in points above random play.
 * @throws {Error} it is no JSON, or its format is another one; nothing else is checked.
 */
export function readLevels(json) {
  const data = typeof json === "string" ? JSON.parse(json) : json;
  if (data?.format !== FORMAT) {
    throw new Error(`this is not a ladder of levels: format is ${data?.format}, not ${FORMAT}`);
  }
  const { levels } = data.ladder;
  const names = namesOf(levels.length);
  return levels.map(({ params, rating }, index) => ({
    number: index + 1,
    name: names[index],
    params,
    elo: rating.value,
  }));
}

/** The word for each level, or an empty text; of two words for one level the stronger counts. */
function namesOf(count) {
  const names = new Array(count).fill("");
  WORDS.forEach((word, index) => {
    names[Math.floor((index * (count - 1)) / (WORDS.length - 1) + 0.5)] = word;
  });
  return names;
}
