/**
 * Reads and writes game records: text with headers, numbered moves, comments and variations, the
 * same as `ludarium.envs.engine.record_text` does in Python; docs/guide/records.md tells the format.
 * Records in JSON are read too. For browsers, workers and Node; needs nothing.
 *
 *     const record = readRecord(text);
 *     record.moves.push({ text: "c3!", comment: "takes the centre" });
 *     const again = writeRecord(record);
 *
 * A record is {game, version, options, seed, headers, moves, result}: `headers` are further texts by
 * name (Player_0, Date, ...), `moves` the main line, `result` one of RESULTS. A move is
 * {text, comment, variations}, the last two only where there are any; a variation is a list of moves,
 * the first of which stands in the place of the move that has the variation. Whether moves are legal
 * is for the game to say.
 */

/** Results by name: player_0 wins, player_1 wins, a draw, the game goes on. */
export const RESULTS = Object.freeze(["1-0", "0-1", "1/2-1/2", "*"]);

/** What a record may have at most; variations are within each other. */
export const LIMITS = Object.freeze({
  characters: 4 * 2 ** 20,
  moves: 100_000,
  depth: 8,
  headers: 200,
});

const FORMAT = "ludarium 1";
const OWN_HEADERS = ["Format", "Game", "Version", "Option", "Seed", "Result"];
const REQUIRED = ["Format", "Game", "Version"];
const SEATS = ["0", "1"];
const REWARDS = { "1,-1": "1-0", "-1,1": "0-1", "0,0": "1/2-1/2" };
const MOST_JSON_DEPTH = 32;
const WIDTH = 80; // of the lines of moves

const CONTROL = /[\x00-\x08\x0b-\x1f]/;
const SURROGATE = /[\ud800-\udfff]/u; // one without its other half
const WHITE = /[ \t\n]*/y;
const HEADER = /^\[([A-Za-z][A-Za-z0-9_]{0,39})[ \t]+/;
const HEADER_NAME = /^[A-Za-z][A-Za-z0-9_]{0,39}$/;
const WHOLE = { Version: /^(?:0|[1-9][0-9]{0,8})$/, Seed: /^(?:0|[1-9][0-9]{0,38})$/ };
const NUMBER = /([0-9]+)\.[ \t\n]*/y;
const WORD = String.raw`[^ \t\n;{}()\[\]"\x00-\x1f\ud800-\udfff]+`;
const BARE = new RegExp(WORD, "uy");
const IS_BARE = new RegExp(`^(?![0-9]+\\.)${WORD}(?: ${WORD})*$`, "u");
const ESCAPED = /\\([\\{}])/g;

/**
 * Read a record, as text or as JSON; it may come from a stranger.
 * @param {string} text
 * @returns {object} the record, see above.
 * @throws {Error} it is no record, or beyond a limit; of a text the message has line and column.
 */
export function readRecord(text) {
  if (text.length > LIMITS.characters) {
    throw new Error(`it has ${text.length} characters; the most are ${LIMITS.characters}`);
  }
  text = text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
  if (/^[ \t\n]*\{/.test(text)) return fromJson(text);
  const source = new Source(text);
  const control = CONTROL.exec(text);
  if (control) source.refuse(control.index, `the character ${shown(control[0])} is not accepted`);
  const record = readHeaders(source);
  record.moves = readMoves(source);
  return record;
}

/**
 * Write a record as text; `readRecord` reads it back.
 * @param {object} record see above; options, seed, headers and result may be left out.
 * @returns {string}
 * @throws {Error} something in it cannot be written.
 */
export function writeRecord(record) {
  const { game, version, options = {}, seed = 0, headers = {}, moves, result = "*" } = record;
  const lines = [`[Format ${json(FORMAT)}]`, `[Game ${json(game)}]`, `[Version ${json(version)}]`];
  for (const [name, value] of Object.entries(options)) {
    lines.push(`[Option ${json(name)} ${json(value)}]`);
  }
  lines.push(`[Seed ${typeof seed === "bigint" ? seed : json(seed)}]`, `[Result ${json(result)}]`);
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name) || OWN_HEADERS.includes(name)) {
      throw new Error(
        `${shown(name)} is no name of a header: take letters, digits and _, and none of ` +
          OWN_HEADERS.join(", "),
      );
    }
    lines.push(`[${name} ${json(value)}]`);
  }
  const line = joined(pieces(moves, 1, 0));
  const text = [...lines, "", ...(line ? [line] : [])].join("\n") + "\n";
  readRecord(text); // so that limits and types are told here, and not when it is read
  return text;
}

