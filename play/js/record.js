/**
 * Reads and writes game records, like `ludarium.envs.engine.record` in Python;
 * docs/guide/records.md describes them. For browsers, workers and Node; needs no library.
 *
 *     const record = readRecord(text);
 *     record.moves.push("c3!");
 *     record.notes = { 3: "takes the centre" };
 *     const again = writeRecord(record);
 *
 * The game decides whether moves are legal.
 */

/** Limits of a record. */
export const LIMITS = Object.freeze({
  characters: 4 * 2 ** 20,
  depth: 8, // nested variations
  variedMoves: 10_000, // moves of all variations together
  jsonDepth: 32,
});

const REQUIRED = ["game", "version", "options", "moves"];
const NUMBER = /^[1-9][0-9]{0,8}$/;

/**
 * Whether a text is meant as a record; other texts are plain lists of moves, see `splitMoves`.
 * @param {string} text
 */
export const isRecord = (text) => /^\ufeff?[ \t\r\n]*[{[]/.test(text);

/**
 * Split a text into moves: at commas and line ends, and at spaces if no move of the game has any.
 * @param {string} text
 * @param {boolean} hasSpaces whether moves of the game contain spaces.
 * @returns {string[]}
 */
export function splitMoves(text, hasSpaces) {
  const pieces = text.replace(/^\ufeff/, "").split(hasSpaces ? /[,\r\n]/ : /[,\s]/);
  return pieces.map((piece) => piece.trim()).filter((piece) => piece !== "");
}

/**
 * Read a record, which may come from a stranger.
 * @param {string} text
 * @returns {object} the record, as in the JSON text.
 * @throws {Error} it is not a record, or beyond a limit; the message names what is wrong.
 */
export function readRecord(text) {
  if (text.length > LIMITS.characters) {
    throw new Error(`it has ${text.length} characters; at most ${LIMITS.characters} are allowed`);
  }
  let record;
  try {
    record = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (error) {
    throw new Error(`the record is not valid JSON: ${error.message}`);
  }
  if (!isMapping(record)) throw new Error("it holds no game record, but another JSON value");
  checkDepth(record);
  const lacking = REQUIRED.filter((key) => !(key in record));
  if (lacking.length) throw new Error(`the record lacks ${lacking.join(", ")}`);
  const { options, seed = 0 } = record;
  if (!isMapping(options)) throw new Error(`options of the record are ${shown(options)}`);
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw new Error(`seed of the record is ${shown(seed)}; here it is from 0 to 2**53 - 1`);
  }
  for (const key of ["position", "illegal_action"]) {
    const value = record[key] ?? null;
    if (value !== null && typeof value !== "string") {
      throw new Error(`${key} of the record is ${shown(value)}, not a text`);
    }
  }
  checkLine(record, "the record", 1, 0);
  return record;
}

/**
 * Write a record; `readRecord` reads it back.
 * @param {object} record
 * @returns {string}
 * @throws {Error} it is beyond a limit, or not well formed.
 */
export function writeRecord(record) {
  const text = `${JSON.stringify(record, null, 1)}\n`;
  readRecord(text); // reports limits and types now rather than when it is read
  return text;
}

/** Check a line's moves, notes and variations; return the number of moves in its variations. */
function checkLine(line, what, first, depth) {
  const { moves } = line;
  if (!Array.isArray(moves)) throw new Error(`moves of ${what} are ${shown(moves)}, not a list`);
  const wrong = moves.findIndex((text) => typeof text !== "string");
  if (wrong >= 0) throw new Error(`move ${first + wrong} of ${what} is ${shown(moves[wrong])}`);
  for (const [number, note] of byMove(line, "notes", what, first)) {
    if (typeof note !== "string") {
      throw new Error(`the note on move ${number} of ${what} is ${shown(note)}, not a text`);
    }
  }
  let varied = 0;
  for (const [number, others] of byMove(line, "variations", what, first)) {
    const where = `move ${number} of ${what}`;
    if (!Array.isArray(others)) {
      throw new Error(`the variations of ${where} are ${shown(others)}, not a list`);
    }
    if (depth === LIMITS.depth) {
      throw new Error(`${where} is within ${LIMITS.depth} variations and has another`);
    }
    for (const other of others) {
      if (!isMapping(other) || (Array.isArray(other.moves) && !other.moves.length)) {
        throw new Error(`a variation of ${where} is ${shown(other)}; it has no moves`);
      }
      varied += checkLine(other, `a variation of move ${number}`, number, depth + 1);
      varied += other.moves.length;
      if (varied > LIMITS.variedMoves) {
        throw new Error(`the variations of ${what} have over ${LIMITS.variedMoves} moves`);
      }
    }
  }
  return varied;
}

/** A line's values under a key, with the numbers of the moves. */
function byMove(line, key, what, first) {
  const found = Object.hasOwn(line, key) ? line[key] : {};
  if (!isMapping(found)) throw new Error(`${key} of ${what} are ${shown(found)}, not by move`);
  const last = first + line.moves.length - 1;
  return Object.entries(found).map(([number, value]) => {
    if (!NUMBER.test(number) || Number(number) < first || Number(number) > last) {
      throw new Error(
        `${key} of ${what} name move ${shown(number)}; accepted: "${first}" to "${last}"`,
      );
    }
    return [Number(number), value];
  });
}

function checkDepth(value) {
  let level = [value];
  for (let depth = 1; level.length; depth++) {
    if (depth > LIMITS.jsonDepth) {
      throw new Error(`lists and objects are nested more than ${LIMITS.jsonDepth} deep`);
    }
    level = level.flatMap((each) => Object.values(each).filter(isBranch));
  }
}

const isBranch = (value) => typeof value === "object" && value !== null;
const isMapping = (value) => isBranch(value) && !Array.isArray(value);

/** The beginning of a value as JSON, for a message, without unescaped control characters. */
function shown(value) {
  const text = JSON.stringify(value) ?? "missing";
  const short = text.length > 60 ? `${text.slice(0, 57)}...` : text;
  return short.replace(/[\x7f-\x9f\u2028\u2029]/g, "?");
}
