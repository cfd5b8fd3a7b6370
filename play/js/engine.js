/**
 * Plays and searches a game of ludarium outside Python, from a module that
 * `python -m ludarium.play.build` has made. Runs in a page, in a worker and in Node; needs no library.
 *
 *     const engine = await Engine.load("corso.wasm");
 *     engine.useNetwork(await (await fetch("corso.network")).arrayBuffer());
 *     const game = engine.newGame();
 *     game.play(game.legalActions[0]);
 *     const result = await game.search.run({ simulations: 128 });
 *     game.play(result.action);
 *
 * Actions, planes and results are numbered and laid out as in Python; see docs/guide/wasm.md.
 */

const SECTION = "ludarium";
export const FORMAT = 4; // format of the modules that these files read

const NETWORK = "ludarium network"; // the first bytes of a network's file
const NETWORK_FORMAT = 2;
const NOT_FINITE = "the network's answers are not finite numbers, so it cannot play";
const ROUNDING = 1e-3; // a value may leave its range, -1 to 1, by this much
const PAGE = 65536; // bytes of a step in which a module's memory grows
const SLICE = 8; // ms that a search by the engine's network runs, about, between two calls of onProgress

/** The state of a game: the values of `game.outcome`. */
export const Outcome = Object.freeze({
  ONGOING: 0,
  PLAYER_0_WINS: 1,
  PLAYER_1_WINS: 2,
  DRAW: 3,
  TRUNCATED: 4,
});

/** The largest value of each parameter of a level. */
const LEVEL_PARAMS = {
  simulations: Infinity,
  temperature: 1000,
  max_value_loss: 1000,
  logit_noise: 1000,
  win_detection_prob: 1,
};

const ARRAYS = {
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float32: Float32Array,
  float64: Float64Array,
};

const count = (shape) => shape.reduce((product, size) => product * size, 1);

/** A compiled module: any number of games can be played with it. */
export class Engine {
  #network = null;

  /**
   * @param {WebAssembly.Module} module
   * @throws {Error} it is not a module of ludarium, or has another format.
   */
  constructor(module) {
    this.module = module;
    /** The module's manifest; see docs/guide/wasm.md. */
    this.manifest = manifestOf(module);
    if (this.manifest === null) {
      throw new Error("this is not a module of ludarium: it has no manifest");
    }
    if (this.manifest.format !== FORMAT) {
      throw new Error(`the module has format ${this.manifest.format}; this file reads ${FORMAT}`);
    }
  }

  /**
   * @param {string | URL | Response | BufferSource | WebAssembly.Module} source an address to fetch,
   *   a response, the bytes of a module (as read from a file in Node), or a module that
   *   another thread has sent.
   * @returns {Promise<Engine>} rejects with an Error if it cannot be fetched, or is not such a module.
   */
  static async load(source) {
    return new Engine(await compiled(source));
  }

  /**
   * Set the network for searches of the games that are made from now on.
   * @param {ArrayBuffer | ArrayBufferView | null} content a network's file; null for none.
   * @throws {Error} it is not a network's file, is damaged, or is for another game or version.
   */
  useNetwork(content) {
    this.#network = content === null ? null : readNetwork(content, this.manifest);
  }

  /** A game at its start, or elsewhere, with its own memory; see `Game.start` for the arguments. */
  newGame(seed = 0, from = null) {
    return new Game(this, this.#network, seed, from);
  }
}

/** A game in play, and its search. */
export class Game {
  #memory;
  #functions;
  #state; // bytes of the position's record
  #past = []; // copies of earlier records
  #actions = [];
  #legal = null;
  #seed = 0;

