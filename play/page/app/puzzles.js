/**
 * Puzzles: positions in which one move alone keeps the win, or the draw. Right answers at the first
 * try make the streak longer. arena/puzzles.py makes and describes them.
 */

import { button, el, recall, remember, selection } from "./dom.js";
import { openDialog } from "./dialogs.js";
import { capital, playerName } from "./panels.js";

/** The bands in words, from the easiest on. */
const BANDS = { easy: "Easy", medium: "Medium", hard: "Hard", expert: "For experts", strongest: "The hardest" };

/** The ids of a game's solved puzzles, by band. */
function solvedOf({ name }) {
  const kept = recall(`puzzles.${name}`) ?? {};
  return Object.fromEntries(Object.keys(BANDS).map((band) => [band, Array.isArray(kept[band]) ? kept[band] : []]));
}

/** The puzzles solved in a row, and the most so far. */
function streak() {
  const kept = recall("streak");
  const [now, most] = [kept?.now, kept?.most].map((each) => (Number.isInteger(each) ? each : 0));
  return { now, most };
}

function inARow({ now, most }) {
  if (most === 0) return "";
  return `${now} in a row${now === most ? ", your best so far" : `; your best is ${most}`}.`;
}

/** What one looks for, in words. */
const aim = ({ value }) => (value === "win" ? "keeps the win" : "keeps the draw");

/** The next puzzle of a band that is not solved, or the next one if all are; the last is followed by the first. */
export function nextPuzzle(all, game, band, after = null) {
  const there = all.filter((each) => each.band === band);
  const from = there.indexOf(after) + 1;
  const inOrder = [...there.slice(from), ...there.slice(0, from)];
  const solved = solvedOf(game)[band];
  return inOrder.find(({ id }) => !solved.includes(id)) ?? inOrder[0];
}

export class Puzzles {
  #panel;
  #session;
  #on;
  #game = null;
  #puzzle = null;
  #node = null; // the puzzle's position
  #isAsking = false;
  #isFirst = true; // whether this is the first try

  /**
   * @param {HTMLElement} panel
   * @param {import("./session.js").Session} session
   * @param {object} on
   * @param {(text: string) => void} on.say
   * @param {(text: string) => void} on.tell show a message.
   * @param {(action: number) => void} on.mark mark a move on the board.
   * @param {(game: object, band: string, after: object) => void} on.next
   * @param {() => void} on.changed the move was told, or the puzzle left: its position stays.
   */
  constructor(panel, session, on) {
    this.#panel = panel;
    this.#session = session;
    this.#on = on;
  }

  get isOn() {
    return this.#puzzle !== null;
  }

  /** Whether a move is asked for. */
  get isAsking() {
    return this.isOn && this.#isAsking;
  }

  /** The address of the puzzle. */
  get fragment() {
    return `#g=${encodeURIComponent(this.#game.name)}&puzzle=${this.#puzzle.id}`;
  }

