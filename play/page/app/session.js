/**
 * The state at the board: the game tree, the node on view, the live node, at which the game
 * continues, and the seats. Agents move by themselves at the live node.
 */

import { newGameId } from "./games.js";
import { seatJob } from "./seats.js";

const PACE = 350; // least ms for an agent's move
const WATCHING_PACE = 800; // the same if two agents play

const wait = (time) => new Promise((resolve) => setTimeout(resolve, time));

export class Session {
  #thinker;
  #tell;
  #agent = null; // the move on which an agent works
  #taken = []; // the states before moves were taken back

  /**
   * @param {import("./thread.js").Thread} thinker the thread of worker.js.
   * @param {object} tell
   * @param {() => void} tell.changed
   * @param {() => void} tell.thinking an agent has made progress.
   * @param {(node: object) => void} tell.played after a move.
   * @param {() => void} tell.ended the game in play is over.
   * @param {(text: string) => void} tell.failed an agent could not move.
   */
  constructor(thinker, tell) {
    this.#thinker = thinker;
    this.#tell = tell;
    this.id = null;
    this.board = null;
    this.seats = [];
    this.headers = null;
    this.view = null;
    this.live = null;
    this.fromStart = true;
    this.resigned = null;
    this.illegal = null;
    this.paused = false;
    this.studying = false;
    this.isHeld = false; // nobody moves: a guided game explains something
  }

  /**
   * Go to another game, or to another state of it.
   * @param {object} board `{game, variant, table, levels}`
   * @param {object} state
   * @param {object[]} state.seats the seats of both players.
   * @param {object} [state.node] node at which play continues.
   * @param {object} [state.view] node on view.
   * @param {boolean} [state.studying] nobody plays: both sides may be moved, and no agent moves.
   * @param {number | null} [state.resigned] the player who has resigned at `node`, or lost there.
   * @param {string | null} [state.illegal] the illegal action that lost it; null: a resignation.
   * @param {object | null} [state.headers] headers of the record from which the game was read,
   *   such as `players` and `date`; null for a game that began here.
   * @param {string} [state.id] the game's name among the kept games.
   * @param {boolean} [state.isKept] whether the browser keeps the game.
   * @param {boolean} [state.fromStart] whether play began at the start, not at a later position.
   */
  begin(
    board,
    {
      seats,
      node = board.table.root,
      view = node,
      studying = false,
      resigned = null,
      illegal = null,
      headers = null,
      id = newGameId(),
      isKept = !studying,
      fromStart = node === board.table.root && !board.table.position,
    },
  ) {
    if (!studying) node.promote();
    this.id = id;
    this.isKept = isKept;
    this.board = board;
    this.seats = seats;
    this.headers = headers;
    this.view = view;
    this.live = node;
    this.fromStart = fromStart;
    this.resigned = resigned;
    this.illegal = illegal;
    this.paused = false;
    this.studying = studying;
    this.#taken = [];
    this.#change();
  }

  get table() {
    return this.board.table;
  }

  /** Whether nobody has to move: the game is studied, over, or resigned. */
  get isStudy() {
    return this.studying || this.resigned !== null || this.live.isOver;
  }

  /** Whether the browser may keep the game: any but a guided one. */
  get mayBeKept() {
    return this.seats.every(({ kind }) => kind !== "guide");
  }

  /** The work of the agent, `{node, seat, stop, simulations}`, or null. */
  get agent() {
    return this.#agent;
  }

  get hasAgents() {
    return this.seats.some((seat) => seat.kind !== "person");
  }

  /** The only player who is a person, or null. */
  get person() {
    const persons = [0, 1].filter((player) => this.seats[player].kind === "person");
    return persons.length === 1 ? persons[0] : null;
  }

  /** Whether a person may move in the position on view. */
  get mayPlay() {
    if (this.isHeld) return false;
    if (this.view.isOver || (this.resigned !== null && this.view === this.live)) return false;
    return this.isStudy || this.seats[this.view.mover].kind === "person";
  }

  play(action) {
    const inStudy = this.isStudy;
    this.isKept = this.mayBeKept;
    this.#taken = [];
    const child = this.table.play(this.view, action);
    this.view = child;
    if (inStudy) this.#tell.played(child);
    else this.#goOn(child);
    this.#change();
  }

