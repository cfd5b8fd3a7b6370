/**
 * Games that this browser keeps: a new game, a closed tab or a reload loses none of them.
 *
 * Each is `{format: 1, saved, variant, seats, live, view, studying, fromStart, record}` under its own
 * key, so that two windows do not overwrite each other's: `saved` is a time in ms, `variant` an id;
 * `live` is where the game continues and `view` the position on view, as the actions that lead there;
 * `fromStart` tells whether play began at the start.
 */

import { readRecord } from "../record.js";
import { forget, recall, remember, stored } from "./dom.js";
import { isSeat } from "./seats.js";

const FORMAT = 1;
const PREFIX = "game.";
const MOST = 50; // games with moves, and as many others; the latest ones stay

/** A unique name for a game. */
export const newGameId = () =>
  `${Date.now().toString(36)}-${Math.floor(Math.random() * 2 ** 32).toString(36)}`;

/**
 * Keep a game under its name. Games without moves, such as new ones, take no other's place.
 * @throws {Error} its record is beyond a limit; what was kept of the game before stays.
 */
export function keepGame(id, game) {
  const whole = { format: FORMAT, saved: Date.now(), ...game };
  check(whole);
  remember(PREFIX + id, whole);
  const kept = allGames();
  const played = kept.filter(({ record }) => record?.moves.length);
  const others = kept.filter(({ record }) => !record?.moves.length);
  for (const { id: old } of [played, others].flatMap((games) => games.slice(MOST))) forgetGame(old);
}

/** The game with a name, or null if there is none that can be read. */
export function keptGame(id) {
  const game = recall(PREFIX + id);
  try {
    return check(game);
  } catch {
    return null;
  }
}

export const forgetGame = (id) => forget(PREFIX + id);

/** All games that can be read, `{id, ...game}`, the latest first. */
export const keptGames = () => allGames().filter(({ record }) => record);

/** The same, and after them `{id}` of each that cannot be read. */
function allGames() {
  return stored(PREFIX)
    .map((name) => name.slice(PREFIX.length))
    .map((id) => ({ id, ...keptGame(id) }))
    .sort((a, b) => (b.saved ?? 0) - (a.saved ?? 0));
}

/** Check stored data, which may come from another version of the page, or from the visitor. */
function check(game) {
  const { format, saved, variant, seats, live, view, studying, record } = game;
  const isLine = (actions) =>
    Array.isArray(actions) && actions.every((action) => Number.isInteger(action) && action >= 0);
  const isWhole =
    format === FORMAT &&
    Number.isFinite(saved) &&
    typeof variant === "string" &&
    typeof studying === "boolean" &&
    Array.isArray(seats) &&
    seats.length === 2 &&
    seats.every(isSeat) &&
    isLine(live) &&
    isLine(view);
  if (!isWhole) throw new Error("this is not a game of the page");
  const fromStart = game.fromStart === true;
  return { ...game, fromStart, record: readRecord(JSON.stringify(record)) };
}
