/**
 * Seats, each an object that tells who moves: `{kind: "person"}`, `{kind: "random"}`,
 * `{kind: "guide"}` (of lesson.js), `{kind: "level", level: 3}` (1 is the weakest; with `adapts: true` the level may change from game
 * to game, see adapting.js), `{kind: "network", simulations: 128}` or `{kind: "network",
 * seconds: 2}`.
 */

import { shortened } from "./dom.js";

export const MOST_SIMULATIONS = 1600;
export const MOST_SECONDS = 60;

/** Shares of games won, and how people say them. */
const WINS = [
  ...[[0.985, "nearly always"], [0.93, "19 of 20 times"], [0.86, "nine of ten times"]],
  ...[[0.775, "four of five times"], [0.7, "three of four times"], [0.58, "two of three times"]],
  [0, "about half of the time"],
];

export const PERSON = Object.freeze({ kind: "person" });

const isWhole = (value, most) => Number.isInteger(value) && value >= 1 && value <= most;

/** Whether a value, such as a stored one, is a seat, but no guide; a board may lack its level or network. */
export function isSeat(seat) {
  if (typeof seat !== "object" || seat === null) return false;
  const { kind, level, simulations, seconds } = seat;
  if (kind === "level") return isWhole(level, Number.MAX_SAFE_INTEGER);
  if (kind === "network") {
    return seconds === undefined
      ? isWhole(simulations, MOST_SIMULATIONS)
      : isWhole(seconds, MOST_SECONDS);
  }
  return kind === "person" || kind === "random";
}

/** Whether a seat can be taken at a board. */
export function fits(seat, { variant, levels }) {
  if (seat.kind === "level") return seat.level <= levels.length;
  return seat.kind !== "network" || variant.network !== null;
}

/**
 * The seat that a link names: `level:3`, `level:auto`, `network:64`, `random`. The number of a
 * level is not checked, because the levels are not loaded yet.
 * @throws {Error} there is no such opponent in this variant.
 */
export function readSeat(text, variant) {
  if (text === "random") return { kind: "random" };
  if (text === "level:auto" && variant.levels) return { kind: "level", level: 1, adapts: true };
  const [, kind, digits] = /^(level|network):(\d{1,5})$/.exec(text) ?? [];
  const number = Number(digits);
  if (kind === "level" && variant.levels && number >= 1) return { kind, level: number };
  if (kind === "network" && variant.network && number >= 1 && number <= MOST_SIMULATIONS) {
    return { kind, simulations: number };
  }
  throw new Error(
    `The link asks for the opponent “${shortened(text)}”, who does not play here; there are random` +
      `${variant.levels ? ", level:3, level:auto" : ""}${variant.network ? ", network:64" : ""}.`,
  );
}

/** A seat's name for people; `levels` are the board's. */
export function seatName(seat, levels) {
  if (seat.kind === "person") return "Person";
  if (seat.kind === "random") return "Random mover";
  if (seat.kind === "guide") return "Opponent";
  if (seat.kind === "level") {
    const word = levels[seat.level - 1]?.name;
    if (seat.adapts) return `Level ${seat.level}, adapting`;
    return `Level ${seat.level}${word ? ` (${word})` : ""}`;
  }
  if (seat.seconds !== undefined) return `Network, ${seat.seconds} s a move`;
  const simulations = seat.simulations === 1 ? "1 simulation" : `${seat.simulations} simulations`;
  return `Network, ${simulations}`;
}

/** What share of games a level wins against one of another strength, in words. */
function inGames(by) {
  const share = 1 / (1 + 10 ** (-by / 400));
  return WINS.find(([least]) => share >= least)[1];
}

/** A level's number and strength in words; the first one is a beginner's. */
export function levelInWords(level, levels) {
  const { name, elo } = levels[level - 1];
  const other = level > 1 ? "a beginner" : "random moves";
  const beaten = inGames(elo - (level > 1 ? levels[0].elo : 0));
  return `${level} of ${levels.length}${name ? `, ${name}` : ""}: beats ${other} ${beaten}`;
}

/** The settings of a search job (see worker.js) for a seat of the kind `level` or `network`. */
export function seatJob(seat, levels) {
  if (seat.kind === "level") return { params: levels[seat.level - 1].params };
  if (seat.seconds !== undefined) {
    return { time: 1000 * seat.seconds, settings: { simulations: MOST_SIMULATIONS } };
  }
  return { settings: { simulations: seat.simulations } };
}
