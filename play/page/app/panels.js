/** The players above the board, and the state of the game in words. */

import { el, shortened } from "./dom.js";
import { playersOf } from "./records.js";
import { seatName } from "./seats.js";

const OUTCOMES = { DRAW: 3, TRUNCATED: 4 };
const MOST_NAME = 40; // letters of a player's name
const LONG_TASK = 20; // letters that fit into a line of a panel

/** The drawing of a role's piece. */
export function pieceOf(role, style) {
  const svg = el("svg:svg", { viewBox: "-28 -28 56 56", class: style, "aria-hidden": "true" });
  svg.innerHTML = role?.piece ?? "";
  return svg;
}

/** A player's name in a sentence: by number, with the words of the role in brackets. */
export function playerName(session, player) {
  const words = roleOf(session, player).words;
  return `player ${player + 1}${words ? ` (${words})` : ""}`;
}

function roleOf(session, player) {
  const { roles } = session.table.at(session.view).view();
  return session.table.scene.roles[roles[player]];
}

/** The name on a player's panel: from the record that is studied, or else by the seat. */
export function sitter(session, player) {
  const seat = session.seats[player];
  const name = playersOf(session.headers ?? {})?.[player];
  if (session.studying && name?.trim()) return name.slice(0, MOST_NAME);
  if (seat.kind !== "person") return seatName(seat, session.board.levels);
  return session.person === player && !session.studying ? "You" : `Player ${player + 1}`;
}

/** The result at a node in words, or "" while the game goes on. */
export function resultText(session, node = session.view) {
  if (session.resigned !== null && node === session.live) {
    const winner = playerName(session, 1 - session.resigned);
    const how =
      session.illegal === null
        ? "has resigned"
        : `has lost by an illegal action, ${shortened(session.illegal)}`;
    return `${capital(playerName(session, session.resigned))} ${how}: ${winner} has won.`;
  }
  if (node.outcome === 0) return "";
  if (node.outcome === OUTCOMES.DRAW) return "The game is drawn.";
  if (node.outcome === OUTCOMES.TRUNCATED) return "The game is drawn: it has reached its last ply.";
  return `${capital(playerName(session, node.outcome - 1))} has won.`;
}

/** The mover's task in words. */
export function taskText(session) {
  const { scene } = session.table;
  return `to ${scene.tasks[session.table.at(session.view).view().task]}`;
}

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Whose turn it is, or the result, in a few words. */
export function turnText(session) {
  const { mover } = session.view;
  const result = resultText(session).replace(/\.$/, "");
  if (result) return result;
  return sitter(session, mover) === "You" ? "Your turn" : `Turn of ${playerName(session, mover)}`;
}

/**
 * A position in words: a text for each row of the scene's `rows` that says something.
 * @param {ArrayLike<number>} [before] what the slots showed before: then only what has changed is told.
 */
export function rowsInWords({ rows }, shown, before = null) {
  return rows
    .map(({ name, places, words }) => {
      const isNew = (slot) => before === null || words[shown[slot]] !== words[before[slot]];
      const told = places.filter(([, slot]) => words[shown[slot]] && isNew(slot));
      return told.length && `${capital(name)}: ${told.map(([place, slot]) => `${place} ${words[shown[slot]]}`).join(", ")}.`;
    })
    .filter(Boolean);
}

/** The position in words, for those who do not see the board; drawn while it is open. */
export class PositionText {
  #session = null;
  #list = el("ul");
  #box = el(
    "details",
    { class: "box", ontoggle: () => this.#draw() },
    el("summary", {}, "The position in words"),
    this.#list,
  );

  constructor(container) {
    container.append(this.#box);
  }

  show(session) {
    this.#session = session;
    this.#box.hidden = session.table.scene.rows.length === 0;
    this.#draw();
  }

  #draw() {
    if (!this.#box.open) return;
    const { view, table } = this.#session;
    const { shown } = table.at(view).view();
    this.#list.replaceChildren(...rowsInWords(table.scene, shown).map((text) => el("li", {}, text)));
  }
}

function status(session, player) {
  const node = session.view;
  const resigned = session.resigned !== null && node === session.live;
  const loss = session.illegal === null ? "has resigned" : "has lost by an illegal action";
  if (resigned) return session.resigned === player ? loss : "has won";
  if (node.outcome === OUTCOMES.DRAW || node.outcome === OUTCOMES.TRUNCATED) return "drawn";
  if (node.isOver) return node.outcome - 1 === player ? "has won" : "";
  return node.mover === player ? taskText(session) : "";
}

function thinking(session, player, loading) {
  const { agent } = session;
  if (!agent || agent.node.mover !== player) return null;
  const told = loading
    ? "loading the network"
    : agent.simulations
      ? `thinking, ${agent.simulations}`
      : "thinking";
  return el(
    "span",
    { class: "thinking" },
    el("span", { class: "pulse", "aria-hidden": "true" }),
    told,
  );
}

/** Draw a player's panel. */
export function showPlayer(container, session, player, loading) {
  const facts = session.table.at(session.view).view();
  const { scene } = session.table;
  const role = roleOf(session, player);
  const told = status(session, player);
  const acts = !session.view.isOver && session.view.mover === player && session.resigned === null;
  container.className = `player${acts ? " acts" : ""}${told === "has won" ? " won" : ""}`;
  // Leave room for later texts, so that the board below does not jump from ply to ply.
  container.classList.toggle("tall", scene.tasks.some((task) => task.length > LONG_TASK));
  const symbol = told === "has won" ? "★ " : acts ? "▸ " : "";
  container.replaceChildren(
    pieceOf(role, "piece"),
    el(
      "div",
      { class: "who" },
      el("strong", {}, sitter(session, player)),
      el("span", { class: "seat" }, role.words || `player ${player + 1}`),
      el(
        "span",
        { class: "status" },
        told ? el("span", { "aria-hidden": "true" }, symbol) : null,
        told,
        thinking(session, player, loading),
      ),
    ),
    scene.has_points
      ? el(
          "span",
          { class: "points" },
          String(facts.points[player]),
          el("span", { class: "unseen" }, " points"),
        )
      : "",
  );
}
