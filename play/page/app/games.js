/**
 * Games that this browser keeps: a new game, a closed tab or a reload loses none of them.
 *
 * Each is `{format: 1, saved, variant, seats, live, view, studying, fromStart, losses, moments, record}`
 * under its own key, so that two windows do not overwrite each other's: `saved` is a time in ms,
 * `variant` an id; `live` is where the game continues and `view` the position on view, as the actions
 * that lead there; `fromStart` tells whether play began at the start; `losses` are those of
 * `lossesOf` in analyst.js, and `moments` counts those of `momentsOf` in main.js.
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

const HANDOVER = 400; // ms in which a window that is being reloaded lets go of its game
let held = { id: null, letGo() {} }; // the game that this window has
let wanted = null; // the game that it asked for last

/**
 * Let this window alone have a game, so that two windows do not overwrite each other's moves.
 * @returns {Promise<string>} the game's name; a new name, for a copy, if another window has it.
 */
export async function holdGame(id) {
  if (wanted === id) return id;
  letGoOfGame();
  wanted = id;
  if (!navigator.locks) return id; // an old browser, or a host without https
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), HANDOVER);
  return new Promise((resolve) => {
    const name = `ludarium ${new URL("./", location).pathname} ${id}`;
    const hold = () => {
      clearTimeout(timer);
      resolve(id);
      if (wanted !== id) return null; // this window has turned to another game by now
      return new Promise((letGo) => (held = { id, letGo }));
    };
    // A busy browser is late with locks that no window has, too.
    const ifFree = (lock) => (lock ? hold() : resolve(newGameId()));
    const again = () => navigator.locks.request(name, { ifAvailable: true }, ifFree);
    const refused = () => resolve(id); // no locks here after all: a sandboxed frame, for example
    navigator.locks.request(name, { signal: stop.signal }, hold).catch(again).catch(refused);
  });
}

/** Let another window have the game of this one. */
export function letGoOfGame() {
  wanted = null;
  held.letGo();
  held = { id: null, letGo() {} };
}

/**
 * Keep a game under its name. Games without moves, such as new ones, take no other's place.
 * @throws {Error} its record is beyond a limit, or the browser has no room or allows no store;
 *   what was kept of the game before stays.
 */
export function keepGame(id, game) {
  const whole = { format: FORMAT, saved: Date.now(), ...game };
  check(whole);
  if (!remember(PREFIX + id, whole)) {
    throw new Error("this browser has no room for it, or keeps nothing");
  }
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
