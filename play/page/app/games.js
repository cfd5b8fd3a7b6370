/**
 * Games that this browser keeps: a new game, a closed tab or a reload loses none of them.
 *
 * Each is `{format: 1, saved, variant, seats, live, view, studying, record}` in a place of its own, so
 * that two windows do not overwrite each other's: `saved` is a time in ms, `variant` an id, `live` and
 * `view` are where the game goes on and where one looks, as the actions that lead there.
 */

import { readRecord } from "../record.js";
import { forget, recall, remember, stored } from "./dom.js";
import { isSeat } from "./seats.js";

const FORMAT = 1;
const PREFIX = "game.";
const MOST = 50; // games; those that were played last stay

/** A name for a game, which no other one has. */
export const newGameId = () =>
  `${Date.now().toString(36)}-${Math.floor(Math.random() * 2 ** 32).toString(36)}`;

/** Keep a game in the place of its name. */
export function keepGame(id, game) {
  remember(PREFIX + id, { format: FORMAT, saved: Date.now(), ...game });
  for (const { id: old } of keptGames().slice(MOST)) forgetGame(old);
}

/** The game of a name, or null where there is none that can be read. */
export function keptGame(id) {
  const game = recall(PREFIX + id);
  try {
    return check(game);
  } catch {
    return null;
  }
}

export const forgetGame = (id) => forget(PREFIX + id);

/** All games that can be read, `{id, ...game}`, those played last first. */
export function keptGames() {
  return stored(PREFIX)
    .map((name) => name.slice(PREFIX.length))
    .map((id) => ({ id, ...keptGame(id) }))
    .filter(({ record }) => record)
    .sort((a, b) => b.saved - a.saved);
}

/** What is stored may be of another version of the page, or of a visitor's own making. */
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
  if (!isWhole) throw new Error("this is no game of the page");
  return { ...game, record: readRecord(JSON.stringify(record)) };
}