/** A text that is read, and how far. */
class Source {
  index = 0;

  constructor(text) {
    this.text = text;
  }

  /** The next character that is not white, "" at the end. */
  get next() {
    this.take(WHITE);
    return this.text.charAt(this.index);
  }

  /** Take what a sticky expression matches here; null if nothing. */
  take(expression) {
    expression.lastIndex = this.index;
    const match = expression.exec(this.text);
    if (match) this.index += match[0].length;
    return match;
  }

  /** The place after the mark that ends what begins here, past escapes; -1 where there is none. */
  endOf(end, forbidden) {
    for (let index = this.index + 1; index < this.text.length; index++) {
      const character = this.text[index];
      if (character === end) return index + 1;
      if (character === forbidden) return -1;
      if (character === "\\" && this.text[++index] === "\n" && forbidden === "\n") return -1;
    }
    return -1;
  }

  refuse(index, message, move = 0) {
    const lines = this.text.slice(0, index).split("\n");
    const column = [...lines.at(-1)].length + 1;
    const where = `line ${lines.length}, column ${column}${move ? ` (move ${move})` : ""}`;
    throw new Error(`${where}: ${message}`);
  }

  json(index, value, what, move = 0) {
    try {
      return parseJson(value);
    } catch (error) {
      return this.refuse(index, `${what} is not valid JSON: ${error.message}`, move);
    }
  }
}

// Headers.

function readHeaders(source) {
  const own = new Map();
  const options = new Map();
  const headers = new Map();
  for (let count = 1; source.next === "["; count++) {
    const begin = source.index;
    const { name, value, place } = readHeader(source);
    if (count > LIMITS.headers) {
      source.refuse(begin, `there are more than ${LIMITS.headers} headers`);
    }
    if ((name === "Format") !== (count === 1)) {
      source.refuse(begin, `the first header, and no other, is [Format "${FORMAT}"]`);
    }
    if (own.has(name) || headers.has(name)) {
      source.refuse(begin, `there is a second header ${name}`);
    }
    if (name === "Option") {
      const [key, setting] = readOption(source, place, value);
      if (options.has(key)) source.refuse(place, `there is a second option ${shown(key)}`);
      options.set(key, setting);
    } else {
      (OWN_HEADERS.includes(name) ? own : headers).set(name, readValue(source, place, name, value));
    }
  }
  const lacking = REQUIRED.find((name) => !own.has(name));
  if (lacking) source.refuse(source.index, `the headers lack ${lacking}`);
  return {
    game: own.get("Game"),
    version: own.get("Version"),
    options: Object.fromEntries(options),
    seed: own.get("Seed") ?? 0,
    headers: Object.fromEntries(headers),
    moves: [],
    result: own.get("Result") ?? "*",
  };
}

/** A header's name and value, and where the value begins; goes to the end of the line. */
function readHeader(source) {
  const begin = source.index;
  const found = source.text.indexOf("\n", begin);
  source.index = found < 0 ? source.text.length : found;
  const line = withoutEnd(source.text.slice(begin, source.index));
  const match = HEADER.exec(line);
  if (!match || !line.endsWith("]")) {
    source.refuse(begin, 'a header is a line of its own, such as [Game "corso"]');
  }
  const [start, name] = match;
  const value = withoutEnd(line.slice(start.length, -1));
  return { name, value, place: begin + start.length };
}

/** A line without the white at its end. */
function withoutEnd(line) {
  let length = line.length;
  while (length && (line[length - 1] === " " || line[length - 1] === "\t")) length--;
  return line.slice(0, length);
}

function readValue(source, place, name, value) {
  if (Object.hasOwn(WHOLE, name)) {
    if (!WHOLE[name].test(value)) {
      source.refuse(place, `${name} is ${shown(value)}, not a whole number`);
    }
    return Number.isSafeInteger(Number(value)) ? Number(value) : BigInt(value);
  }
  if (!isQuoted(value)) {
    source.refuse(place, `${name} is ${shown(value)}; write a text between " and "`);
  }
  const text = source.json(place, value, `the value of ${name}`);
  if (name === "Format" && text !== FORMAT) {
    source.refuse(place, `Format is ${shown(text)}; this reads ${shown(FORMAT)}`);
  }
  const accepted = { Result: RESULTS, Seat: SEATS }[name];
  if (accepted && !accepted.includes(text)) {
    source.refuse(place, `${name} is ${shown(text)}; accepted: ${accepted.join(", ")}`);
  }
  return text;
}

