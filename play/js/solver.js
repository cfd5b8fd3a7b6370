/**
 * Exact values of a game's positions outside Python, from a module that the page's build makes with
 * `ludarium.play.wasm.exact`: the value of a position, and of each action in it, with best play.
 * Runs in a worker and in Node.
 *
 *     const solver = await Solver.load("corso.exact.wasm");
 *     const known = await solver.solve(game.record, { time: 5000 });
 *     known.position.outcome; // 1 a win of the mover, 0 a draw, -1 a loss, null not known
 *     known.actions; // [{action, outcome, lead, plies, text}], the best first
 */

import { compiled, FORMAT, manifestOf, Memory } from "./engine.js";

const FIRST_BUDGET = 1 << 14; // positions to search for a question in the first round
const MOST_BUDGET = 1 << 20; // and at most, after doubling: some tenths of a second
const BREATH = 25; // ms of searching between checks for other tasks

const WORDS = { 1: "win", 0: "draw", "-1": "loss" };

export class Solver {
  #memory;
  #functions;
  #about;

  /** Called by `load`. */
  constructor(module, manifest) {
    const { exports } = new WebAssembly.Instance(module);
    this.manifest = manifest;
    this.#about = manifest.solver;
    this.#functions = exports;
    this.#memory = new Memory(exports, manifest.arrays);
    exports.solver_learn();
  }

  /**
   * @param {string | URL | Response | BufferSource | WebAssembly.Module} source see `Engine.load`.
   * @returns {Promise<Solver>}
   * @throws {Error} the module has no exact values, or another format.
   */
  static async load(source) {
    const module = await compiled(source);
    const manifest = manifestOf(module);
    if (manifest?.format !== FORMAT || !manifest.solver) {
      throw new Error("this is not a module with exact values, or one of another format");
    }
    return new Solver(module, manifest);
  }

  /** The source of the values, in words. */
  get source() {
    return this.#about.source;
  }

  /** Positions searched so far; in an analysis of all positions, how many were decided. */
  get nodes() {
    return this.#functions.solver_nodes();
  }

  /**
   * Find the values of a position and of its actions: easy ones first, with growing budgets.
   * @param {Uint8Array} record `game.record` of an unfinished position.
   * @param {object} [run]
   * @param {number} [run.time] most milliseconds, roughly.
   * @param {boolean} [run.leads] find leads too, not only who wins.
   * @param {AbortSignal} [run.signal] ends the search with the results so far.
   * @param {(known: object) => void} [run.onProgress] called now and then with the results so
   *   far.
   * @returns {Promise<object>} `position` and `actions` as above; `isComplete`, whether everything
   *   is known that can be; `nodes`, by how much `nodes` of the solver has grown.
   * @throws {RangeError} the record has another length than those of this game.
   */
  async solve(record, { time = Infinity, leads = true, signal, onProgress = () => {} } = {}) {
    const states = this.#memory.bytes("solver_states");
    if (record.length !== states.length) throw new RangeError("this is a position of another game");
    const began = performance.now();
    const nodes = this.nodes;
    states.set(record);
    this.#functions.solver_begin();
    const found = (isComplete) => ({ ...this.#read(), isComplete, nodes: this.nodes - nodes });
    let breath = began;
    const isOver = async () => {
      if (performance.now() - breath > BREATH) {
        onProgress(found(false));
        await new Promise((resolve) => setTimeout(resolve));
        breath = performance.now();
      }
      return signal?.aborted || performance.now() - began > time;
    };
    const stages = leads && this.#about.told === "lead" ? [0, 1] : [0];
    for (const stage of stages) {
      let open = this.#entries();
      for (let budget = FIRST_BUDGET; open.length; budget = Math.min(2 * budget, MOST_BUDGET)) {
        const left = [];
        for (const entry of open) {
          if (!this.#functions.solver_ask(entry, stage, budget)) left.push(entry);
          if (await isOver()) return found(false);
        }
        open = left;
      }
    }
    return found(stages.length === 2 || this.#about.told !== "lead");
  }

  /** The entries to ask about: the position's, then each legal action's. */
  #entries() {
    const legal = this.#bounds().flatMap(({ isLegal }, action) => (isLegal ? [action] : []));
    return [legal.at(-1), ...legal.slice(0, -1)];
  }

  /** The bounds of each action, and last of the position. */
  #bounds() {
    const { fields, bytes, shape } = this.manifest.arrays.solver_bounds;
    const room = this.#memory.bytes("solver_bounds");
    const view = new DataView(room.buffer, room.byteOffset, room.length);
    return Array.from({ length: shape[0] }, (_, entry) => {
      const at = (name) => view.getInt32(entry * bytes + fields[name].offset, true);
      return { low: at("low"), high: at("high"), isLegal: at("is_legal") === 1 };
    });
  }

  #read() {
    const bounds = this.#bounds();
    const position = this.#answer(bounds.pop());
    const actions = bounds
      .map((bound, action) => ({ action, ...bound }))
      .filter(({ isLegal }) => isLegal)
      .sort((one, other) => other.low - one.low || other.high - one.high)
      .map(({ action, ...bound }) => ({ action, ...this.#answer(bound) }));
    return { position, actions };
  }

  /** The meaning of bounds: who wins, and if they are equal by how much, or how soon. */
  #answer({ low, high }) {
    const outcome = Math.sign(low) === Math.sign(high) ? Math.sign(low) : null;
    const { told, span, most, win } = this.#about;
    let lead = null;
    let plies = null;
    if (outcome !== null && low === high) {
      if (told === "lead") {
        lead = outcome && Math.max(-most, Math.min(most, low - outcome * span));
      }
      if (told === "plies" && outcome) plies = win - Math.abs(low);
    }
    return { outcome, lead, plies, text: words(outcome, lead, plies, [low, high]) };
  }
}

/** A value in words, as in Python. */
function words(outcome, lead, plies, [low, high]) {
  if (outcome === null) {
    if (low === 0) return "draw or win";
    return high === 0 ? "draw or loss" : "not decided";
  }
  if (plies !== null) return `${WORDS[outcome]} in ${plies}`;
  return lead !== null && outcome ? `${WORDS[outcome]} by ${outcome * lead}` : WORDS[outcome];
}