  /** Called by `Engine.newGame`. */
  constructor(engine, network, seed = 0, from = null) {
    this.engine = engine;
    this.manifest = engine.manifest;
    const { exports } = new WebAssembly.Instance(engine.module);
    if (network) writeNetwork(network, exports);
    this.#functions = exports;
    this.#memory = new Memory(exports, this.manifest.arrays);
    this.#state = this.#memory.bytes("game_states");
    this.search = new Search(this, this.#memory, exports, network !== null);
    this.start(seed, from);
  }

  /** Number of actions. */
  get numActions() {
    return this.manifest.description.actions.names.length;
  }

  /** Size of an observation: [planes, height, width] or [features]. */
  get observationShape() {
    return this.manifest.description.observation.shape;
  }

  /**
   * Start over. The seed, a whole number from 0 to 2**53 - 1, matters where the start is random,
   * and then gives the same start as in Python; it seeds `randomAction` and `randomGames`
   * too. `from` is another start: the text of a position, see docs/guide/positions.md; or, in a game
   * that begins with a diagram, an array that tells for each place whether it has the first letter,
   * see `Diagram` of Python's scenes; it is not checked.
   * @throws {RangeError} the seed is out of range; nothing changes.
   * @throws {Error} the text is no position of this game: the message says why; nothing changes.
   */
  start(seed = 0, from = null) {
    checkWhole("seed", seed, 0, Number.MAX_SAFE_INTEGER);
    if (typeof from === "string") this.#read(from);
    this.#functions.game_seed(seed);
    if (typeof from !== "string") this.#functions.game_start();
    if (Array.isArray(from)) {
      const places = from.reduceRight((bits, isFirst) => 2 * bits + Number(isFirst), 0);
      this.#functions.game_set_up(places);
    }
    this.#seed = seed;
    this.#past = [];
    this.#actions = [];
    this.#legal = null;
  }

  /** Replace the position by the one of a text. */
  #read(text) {
    const room = this.#memory.view("game_said", "text");
    const signs = Array.from(text.replace(/\s/g, " "), (sign) => {
      const code = sign.charCodeAt(0);
      return code < 128 ? code : 63; // a question mark, as in Python
    });
    room.set(signs.slice(0, room.length));
    this.#memory.view("game_said", "length")[0] = signs.length;
    if (this.#functions.game_read_text() < 0) {
      const what = text.length > 60 ? `${text.slice(0, 57)}...` : text;
      const { game } = this.manifest.description;
      throw new Error(`“${what}” is no position of ${game}: ${this.#said("message", "told")}`);
    }
  }

  #said(text, length) {
    const signs = this.#memory.view("game_said", text);
    const { [0]: end } = this.#memory.view("game_said", length);
    return new TextDecoder().decode(Uint8Array.from(signs.subarray(0, end)));
  }

  /** The position as a line of text, see docs/guide/positions.md; empty if the game has none. */
  get text() {
    return this.#functions.game_write_text() ? this.#said("text", "length") : "";
  }

  /**
   * How a position's text has the board, for editors: `letters` of what a cell holds, the first one of an
   * empty cell; the `widths` of the rows from the top, and the `borders` between them. Null if the
   * game's positions have no text.
   */
  get textForm() {
    const field = (name) => this.#memory.view("game_text_tables", name);
    const signs = (name) => String.fromCharCode(...field(name));
    if (!this.text) return null;
    return { letters: signs("letters"), widths: [...field("width")], borders: signs("borders").slice(0, -1) };
  }

  /** The seed that the game started with. */
  get seed() {
    return this.#seed;
  }