/** Whether a value is one JSON text and nothing else. */
function isQuoted(value) {
  return value[0] === '"' && new Source(value).endOf('"', "\n") === value.length;
}

function readOption(source, place, value) {
  const end = value[0] === '"' ? new Source(value).endOf('"', "\n") : -1;
  const gap = /^[ \t]+/.exec(value.slice(end));
  if (end < 0 || !gap) {
    source.refuse(place, 'an option is [Option "NAME" VALUE], with a value in JSON');
  }
  const name = source.json(place, value.slice(0, end), "the name of an option");
  const begin = end + gap[0].length;
  const inner = place + begin;
  const setting = source.json(inner, value.slice(begin), `option ${shown(name)}`);
  if (numbersOf(setting).some((each) => Math.abs(each) > Number.MAX_SAFE_INTEGER)) {
    source.refuse(inner, `option ${shown(name)} has a number of more than 2**53 - 1`);
  }
  return [name, setting];
}

// Moves.

function readMoves(source) {
  const main = { moves: [], first: 1, begin: source.index, isOpen: false };
  const outer = [];
  let line = main;
  let count = 0;
  for (let mark = source.next; mark; mark = source.next) {
    const { index } = source;
    const number = line.first + line.moves.length - (line.isOpen ? 1 : 0);
    const move = line.isOpen ? line.moves.at(-1) : null;
    if (mark === ";" || mark === ")") {
      if (!move && (mark === ";" || !line.moves.length)) {
        source.refuse(index, `a move is missing before ${mark}`, number);
      }
      if (mark === ")") {
        if (!outer.length) source.refuse(index, "there is no variation that ) ends", number);
        line = outer.pop();
      }
      line.isOpen = mark === ")"; // a ; asks for another move, but where the line ends
      source.index++;
    } else if (mark === "(" || mark === "{") {
      if (!move) {
        const what = mark === "(" ? "variation" : "comment";
        source.refuse(index, `a ${what} follows the move that it is about`, number);
      }
      if (mark === "{") {
        readComment(source, move, number);
        continue;
      }
      if (outer.length === LIMITS.depth) {
        source.refuse(index, `more than ${LIMITS.depth} variations are within each other`);
      }
      outer.push(line);
      line = { moves: [], first: number, begin: index, isOpen: false };
      (move.variations ??= []).push(line.moves);
      source.index++;
    } else {
      if (move) source.refuse(index, "after a move comes ; or a comment or variation", number);
      if (++count > LIMITS.moves) {
        source.refuse(index, `there are more than ${LIMITS.moves} moves`, number);
      }
      line.moves.push({ text: readMove(source, number) });
      line.isOpen = true;
    }
  }
  if (outer.length) {
    source.refuse(line.begin, "the variation has no end: write )", line.first);
  }
  return main.moves;
}

function readMove(source, number) {
  const begin = source.index;
  const numbered = source.take(NUMBER);
  if (numbered && numbered[1] !== String(number)) {
    const other = numbered[1].slice(0, 10);
    source.refuse(begin, `this is move ${number}, but is numbered ${other}`, number);
  }
  const words = [];
  for (let match = source.take(BARE); match; match = source.take(BARE)) {
    words.push(match[0]);
    source.take(WHITE);
  }
  if (words.length) return words.join(" ");
  const { index } = source;
  const end = source.text[index] === '"' ? source.endOf('"', "\n") : -1;
  if (end < 0) source.refuse(index, "here should be a move", number);
  source.index = end;
  return source.json(index, source.text.slice(index, end), "the move", number);
}

function readComment(source, move, number) {
  const begin = source.index;
  const end = source.endOf("}", "{");
  if (end < 0) {
    source.refuse(begin, "a comment ends with }; within it write \\{ and \\}", number);
  }
  if (move.comment !== undefined) {
    source.refuse(begin, "the move has a comment already", number);
  }
  move.comment = source.text.slice(begin + 1, end - 1).replace(ESCAPED, "$1");
  source.index = end;
}

// JSON.

function parseJson(text) {
  const value = JSON.parse(text);
  checkDepth(value);
  return value;
}

function checkDepth(value) {
  let level = [value].filter(isBranch);
  for (let depth = 1; level.length; depth++) {
    if (depth > MOST_JSON_DEPTH) {
      throw new Error(`more than ${MOST_JSON_DEPTH} lists and objects are within each other`);
    }
    level = level.flatMap((each) => Object.values(each).filter(isBranch));
  }
}