  /** Play an action for the mover of the game: an agent's, a guided game's, or the clock's. */
  moveOn(action) {
    this.#taken = [];
    const child = this.table.play(this.live, action);
    if (this.view === this.live) this.view = child;
    this.#goOn(child);
    this.#change();
  }

  look(node) {
    this.view = node;
    this.#change();
  }

  /** The node before a person's last move; in a studied game that before the one on view; or null. */
  get takeBackTo() {
    if (this.studying) return this.view.parent;
    let node = this.live.parent;
    while (node && this.seats[node.mover].kind !== "person") node = node.parent;
    return node;
  }

  takeBack() {
    const to = this.takeBackTo;
    const from = this.studying ? this.view : this.live;
    const taken = from.path.find((node) => node.parent === to);
    const { view, live, resigned } = this;
    this.#taken.push({ node: taken, place: to.children.indexOf(taken), view, live, resigned });
    if (this.view.isWithin(taken)) this.view = to;
    if (this.live.isWithin(taken)) {
      this.live = to;
      this.resigned = null;
    }
    taken.remove();
    this.#change();
  }

  get mayRedo() {
    const last = this.#taken.at(-1);
    return last !== undefined && last.node.parent === (this.studying ? this.view : this.live);
  }

  /** Restore the moves that were taken back last. */
  redo() {
    const { node, place, view, live, resigned } = this.#taken.pop();
    node.parent.children.splice(place, 0, node);
    Object.assign(this, { view, live, resigned });
    this.#change();
  }

  /** The winner of the game, or null: it is drawn, or goes on. */
  get winner() {
    if (this.resigned !== null) return 1 - this.resigned;
    return [1, 2].includes(this.live.outcome) ? this.live.outcome - 1 : null;
  }

  get mayResign() {
    return !this.isStudy && this.live.ply > 0 && this.seats.some((seat) => seat.kind === "person");
  }

  resign() {
    this.resigned = this.person ?? this.live.mover;
    this.illegal = null;
    this.view = this.live;
    this.#tell.ended();
    this.#change();
  }

  setPaused(paused) {
    this.paused = paused;
    this.#change();
  }

  /** Continue the game at a node; its line becomes the main line, whose result a record has. */
  #goOn(node) {
    node.promote();
    this.live = node;
    this.#tell.played(node);
    if (node.isOver) this.#tell.ended();
  }

  #change() {
    this.#drive();
    this.#tell.changed();
  }

  /** Start the agent that is to move, and stop any other. */
  #drive() {
    const node = this.live;
    const seat = this.seats[node.mover];
    const due = !this.isStudy && !this.paused && !["person", "guide"].includes(seat.kind);
    if (this.#agent && (!due || this.#agent.node !== node || this.#agent.seat !== seat)) {
      this.#agent.stop.abort();
      this.#agent = null;
    }
    if (due && !this.#agent) this.#move(node, seat);
  }

  async #move(node, seat) {
    const agent = { node, seat, stop: new AbortController(), simulations: 0 };
    this.#agent = agent;
    const pace = wait(this.seats.includes(seat) && this.person === null ? WATCHING_PACE : PACE);
    let action;
    try {
      action = await this.#choose(agent);
      await pace;
    } catch (error) {
      if (this.#agent !== agent) return;
      this.#agent = null;
      this.paused = true;
      this.#tell.failed(`The agent cannot move: ${error.message}`);
      this.#change();
      return;
    }
    if (this.#agent !== agent) return;
    this.#agent = null;
    this.moveOn(action);
  }

  async #choose(agent) {
    const { node, seat, stop } = agent;
    if (seat.kind === "random") {
      const legal = this.table.legal(node);
      return legal[Math.floor(Math.random() * legal.length)].action;
    }
    const found = await this.#thinker.run(
      { type: "search", ...this.table.way(node), ...seatJob(seat, this.board.levels) },
      {
        signal: stop.signal,
        onReport: ({ simulations }) => {
          agent.simulations = simulations;
          if (this.#agent === agent) this.#tell.thinking();
        },
      },
    );
    return found?.action;
  }
}