  /** The actions played so far. */
  get actions() {
    return [...this.#actions];
  }

  /** Actions played since the start of the game. */
  get ply() {
    return this.field("ply");
  }

  /** Who is to move, 0 or 1; without meaning when the game is over. */
  get mover() {
    return this.field("mover");
  }

  /** The state of the game, see `Outcome`. */
  get outcome() {
    return this.field("outcome");
  }

  /** Whether the game has ended. */
  get isOver() {
    return this.outcome !== Outcome.ONGOING;
  }

  /** Final rewards of the two players, zeros while the game goes on. */
  get rewards() {
    if (this.outcome === Outcome.PLAYER_0_WINS) return [1, -1];
    if (this.outcome === Outcome.PLAYER_1_WINS) return [-1, 1];
    return [0, 0];
  }

  /** Player 0's lead in points; in a game without points, what its rules tell of who is ahead. */
  get score() {
    return this.#functions.game_score();
  }

  /**
   * A field of the position's record, by its name in the rules: a number, a BigInt if it has 64
   * bits, or a copy of its array.
   */
  field(name) {
    return this.#memory.field("game_states", name);
  }

  /** A copy of the position's record: the same bytes as in Python. */
  get record() {
    return this.#state.slice();
  }

  /** Int8Array by action, 1 if it is legal: a copy. */
  get mask() {
    return this.#memory.array("game_mask").slice();
  }

  /** Numbers of the legal actions, ascending; none when the game is over. */
  get legalActions() {
    if (this.#legal === null) {
      this.#legal = [];
      this.#memory.array("game_mask").forEach((is, action) => is && this.#legal.push(action));
    }
    return [...this.#legal];
  }

  /** Whether an action is legal. */
  isLegal(action) {
    return this.#memory.array("game_mask")[action] === 1;
  }

  /**
   * Play an action.
   * @returns {number} the outcome.
   * @throws {RangeError} it is not legal; the position is unchanged.
   */
  play(action) {
    if (!this.isLegal(action)) {
      const name = this.manifest.description.actions.names[action];
      throw new RangeError(
        name === undefined
          ? `action ${action} is out of range; actions are 0 to ${this.numActions - 1}`
          : `action ${action} (${name}) is not legal${this.isOver ? ": the game is over" : ""}`,
      );
    }
    this.#past.push(this.#state.slice());
    this.#functions.game_play(action);
    this.#actions.push(action);
    this.#legal = null;
    return this.outcome;
  }

  /** Take the last action back; return it, or undefined if there is none. */
  undo() {
    const action = this.#actions.pop();
    if (action !== undefined) this.#show(this.#past.pop());
    return action;
  }

  /** The state of the game, for `restore`: plain data that can be sent to a worker. */
  save() {
    const states = [...this.#past, this.#state].map((state) => state.slice());
    return { seed: this.#seed, actions: [...this.#actions], states };
  }

  /**
   * Restore a game from `save` of the same module.
   * @throws {RangeError} its positions do not fit its actions, or this module; nothing changes.
   */
  restore({ seed, actions, states }) {
    const fits = (state) => state.length === this.#state.length;
    if (states.length !== actions.length + 1 || !states.every(fits)) {
      throw new RangeError(`this was not saved by a game of ${this.manifest.name}`);
    }
    this.#seed = seed;
    this.#actions = [...actions];
    this.#past = states.slice(0, -1).map((state) => state.slice());
    this.#show(states[actions.length]);
  }

  /**
   * A player's observation.
   * @param {object} [view]
   * @param {0 | 1} [view.player] default: the mover.
   * @returns {Float32Array} of `observationShape`.
   */
  observation({ player = this.mover } = {}) {
    checkWhole("player", player, 0, 1);
    this.#functions.game_observe(player);
    return this.#memory.array("game_planes").slice();
  }

  /**
   * The picture and the facts of the position, by numbers that the scene (NAME.scene.json) explains.
   * @returns {{shown: Int32Array, task: number, roles: number[], points: number[]}} the number that
   *   each slot shows, the mover's task, and each player's role and points.
   */
  view() {
    const last = this.#actions.length ? this.#actions[this.#actions.length - 1] : -1;
    if (last >= 0) this.#memory.bytes("game_before").set(this.#past[this.#past.length - 1]);
    this.#functions.game_view(last);
    const [task, role0, role1, points0, points1] = this.#memory.array("game_facts");
    const shown = this.#memory.array("game_shown").slice();
    return { shown, task, roles: [role0, role1], points: [points0, points1] };
  }

  /** Number of the text of an action, among the `words` of the scene. */
  word(action) {
    checkWhole("action", action, 0, this.numActions - 1);
    return this.#functions.game_word(action);
  }

  /**
   * The reason why an action is not legal, as the end of a sentence.
   * @param {number} action
   * @param {string[]} reasons the scene's reasons.
   * @returns {string}
   */
  reason(action, reasons) {
    checkWhole("action", action, 0, this.numActions - 1);
    const number = this.#functions.game_reason(action);
    const { names } = this.manifest.description.actions;
    const told = [names[action], names[Math.floor(number / reasons.length)]];
    return reasons[number % reasons.length].replace(/\{([01])\}/g, (_, which) => told[which]);
  }

  /** The pose of the mover's piece in hand after a quarter turn (0) or a flip (1), by number. */
  nextPose(pose, way) {
    checkWhole("way", way, 0, 1);
    return this.#functions.game_next_pose(pose, way);
  }

  /**
   * What each player could do at once, if it were their turn.
   * @returns {{actions: Int32Array[], cells: Int32Array[], coversOpponent: boolean}} by player: for each
   *   action -1 if it wins, else on how many cells it takes something, as the game counts it, and 0
   *   if it is not legal; for each cell how many actions take something there. `coversOpponent` tells
   *   whether this covers the player who is not to move: sometimes nobody can pass.
   */
  threats() {
    const coversOpponent = this.#functions.game_threats() > 0;
    const byPlayer = (name) => {
      const all = this.#memory.array(name);
      return [all.slice(0, all.length / 2), all.slice(all.length / 2)];
    };
    return { actions: byPlayer("game_threat_actions"), cells: byPlayer("game_threat_cells"), coversOpponent };
  }

  /**
   * The expected owner of each cell, by random games from here: Float32Array by cell, from 1
   * (player 0) to -1; all 0 if cells have no owners.
   */
  ownership({ playouts = 200, seed = 0 } = {}) {
    checkWhole("playouts", playouts, 1, 1_000_000);
    checkWhole("seed", seed, 0, Number.MAX_SAFE_INTEGER);
    this.#functions.game_ownership(seed, playouts);
    return Float32Array.from(this.#memory.array("game_owner_sums"), (sum) => sum / playouts);
  }

  /** A legal action drawn uniformly, or -1 when the game is over. */
  randomAction() {
    return this.#functions.game_random_action();
  }

  /**
   * Play random games from the start, fast, and return to this position; to measure and compare.
   * @returns {{plies: number, outcomes: number[]}} plies in all, and games by outcome.
   */
  randomGames(games) {
    const state = this.#state.slice();
    const plies = this.#functions.game_random_games(games);
    const outcomes = Array.from(this.#memory.array("game_counts"), Number);
    this.#show(state);
    return { plies, outcomes };
  }

  #show(state) {
    this.#state.set(state);
    this.#functions.game_show();
    this.#legal = null;
  }
}

/**
 * A search from a game's position: Gumbel AlphaZero or PUCT, as in `ludarium.training.search`.
 * There is one for each game; its memory, and so the largest search, is fixed when the module is
 * built.
 */
export class Search {
  #game;
  #memory;
  #functions;
  #running = false;
  #begun = false;
  #slice = 1; // answers of the engine's network before the next call of onProgress
  #answerer = null; // the `evaluate` that gave the cached answers; null: the engine's network
  #isCanonical = true; // the frame of these answers

  /** Called by `Game`. */
  constructor(game, memory, functions, hasNetwork) {
    this.#game = game;
    this.#memory = memory;
    this.#functions = functions;
    /** Whether the engine had a network when the game was made. */
    this.hasNetwork = hasNetwork;
  }

  /** Most simulations and considered actions, and megabytes of cached answers. */
  get limits() {
    return this.#game.manifest.search.limits;
  }

  /** The default settings of `run`. */
  get defaults() {
    const { options } = this.#game.manifest.search;
    return Object.fromEntries(Object.entries(options).map(([name, each]) => [name, each.default]));
  }

  /** Seed the noise, and what PUCT draws, like the `seed` of a `BatchSearch` of one position in Python. */
  seed(seed) {
    checkWhole("seed", seed, 0, Number.MAX_SAFE_INTEGER);
    this.#functions.search_seed(seed);
  }

  /** Empty the cache of answers; a search by another network than the last does so itself. */
  forget() {
    this.#functions.search_forget();
  }

  /**
   * The answer of the engine's network for the game's position, for its mover.
   * @returns {{logits: Float32Array, wdl: Float32Array, score: number}} a logit for each action; the
   *   probabilities of a win, a draw and a loss; the expected final lead divided by the largest.
   * @throws {Error} there is no network, its answer is not finite, or a search is running.
   */
  evaluate() {
    this.#check();
    if (!this.#functions.network_evaluate()) throw new Error(NOT_FINITE);
    return {
      logits: this.#memory.array("search_evaluation_logits").slice(),
      wdl: this.#memory.array("search_evaluation_wdl").slice(),
      score: this.#memory.array("search_evaluation_score")[0],
    };
  }

  /**
   * Search the game's position, by the engine's network or another. The game may be played on while
   * the promise is pending.
   *
   * @param {object} [settings] replace the `defaults`, by the names of SearchSettings:
   *   simulations, noise, ...; `algorithm` is "gumbel" or "puct".
   * @param {object} [run]
   * @param {(observation: Float32Array, shape: number[]) =>
   *   {logits: ArrayLike<number>, wdl: ArrayLike<number>} | Promise<object>} [run.evaluate] a custom
   *   network: takes the mover's observation and returns the same as `evaluate` above; the score may
   *   be left out if the setting `score` is 0. The observation is a view of the module's memory, so
   *   read it at once.
   * @param {boolean} [run.canonical] whether `evaluate` sees the canonical frame and numbers actions
   *   in it, as the engine's network always does; default: the board's own frame.
   * @param {AbortSignal} [run.signal] ends the search early, with the results so far; the
   *   network is asked at least once.
   * @param {(simulations: number) => any} [run.onProgress] called every few milliseconds, or after
   *   every answer of `evaluate`. If it returns a promise, the search waits for it, so that the
   *   signal or other tasks of its thread have a chance.
   * @param {ArrayLike<number>} [run.noise] root noise for each action, which Gumbel adds to the
   *   logits if the setting `noise` is 0; nothing else uses it.
   * @returns {Promise<object>} the results, see `results`, and the number of `evaluations`.
   * @throws {RangeError} a setting is unknown, out of range, or does not fit the memory, or the noise or an answer
   *   of `evaluate` has the wrong form.
   * @throws {Error} the game is over, a search is running, there is no network, or its answers are
   *   not finite.
   */
  async run(settings = {}, { noise, ...run } = {}) {
    this.#check(run.evaluate);
    this.#write(settings);
    const room = this.#memory.view("search_tree_roots", "noise");
    if (noise && noise.length !== room.length) {
      throw new RangeError(`the noise is of ${noise.length} actions, not ${room.length}`);
    }
    room.fill(0);
    if (noise) room.set(noise);
    return this.#go((canonical) => this.#functions.search_begin(canonical), run);
  }

  /**
   * Search and choose a move like a level of strength; see docs/guide/levels.md.
   * @param {object} params the level's parameters, see levels.js.
   * @param {number} seed a whole number from 0 to 2**53 - 1, for everything that is drawn: the same
   *   seed gives the same move everywhere.
   * @param {object} [run] evaluate, canonical, signal and onProgress, as for `run`.
   * @returns {Promise<object>} the results, with the level's `action` instead of the best one.
   * @throws {RangeError | Error} as `run`.
   */
  async playLevel(params, seed, run = {}) {
    this.#check(run.evaluate);
    checkWhole("simulations", params.simulations, 1, this.limits.simulations);
    checkWhole("seed", seed, 0, Number.MAX_SAFE_INTEGER);
    for (const [name, most] of Object.entries(LEVEL_PARAMS)) {
      const isInRange = Number.isFinite(params[name]) && params[name] >= 0 && params[name] <= most;
      if (!isInRange) throw new RangeError(`the parameter ${name} is ${params[name]}, not 0 to ${most}`);
      this.#memory.view("search_params", name)[0] = params[name];
    }
    const found = await this.#go((canonical) => this.#functions.level_begin(seed, canonical), run);
    return { ...found, action: this.#functions.level_choose() };
  }

  /** Begin a search and run it to its end; return the results. */
  async #go(begin, { evaluate = null, canonical = false, signal, onProgress }) {
    const isCanonical = evaluate === null || Boolean(canonical);
    if (this.#game.isOver) throw new Error("there is nothing to search in a finished game");
    if (evaluate !== this.#answerer || isCanonical !== this.#isCanonical) this.forget();
    this.#answerer = evaluate;
    this.#isCanonical = isCanonical;
    if (begin(Number(isCanonical)) < 0) throw new RangeError("the search cannot begin");
    this.#running = true;
    this.#begun = false;
    let evaluations = 0;
    try {
      for (let waits = true; waits && !(this.#begun && signal?.aborted); ) {
        if (evaluate) {
          let answer = evaluate(this.#memory.array("search_planes"), this.#game.observationShape);
          if (typeof answer?.then === "function") answer = await answer;
          this.#take(answer);
          evaluations += 1;
          waits = this.#functions.search_advance() > 0;
        } else {
          const asked = this.#askNetwork();
          evaluations += asked.count;
          waits = asked.waits;
        }
        this.#begun = true;
        const pause = onProgress?.(this.simulations);
        if (typeof pause?.then === "function") await pause;
      }
    } finally {
      this.#running = false;
    }
    return { ...this.results(), evaluations };
  }

  /** Continue a search by the engine's network for about `SLICE` ms. */
  #askNetwork() {
    const began = performance.now();
    const count = this.#functions.search_run(this.#slice);
    if (count < 0) throw new Error(NOT_FINITE);
    const waits = count === this.#slice;
    const time = performance.now() - began;
    if (time > SLICE) this.#slice = Math.max(1, this.#slice >> 1);
    else if (waits && time < SLICE / 2) this.#slice *= 2;
    return { count, waits };
  }

  #check(evaluate = null) {
    if (this.#running) throw new Error("a search of this game is running; wait for its end");
    if (evaluate === null && !this.hasNetwork) {
      throw new Error("the game has no network: call useNetwork of its engine, then make a new game");
    }
  }

  /** How many simulations the last search has made. */
  get simulations() {
    return this.#memory.field("search_tree_roots", "simulation");
  }

  /**
   * The results of the last search, or the results so far of a running one, which is not changed.
   * @returns {{action: number, value: number, proven: boolean, policy: Float32Array,
   *   prior: Float32Array, visits: Int32Array, actionValues: Float32Array, variation: number[],
   *   simulations: number}} the action to play; the value for the mover, and whether it is exact; by
   *   action the policy, the network's own, the visits, and the values for the mover, NaN if the
   *   action was not tried; the actions of the principal variation; the number of simulations.
   */
  results() {
    if (!this.#begun) throw new Error("no search has had an answer of the network yet");
    const action = this.#functions.search_results();
    const length = this.#functions.search_variation();
    const lower = this.#memory.field("search_tree_nodes", "lower");
    return {
      action,
      value: this.#memory.array("search_root_value")[0],
      proven: lower === this.#memory.field("search_tree_nodes", "upper"),
      policy: this.#memory.field("search_tree_roots", "policy"),
      prior: this.#memory.array("search_priors").slice(),
      visits: this.#memory.array("search_visits").slice(),
      actionValues: this.#memory.array("search_action_values").slice(),
      variation: Array.from(this.#memory.array("search_line").subarray(0, length)),
      simulations: this.simulations,
    };
  }

  #write(settings) {
    const { options, limits } = this.#game.manifest.search;
    for (const name of Object.keys(settings)) {
      if (!(name in options)) {
        throw new RangeError(`no setting is called ${name}; there are ${Object.keys(options)}`);
      }
    }
    for (const [name, option] of Object.entries(options)) {
      const value = settings[name] ?? option.default;
      if (name in limits) checkWhole(name, value, 1, limits[name]);
      const number = numberOf(value, option);
      if (number === null) {
        throw new RangeError(`the setting ${name} is ${value}; accepted: ${option.accepted}`);
      }
      this.#memory.view("search_settings", name)[0] = number;
    }
    const { algorithm, noise } = settings;
    if (algorithm === "puct" && noise > 1) throw new RangeError(`noise is ${noise}; with puct it is at most 1`);
  }

  #take({ logits, wdl, score = NaN }) {
    const room = this.#memory.array("search_evaluation_logits");
    if (logits?.length !== room.length) {
      throw new RangeError(`the network gave ${logits?.length} logits for ${room.length} actions`);
    }
    if (wdl?.length !== 3 || !(Math.abs(wdl[0] - wdl[2]) <= 1 + ROUNDING)) {
      throw new RangeError(`the network gave the probabilities of win, draw and loss ${wdl}`);
    }
    if (this.#memory.view("search_settings", "score")[0] > 0 && !Number.isFinite(score)) {
      throw new RangeError("the network has no score to play for");
    }
    room.set(logits);
    if (!room.every(Number.isFinite)) throw new Error(NOT_FINITE);
    this.#memory.array("search_evaluation_wdl").set(wdl);
    this.#memory.array("search_evaluation_score")[0] = score;
  }
}

/** The number in memory for the value of an option; null if the option does not accept it. */
function numberOf(value, { default: initial, none, choices, whole, ge, gt, le, lt }) {
  if (value === null && initial === null) return none;
  if (choices.length) return choices.includes(value) ? choices.indexOf(value) : null;
  const fits =
    (whole ? Number.isInteger(value) : Number.isFinite(value)) &&
    value >= (ge ?? value) &&
    value <= (le ?? value) &&
    (gt === null || value > gt) &&
    (lt === null || value < lt);
  return fits ? value : null;
}

/** The network in a file that `network_content` of play/wasm/network.py has written. */
function readNetwork(content, { network: layout, description }) {
  const isBytes = typeof content?.byteLength === "number";
  const bytes = isBytes
    ? new Uint8Array(content.buffer ?? content, content.byteOffset ?? 0, content.byteLength)
    : new Uint8Array();
  const text = (start, end) => new TextDecoder().decode(bytes.subarray(start, end));
  const start = NETWORK.length + 8;
  if (bytes.length < start || text(0, NETWORK.length) !== NETWORK) {
    throw new Error("this is not a network's file");
  }
  const number = (place) => new DataView(bytes.buffer, bytes.byteOffset).getUint32(place, true);
  if (number(start - 8) !== crc32(bytes.subarray(start - 4))) {
    throw new Error("the network's file is damaged, or of an earlier version: get or build it anew");
  }
  const end = start + number(start - 4);
  const about = JSON.parse(text(start, end));
  if (about.format !== NETWORK_FORMAT || about.layout !== layout) {
    throw new Error(
      `the network is for ${about.game}, not for this module of ${description.game}, ` +
        "or one of them is of another version: build both anew",
    );
  }
  return { ...about, content: bytes.subarray(end) };
}

/** The change of a CRC-32 by each byte. */
const REMAINDERS = Uint32Array.from({ length: 256 }, (_, remainder) => {
  for (let bit = 0; bit < 8; bit += 1) remainder = (remainder >>> 1) ^ (-(remainder & 1) & 0xedb88320);
  return remainder;
});

/** The checksum of bytes, as in zlib, PNG and others. */
function crc32(bytes) {
  let sum = -1;
  for (let place = 0; place < bytes.length; place += 1) {
    sum = (sum >>> 8) ^ REMAINDERS[(sum ^ bytes[place]) & 255];
  }
  return ~sum >>> 0;
}

/** Put a network behind the module's data in its memory. */
function writeNetwork({ places, bytes, parts, content }, { memory, network_places: found }) {
  const base = memory.grow(Math.ceil(bytes / PAGE)) * PAGE;
  const addresses = new BigInt64Array(memory.buffer, found.value, 2 * places.length);
  addresses.set(places.flatMap(([place, length]) => [BigInt(base + place), BigInt(length)]));
  let start = 0;
  for (const [number, size, isSmall] of parts) {
    const part = content.subarray(start, start + size);
    const address = base + places[number][0];
    if (isSmall) {
      const numbers = new Int8Array(part.buffer, part.byteOffset, size);
      new Float32Array(memory.buffer, address, size).set(numbers);
    } else new Uint8Array(memory.buffer, address, size).set(part);
    start += size;
  }
}

// For the files beside this one.

/** The module from a source of `Engine.load`. */
export async function compiled(source) {
  if (source instanceof WebAssembly.Module) return source;
  if (typeof source === "string" || source instanceof URL) source = await fetch(source);
  if (typeof Response !== "undefined" && source instanceof Response) {
    if (!source.ok) throw new Error(`cannot fetch ${source.url}: ${source.status}`);
    // Not compileStreaming, which refuses files that a simple server sends without a content type.
    source = await source.arrayBuffer();
  }
  return WebAssembly.compile(source);
}

/** A module's manifest, or null if it has none. */
export function manifestOf(module) {
  const sections = WebAssembly.Module.customSections(module, SECTION);
  return sections.length ? JSON.parse(new TextDecoder().decode(sections[0])) : null;
}

/** The arrays in a module's memory, which must not grow afterwards. */
export class Memory {
  #buffer;
  #arrays = new Map();

  constructor(exports, arrays) {
    this.#buffer = exports.memory.buffer;
    for (const [name, about] of Object.entries(arrays)) {
      this.#arrays.set(name, { about, address: exports[name].value, views: new Map() });
    }
  }

  /** An array of numbers, flat. */
  array(name) {
    const entry = this.#arrays.get(name);
    entry.view ??= this.#at(entry.address, entry.about, count(entry.about.shape));
    return entry.view;
  }

  /** The bytes of an array. */
  bytes(name) {
    const { about, address } = this.#arrays.get(name);
    return new Uint8Array(this.#buffer, address, about.bytes * count(about.shape));
  }

  /** A field of the first record of an array, flat. */
  view(name, field) {
    const { about, address, views } = this.#arrays.get(name);
    if (!views.has(field)) {
      const of = about.fields[field];
      if (of === undefined) throw new RangeError(`a position has no field ${field}`);
      views.set(field, this.#at(address + of.offset, of, count(of.shape)));
    }
    return views.get(field);
  }

  /** The value of a field: a number, or a copy of its array. */
  field(name, field) {
    const view = this.view(name, field);
    return this.#arrays.get(name).about.fields[field].shape.length ? view.slice() : view[0];
  }

  #at(address, { type }, length) {
    return new ARRAYS[type](this.#buffer, address, length);
  }
}

function checkWhole(name, value, least, most) {
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new RangeError(`${name} is ${value}; accepted: a whole number from ${least} to ${most}`);
  }
}