const isBranch = (value) => typeof value === "object" && value !== null;

/** The numbers in a JSON value. */
function numbersOf(value) {
  const found = [];
  const waiting = [value];
  while (waiting.length) {
    const each = waiting.pop();
    if (isBranch(each)) for (const inner of Object.values(each)) waiting.push(inner);
    else if (typeof each === "number") found.push(each);
  }
  return found;
}

/** The record that a JSON text of Python's holds. */
function fromJson(text) {
  const { game, version, options, seed = 0, moves, notes = [], ...rest } = parseJson(text);
  if (!Array.isArray(moves) || !Array.isArray(notes)) {
    throw new Error("moves and notes of a game record are lists");
  }
  if (typeof seed === "number" && !Number.isSafeInteger(seed)) {
    throw new Error("the seed is too large to be exact in JSON here; save the record as text");
  }
  const result = (rest.result ?? null) === null ? "*" : (REWARDS[rest.result] ?? null);
  const record = { game, version, options, seed, headers: headersOf(rest), moves: [], result };
  record.moves = moves.map((each) => ({ text: each }));
  for (const { move, comment, variations } of notes) {
    const noted = Number.isInteger(move) ? record.moves[move - 1] : undefined;
    if (!noted || Object.keys(noted).length > 1) {
      throw new Error(`a note is of move ${shown(move)}; accepted: each of 1 to ${moves.length}, once`);
    }
    if (comment !== undefined) noted.comment = comment;
    if (variations !== undefined) noted.variations = variations;
  }
  return readRecord(writeRecord(record)); // with all the checks of a text
}

function headersOf({ headers, players, seat }) {
  const found = {};
  if (Array.isArray(players)) [found.Player_0, found.Player_1] = players;
  if (seat === 0 || seat === 1) found.Seat = String(seat);
  return { ...found, ...headers };
}

// Writing.

function json(value) {
  if (value === undefined) throw new Error("the record lacks its game, version or a value");
  checkDepth(value);
  if (numbersOf(value).some((each) => !Number.isFinite(each))) {
    throw new Error("a number in the record is not finite");
  }
  return JSON.stringify(value);
}

/** What lines are made of: no line ends within one, but in a comment's own lines. */
function pieces(moves, first, depth) {
  if (!Array.isArray(moves)) throw new Error("moves and variations of a record are lists");
  if (depth > LIMITS.depth) {
    throw new Error(`more than ${LIMITS.depth} variations are within each other`);
  }
  const found = [];
  moves.forEach(({ text, comment, variations = [] }, index) => {
    const number = first + index;
    if (typeof text !== "string") throw new Error(`move ${number} of the record has no text`);
    if (found.length) found[found.length - 1] += ";";
    found.push(`${number}. ${IS_BARE.test(text) ? text : json(text)}`);
    if (comment !== undefined) found.push(commentText(comment, number));
    for (const variation of variations) {
      const inner = pieces(variation, number, depth + 1);
      if (!inner.length) throw new Error(`a variation of move ${number} has no moves`);
      inner[0] = `(${inner[0]}`;
      inner[inner.length - 1] += ")";
      for (const piece of inner) found.push(piece);
    }
  });
  return found;
}

function commentText(comment, number) {
  const wrong = CONTROL.exec(comment) ?? SURROGATE.exec(comment);
  if (typeof comment !== "string" || wrong) {
    const what = wrong ? `has the character ${shown(wrong[0])}` : "is no text";
    throw new Error(`the comment of move ${number} ${what}`);
  }
  return `{${comment.replace(/[\\{}]/g, "\\$&")}}`;
}

/** The pieces in lines of `WIDTH` characters, where they are not longer themselves. */
function joined(parts) {
  const lines = [];
  const lengthOf = (text) => [...text].length;
  for (let piece of parts) {
    const [head] = piece.split("\n", 1);
    if (lines.length && lengthOf(lines.at(-1)) + 1 + lengthOf(head) <= WIDTH) {
      piece = `${lines.pop()} ${piece}`;
    }
    for (const line of piece.split("\n")) lines.push(line);
  }
  return lines.join("\n");
}

/** The beginning of a text for a message, control characters escaped. */
function shown(value) {
  const text = JSON.stringify(String(value).slice(0, 60));
  return text.replace(/[\x7f-\x9f\u2028\u2029]/g, "?");
}
