/** What is offered at the end of a game: a rematch, a look back, another level. */

import { suitingLevel } from "./adapting.js";
import { button, el } from "./dom.js";
import { resultText } from "./panels.js";
import { levelInWords } from "./seats.js";

/**
 * Show the end of a game, if the position on view is one.
 * @param {HTMLElement} panel
 * @param {import("./session.js").Session} session
 * @param {object} on
 * @param {(seats: object[]) => void} on.play begin another game with these seats.
 * @param {(() => void) | null} on.review look for mistakes; null where nothing can.
 */
export function showEnding(panel, session, { play, review }) {
  const { seats, live, view, person } = session;
  const isEnd = session.isStudy && !session.studying && view === live && live.ply > 0;
  panel.hidden = !isEnd;
  if (!isEnd) return;
  const opponent = person === null ? null : seats[1 - person];
  const at = (seat, level) => (seat === opponent ? { ...seat, level } : seat);
  const swapped = [seats[1], seats[0]];
  const next = opponent?.kind === "level" ? nextLevel(session, opponent) : null;
  const isOther = next !== null && next !== opponent.level;
  panel.replaceChildren(
    el("p", {}, el("strong", {}, result(session)), next === null ? "" : ` ${changed(session, opponent, next)}`),
    el(
      "div",
      { class: "row" },
      button("Rematch, sides changed", () => play(opponent?.adapts ? swapped.map((seat) => at(seat, next)) : swapped), {
        class: "primary",
      }),
      isOther && !opponent.adapts
        ? button(`${next > opponent.level ? "A stronger" : "An easier"} opponent: level ${next}`, () =>
            play(seats.map((seat) => at(seat, next))),
          )
        : "",
      review ? button("What did I do wrong?", review) : "",
    ),
  );
}

/** The result as the person here sees it; with the points, unless somebody has resigned. */
function result(session) {
  const { person, winner, table, live } = session;
  const told =
    person === null || session.illegal !== null
      ? resultText(session)
      : winner === null
        ? "A draw."
        : winner === person
          ? "You have won."
          : session.resigned === person
            ? "You have resigned."
            : "You have lost.";
  if (!table.scene.has_points || session.resigned !== null) return told;
  const { points } = table.at(live).view();
  const [mine, other] = person === 1 ? [points[1], points[0]] : points;
  return `${told.replace(/\.$/, "")}, ${mine} to ${other}.`;
}

/** The next level: the suiting one if it adapts; else one more after a win, one less after a loss. */
function nextLevel({ board, winner, person }, { level, adapts }) {
  if (adapts) return suitingLevel(board.variant, board.levels);
  const step = winner === null ? 0 : winner === person ? 1 : -1;
  return Math.min(Math.max(level + step, 1), board.levels.length);
}

/** What the game has changed, in words. */
function changed({ board, fromStart }, { level, adapts }, next) {
  if (!adapts) return "";
  if (!fromStart) return "The level stays: only a game from the start counts.";
  const way = next > level ? "gets stronger" : next < level ? "gets easier" : "stays as it was";
  return `Your opponent ${way}: next time it plays at level ${levelInWords(next, board.levels)}.`;
}
