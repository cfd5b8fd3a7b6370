/**
 * A game as the fragment of an address: `#g=corso&o=corso&m=12.3.7&p=2`, with the game, its
 * variant, the actions as numbers (or texts), and the ply on view, the last one if left out;
 * `s` is the seed of the start, 0 if left out, `d` the diagram of a start that people set up, and
 * `f` the text of a position from which the game goes on.
 * With `opponent=level:3` (or another text of `readSeat`) a game begins at once, in which a person
 * has the `seat` 0 or 1, drawn by lot if left out. `#g=corso&learn=0` is the guided game,
 * `#g=corso&puzzle=ID` a puzzle.
 */

import { whyNoDiagram } from "./catalog.js";
import { shortened } from "./dom.js";
import { readSeat } from "./seats.js";
import { Throttle } from "./throttle.js";

const ADDRESS_PAUSE = 400; // ms: browsers allow some hundred changes of an address in 30 s
const MOST_ACTIONS = 10_000;

/** The fragment for the line through the node on view. */
export function writeFragment({ board, view }) {
  const { game, variant, table } = board;
  const { end } = view;
  const parts = [`g=${encodeURIComponent(game.name)}`, `o=${encodeURIComponent(variant.id)}`];
  if (table.seed) parts.push(`s=${table.seed}`);
  if (table.diagram) parts.push(`d=${table.diagram}`);
  if (table.position) parts.push(`f=${encodeURIComponent(table.position)}`);
  if (end.ply) parts.push(`m=${end.actions.join(".")}`);
  if (view !== end) parts.push(`p=${view.ply}`);
  return `#${parts.join("&")}`;
}

/**
 * The content of a fragment, `{game, variant, diagram, position, seed, moves, ply, opponent, seat, learn,
 * puzzle}`, or null if it has no "="; `opponent` is a seat as in seats.js, or null if nobody is to play; `learn`
 * is a step of the guided game, counted from 0, or null; `puzzle` is a puzzle's id, or null.
 * @throws {Error} a sentence for the page.
 */
export function readFragment(fragment, catalog) {
  const text = fragment.replace(/^#/, "").replaceAll("&amp;", "&"); // as pages and mails have it
  if (!text.includes("=")) return null;
  const given = new URLSearchParams(text);
  const name = given.get("g") ?? "";
  const game = catalog.game(name);
  if (!game) {
    const known = catalog.games.map((each) => each.name).join(", ");
    throw new Error(`The link asks for the game “${shortened(name)}”; there are ${known}.`);
  }
  const id = given.get("o") ?? game.variants[0].id;
  const found = catalog.find(name, id);
  if (!found) {
    const known = game.variants.map((each) => each.id).join(", ");
    throw new Error(`The link asks for “${shortened(id)}” of ${game.title}; there are ${known}.`);
  }
  const start = readDiagram(given.get("d"), found, catalog);
  const moves = (given.get("m") ?? "").split(".").filter((move) => move !== "");
  if (moves.length > MOST_ACTIONS) {
    throw new Error(`The link has ${moves.length} moves; at most ${MOST_ACTIONS} are allowed.`);
  }
  const seed = whole(given, "s", Number.MAX_SAFE_INTEGER) ?? 0;
  const opponent = given.has("opponent") ? readSeat(given.get("opponent"), found.variant) : null;
  const seat = whole(given, "seat", 1) ?? Math.floor(2 * Math.random());
  const learn = whole(given, "learn", MOST_ACTIONS);
  const ply = whole(given, "p", moves.length) ?? moves.length;
  const names = { position: given.get("f"), puzzle: given.get("puzzle") };
  return { ...start, ...names, seed, moves, ply, opponent, seat, learn };
}

function readDiagram(diagram, { game, variant }, catalog) {
  const about = variant.diagram;
  if (diagram === null) {
    return about?.is_own
      ? catalog.withDiagram(game, variant, about.start)
      : { game, variant, diagram: null };
  }
  if (!about?.is_own) throw new Error(`The link has d=${shortened(diagram)}, but “${variant.id}” has its own start.`);
  const why = whyNoDiagram(diagram, about);
  if (why) throw new Error(`The link has d=${shortened(diagram)}: ${why}.`);
  return catalog.withDiagram(game, variant, diagram);
}

function whole(given, key, most) {
  const text = given.get(key);
  if (text === null) return null;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > most) {
    throw new Error(`The link has ${key}=${shortened(text)}; accepted: a whole number from 0 to ${most}.`);
  }
  return value;
}

/**
 * Play the moves of a fragment.
 * @returns {object} the node at the ply that is to be shown.
 * @throws {Error} a move is not legal.
 */
export function playMoves(table, moves, ply) {
  let node = table.root;
  let wanted = node;
  moves.forEach((move, number) => {
    const action = node.isOver ? null : table.find(node, move);
    if (action === null) {
      const why = node.isOver ? "the game is over by then" : "it is not legal there";
      const text = shortened(move);
      throw new Error(`Move ${number + 1} of the link, “${text}”, cannot be played: ${why}.`);
    }
    node = table.play(node, action);
    if (node.ply === ply) wanted = node;
  });
  return wanted;
}

/** The window's address, which follows the game at most a few times a second. */
export class AddressBar {
  #fragment = null;
  #throttle = new Throttle(() => this.#write(), ADDRESS_PAUSE);

  show(fragment) {
    if (fragment === this.#fragment) return;
    this.#fragment = fragment;
    this.#throttle.ask();
  }

  /** Leave the address as it is, because the visitor has changed it. */
  leave() {
    this.#fragment = null;
    this.#throttle.drop();
  }

  flush() {
    this.#throttle.flush();
  }

  #write() {
    try {
      history.replaceState(null, "", this.#fragment);
    } catch {
      this.#fragment = null; // the browser's limit is reached; the next `show` tries again
    }
  }
}
