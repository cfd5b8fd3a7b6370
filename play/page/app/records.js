/** Games as text records: between the tree of the page and the records of ../record.js. */

import { readRecord, writeRecord } from "../record.js";
import { seatName } from "./seats.js";

const RESULTS = ["*", "1-0", "0-1", "1/2-1/2", "1/2-1/2"]; // by outcome

/** The game as text; its date is of today. */
export function recordText(session) {
  const { table, game, levels } = session.board;
  const { description } = table.engine.manifest;
  const headers = { Date: new Date().toISOString().slice(0, 10) };
  if (!session.studying) {
    session.seats.forEach((seat, player) => {
      headers[`Player_${player}`] = seatName(seat, levels);
    });
  }
  return writeRecord({
    game: game.name,
    version: description.version,
    options: description.options,
    seed: table.seed,
    headers,
    moves: movesFrom(table.root),
    result:
      session.resigned === null
        ? RESULTS[table.root.end.outcome]
        : ["0-1", "1-0"][session.resigned],
  });
}

/** The moves after a node; at each the other moves that were played there. */
function movesFrom(node) {
  const moves = [];
  for (let [first, ...others] = node.children; first; [first, ...others] = first.children) {
    const variations = others.map((other) => [move(other), ...movesFrom(other)]);
    moves.push({ ...move(first), ...(variations.length ? { variations } : {}) });
  }
  return moves;
}

const move = ({ text, comment }) => (comment ? { text, comment } : { text });

/**
 * What a text asks for: the record, with the game and the variant of the site.
 * @throws {Error} it is no record, or of a board that this site lacks.
 */
export function readText(text, catalog) {
  const record = readRecord(text);
  const game = catalog.game(record.game);
  if (!game) throw new Error(`the record is of ${record.game}, a game that is not here`);
  const found = catalog.withOptions(record.game, record.options);
  if (!found) {
    const known = game.variants.map(({ title }) => title).join("; ");
    const options = JSON.stringify(record.options);
    throw new Error(`the record is of ${game.title} with ${options}; here are ${known}`);
  }
  if (typeof record.seed !== "number") throw new Error(`the seed ${record.seed} is too large`);
  return { ...found, record };
}

/**
 * Play all moves of a record, with the variations.
 * @throws {Error} a move is not legal, or the record is of another version of the rules.
 */
export function playRecord(table, record) {
  const { version } = table.engine.manifest.description;
  if (record.version !== version) {
    throw new Error(`the record is of version ${record.version} of the rules; here is ${version}`);
  }
  playLine(table, table.root, record.moves);
}

function playLine(table, start, moves) {
  let node = start;
  for (const { text, comment, variations = [] } of moves) {
    const action = node.isOver ? null : table.find(node, text);
    if (action === null) {
      throw new Error(`move ${node.ply + 1}, ${text}, is not legal in its position`);
    }
    const child = table.play(node, action);
    child.comment = comment ?? child.comment;
    for (const variation of variations) playLine(table, node, variation);
    node = child;
  }
}