  /** Ask for the move in a puzzle, whose position is on view. */
  begin(game, puzzle) {
    [this.#game, this.#puzzle, this.#node] = [game, puzzle, this.#session.view];
    [this.#isAsking, this.#isFirst] = [true, true];
    const who = playerName(this.#session, this.#node.mover);
    this.#show(`You are ${who}. Find the only move that ${aim(puzzle)}.`, [
      button("Show the move", () => this.#giveUp()),
      button("Leave", () => this.#leave()),
    ]);
  }

  stop() {
    this.#puzzle = null;
    this.#panel.hidden = true;
  }

  /** Whether a move is the one that is asked for; if not, tell what it does. */
  takes(action) {
    const { table, view } = this.#session;
    if (view !== this.#node) {
      this.#on.tell("The puzzle asks for a move at the end of these moves: go there.");
      return false;
    }
    const { best, value, draws } = this.#puzzle;
    const text = table.text(view, action);
    if (action === table.find(view, best)) return true;
    this.#fail();
    const does = value === "win" && draws.includes(text) ? "only draws" : "loses";
    this.#on.tell(`${capital(text)} ${does} with best play. Try another move.`);
    return false;
  }

  /** Tell that the move was found, which has been played. */
  praise() {
    const { best, band, id } = this.#puzzle;
    this.#session.isKept = false;
    const found = `Well found: ${best} is the only move that ${aim(this.#puzzle)}.`;
    const solved = solvedOf(this.#game);
    if (!solved[band].includes(id)) solved[band].push(id);
    remember(`puzzles.${this.#game.name}`, solved);
    if (this.#isFirst) {
      const { now, most } = streak();
      remember("streak", { now: now + 1, most: Math.max(now + 1, most) });
    }
    this.#end(this.#isFirst ? `${found} ${inARow(streak())}` : found);
  }

  #fail() {
    if (this.#isFirst) remember("streak", { ...streak(), now: 0 });
    this.#isFirst = false;
  }

  #giveUp() {
    this.#fail();
    const session = this.#session;
    if (session.view !== this.#node) session.look(this.#node);
    const { best } = this.#puzzle;
    this.#end(`The only move that ${aim(this.#puzzle)} is ${best}.`);
    this.#on.changed();
    this.#on.mark(session.table.find(this.#node, best));
  }

  #end(text) {
    this.#isAsking = false;
    const [game, puzzle] = [this.#game, this.#puzzle];
    const next = button("Next puzzle", () => this.#on.next(game, puzzle.band, puzzle), { class: "primary" });
    this.#show(text, [next, button("Leave", () => this.#leave())]);
    next.focus({ preventScroll: true });
  }

  #leave() {
    this.stop();
    this.#on.changed();
  }

  #show(text, buttons) {
    this.#panel.hidden = false;
    this.#panel.replaceChildren(
      el("p", {}, el("span", { class: "faint" }, `Puzzle, ${BANDS[this.#puzzle.band].toLowerCase()}. `), text),
      el("div", { class: "row" }, buttons),
    );
    this.#on.say(text);
  }
}

/**
 * Choose puzzles: a game's by difficulty, or moments of one's own games.
 * @param {object[]} games those of the catalog that have puzzles, at least one.
 * @param {string} name the game to begin with.
 * @param {{id: string, title: string, moments: number}[]} own games with moves that lost something.
 * @param {object} on
 * @param {(game: object, band: string) => Promise<void>} on.start
 * @param {(id: string) => Promise<void>} on.retry
 */
export function puzzlesDialog(games, name, own, { start, retry }) {
  const told = el("p", { class: "told", role: "alert" });
  const list = el("ul", { class: "games" });
  const begin = async (work) => {
    told.textContent = "Loading…";
    try {
      await work();
      dialog.close();
    } catch (error) {
      told.textContent = error.message;
    }
  };
  const row = (title, about, text, work) =>
    el(
      "li",
      {},
      el("span", { class: "game" }, el("strong", {}, title), el("span", { class: "faint" }, about)),
      button(text, () => begin(work), { "aria-label": `${text}: ${title}` }),
    );
  const draw = (chosen) => {
    const game = games.find((each) => each.name === chosen) ?? games[0];
    const solved = solvedOf(game);
    const bands = Object.entries(BANDS).filter(([band]) => game.puzzles.bands[band] > 0);
    list.replaceChildren(
      ...bands.map(([band, title]) => {
        const all = game.puzzles.bands[band];
        const done = Math.min(solved[band].length, all);
        return row(title, `${done} of ${all} solved`, done ? "Go on" : "Begin", () => start(game, band));
      }),
    );
    return game.name;
  };
  const entries = games.map((each) => [each.name, each.title]);
  const field = selection({}, entries, draw(name), draw);
  const mine = own.map(({ id, title, moments }) =>
    row(title, `${moments} ${moments === 1 ? "moment" : "moments"}`, "Try", () => retry(id)),
  );
  const dialog = openDialog(
    "Puzzles",
    el("p", {}, `Find the one move that keeps the win, or the draw. ${inARow(streak())}`),
    el("label", { class: "field" }, el("span", {}, "Game"), field),
    list,
    el("h3", {}, "From my own games"),
    mine.length
      ? el("ul", { class: "games" }, mine)
      : el("p", { class: "faint" }, "Moves with which you lost something come here after “What did I do wrong?” at the end of a game."),
    told,
    el("div", { class: "row end" }, button("Close", () => dialog.close())),
  );
  return dialog;
}
