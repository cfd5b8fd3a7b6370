/** Games as records: converts between the page's tree and the JSON of ../record.js. */

import { isRecord, readRecord, splitMoves, writeRecord } from "../record.js";
import { shortened } from "./dom.js";
import { seatName } from "./seats.js";

const REWARDS = [null, [1, -1], [-1, 1], [0, 0], [0, 0]]; // rewards by outcome

/** The keys of a record about the game itself; the rest are its headers. */
const OF_GAME = new Set([
  ...["game", "version", "options", "seed", "position", "moves", "result"],
  ...["illegal_action", "notes", "variations"],
]);

/** The game as text. */
export function recordText(session) {
  return writeRecord(recordOf(session));
}

/** The game as a record; one that was read from a record keeps its headers. */
export function recordOf(session) {
  const { table, game, levels } = session.board;
  const { version, options: usual } = table.engine.manifest.description;
  const start = table.diagram && { [table.scene.diagram.option]: table.diagram };
  const options = { ...usual, ...start };
  const players = session.seats.map((seat) => seatName(seat, levels));
  const date = dateOf(new Date());
  const headers = session.headers ?? (session.studying ? { date } : { players, date });
  const { resigned, illegal } = session;
  const isIllegal = resigned !== null && illegal !== null && session.live === table.root.end;
  const result =
    resigned === null
      ? REWARDS[table.root.end.outcome]
      : [0, 1].map((player) => (player === resigned ? -1 : 1));
  return {
    game: game.name,
    version,
    options,
    seed: table.seed,
    ...(table.position && { position: table.position }),
    ...lineFrom(table.root),
    result,
    ...(isIllegal && { illegal_action: illegal }),
    ...headers,
  };
}

/** A day as in records, by the visitor's clock. */
function dateOf(time) {
  const parts = [time.getFullYear(), time.getMonth() + 1, time.getDate()];
  return parts.map((part) => String(part).padStart(2, "0")).join("-");
}

/** The text of a file: UTF-8, or UTF-16, as some editors save it. */
export function textOf(bytes) {
  const [first, second] = new Uint8Array(bytes);
  const isLittle = (first === 0xff && second === 0xfe) || (first && second === 0);
  const isBig = (first === 0xfe && second === 0xff) || (first === 0 && second);
  return new TextDecoder(isLittle ? "utf-16le" : isBig ? "utf-16be" : "utf-8").decode(bytes);
}

/** The fragment of a text that is a link to a game, or null. */
export const linkIn = (text) => /^\s*<?(?:https?:\S*|file:\S*)?(#g=[^\s>]+)>?\s*$/.exec(text)?.[1] ?? null;

/** The headers of a record, such as its players and its date. */
export function headersOf(record) {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !OF_GAME.has(key)));
}

/** The names of a record's players, or null if it has no list of them. */
export function playersOf({ players }) {
  if (!Array.isArray(players)) return null;
  return players.map((name) => (typeof name === "string" ? name : ""));
}

/**
 * How a game was lost that is not over at `end`, as `Session.begin` takes it: `resigned` is the
 * loser by the result, or null; `illegal` the name of the illegal action that lost it, or null.
 */
export function lossOf({ result, illegal_action: illegal = null }, end) {
  const [one, other] = !end.isOver && Array.isArray(result) ? result : [];
  const resigned = one === 1 && other === -1 ? 1 : one === -1 && other === 1 ? 0 : null;
  return { resigned, illegal: resigned === null ? null : illegal };
}

/** The main line after a node, with its notes and variations, as in a record. */
function lineFrom(node) {
  const moves = [];
  const notes = {};
  const variations = {};
  for (let [move, ...others] = node.children; move; [move, ...others] = move.children) {
    moves.push(move.text);
    if (move.comment) notes[move.ply] = move.comment;
    if (others.length) variations[move.ply] = others.map(lineWith);
  }
  return { moves, ...withEntries({ notes, variations }) };
}

/** The line that begins with a node. */
function lineWith(node) {
  const { moves, notes = {}, variations = {} } = lineFrom(node);
  if (node.comment) notes[node.ply] = node.comment;
  return { moves: [node.text, ...moves], ...withEntries({ notes, variations }) };
}

/** An object without empty values. */
function withEntries(objects) {
  return Object.fromEntries(
    Object.entries(objects).filter(([, object]) => Object.keys(object).length),
  );
}

/**
 * Read a text: a record, or a plain list of moves for the present board.
 * @param {string} text
 * @param {import("./catalog.js").Catalog} catalog
 * @param {object} board the present board, see `Session.begin`.
 * @returns {object} `{game, variant, diagram, record}`; for a list of moves, `record` has only
 *   `version`, `seed`, `position` and `moves`.
 * @throws {Error} the text is neither, or the site lacks its game or options.
 */
export function readText(text, catalog, { game, variant, table }) {
  if (!isRecord(text)) {
    const hasSpaces = table.scene.words.some((each) => each.includes(" "));
    const { version } = table.engine.manifest.description;
    const moves = splitMoves(text, hasSpaces);
    if (!moves.length) throw new Error("there is no move in it");
    const { diagram, seed, position } = table;
    return { game, variant, diagram, record: { version, seed, position, moves } };
  }
  const record = readRecord(text);
  const known = catalog.game(record.game);
  if (!known) throw new Error(`the record is of ${shortened(`${record.game}`)}, a game that is not here`);
  const found = catalog.withOptions(record.game, record.options);
  if (!found) {
    const titles = known.variants.map(({ title }) => title).join("; ");
    const options = shortened(JSON.stringify(record.options));
    throw new Error(`the record is of ${known.title} with ${options}; here are ${titles}`);
  }
  return { ...found, record };
}

/**
 * Play all moves of a record, with the variations, and write its notes on the nodes.
 * @throws {Error} a move is not legal, or the record belongs to another version of the rules.
 */
export function playRecord(table, record) {
  const { version } = table.engine.manifest.description;
  if (record.version !== version) {
    const other = shortened(`${record.version}`);
    throw new Error(`the record is of version ${other} of the rules; here is ${version}`);
  }
  playLine(table, table.root, record);
}

function playLine(table, start, { moves, notes = {}, variations = {} }) {
  let node = start;
  for (const text of moves) {
    const action = node.isOver ? null : table.findText(node, text);
    if (action === null) {
      throw new Error(`move ${node.ply + 1}, ${shortened(text)}, is not legal in its position`);
    }
    const child = table.play(node, action);
    child.comment = notes[child.ply] ?? child.comment;
    for (const variation of variations[child.ply] ?? []) playLine(table, node, variation);
    node = child;
  }
}
