/**
 * The level that suits the person here, found from the results of games against adapting levels,
 * like `level:auto` in Python (`ludarium.arena.adaptive`): Bayes' rule over a grid of the strengths
 * that the person may have, with the Bradley-Terry model as likelihood. Results are kept in this
 * browser, separately for each variant.
 */

import { recall, remember } from "./dom.js";

const GRID = 10; // step in Elo points
const MARGIN = 600; // Elo points by which the grid at least exceeds the ladder's ends
const PRIOR_SPREAD = 400; // standard deviation in Elo points
const DRIFT = 25; // standard deviation of a person's change in a game
const NATURAL = Math.log(10) / 400; // factor from Elo points to the exponent
const MOST_RESULTS = 100; // only the latest count
const FIRST_WORD = "easy"; // the level of a first game

/**
 * The mean of the estimate of a person's strength, in Elo points.
 * @param {{elo: number, points: number}[]} results `points` (0, 0.5, 1) that the person got against
 *   an opponent of `elo`, in the order of the games.
 * @param {number} top Elo points of the strongest level; random play has 0.
 * @param {number} start the most likely strength before any game.
 */
export function estimate(results, top, start) {
  const reach = Math.max(start, top - start, top / 2) + MARGIN;
  const count = Math.ceil((2 * reach + GRID) / GRID);
  const elo = Array.from({ length: count }, (_, step) => start - reach + GRID * step);
  let weights = elo.map((each) => bell((each - start) / PRIOR_SPREAD));
  for (const { elo: other, points } of results) {
    const learnt = elo.map((each, step) => {
      const won = 1 / (1 + Math.exp(-NATURAL * (each - other)));
      return weights[step] * won ** points * (1 - won) ** (1 - points);
    });
    weights = drifted(learnt);
  }
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return elo.reduce((total, each, step) => total + (each * weights[step]) / sum, 0);
}

const bell = (deviation) => Math.exp(-(deviation ** 2) / 2);

/** Weights of the grid after a game in which the person may have changed. */
function drifted(weights) {
  const far = (4 * DRIFT) / GRID;
  const changed = weights.map((_, step) => {
    let sum = 0;
    for (let by = -far; by <= far; by += 1) {
      sum += (weights[step + by] ?? 0) * bell((by * GRID) / DRIFT);
    }
    return sum;
  });
  const sum = changed.reduce((total, weight) => total + weight, 0);
  return changed.map((weight) => weight / sum);
}

/** The number of the level for the next game of a variant. */
export function suitingLevel({ id }, levels) {
  const first = levels.find(({ name }) => name === FIRST_WORD) ?? levels[0];
  const elo = estimate(resultsAt(id), levels.at(-1).elo, first.elo);
  const gap = (level) => Math.abs(level.elo - elo);
  return levels.reduce((best, level) => (gap(level) < gap(best) ? level : best)).number;
}

/** Keep a game's `points` against a level of `elo`; if it ends again, the later result counts. */
export function learnResult({ id }, game, elo, points) {
  const others = resultsAt(id).filter((result) => result.game !== game);
  remember(`results.${id}`, [...others, { game, elo, points }].slice(-MOST_RESULTS));
}

/** The valid results of a variant; visitors can change what is stored. */
function resultsAt(id) {
  const stored = recall(`results.${id}`);
  const isResult = (each) => Number.isFinite(each?.elo) && [0, 0.5, 1].includes(each.points);
  return Array.isArray(stored) ? stored.filter(isResult).slice(-MOST_RESULTS) : [];
}
