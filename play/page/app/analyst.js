/** Analyses positions: the one that is looked at, and all of a game in a review. */

import { MOST_SIMULATIONS } from "./seats.js";

const SEEN = { algorithm: "puct" }; // its visits are shares of what is good

/** The value of a node for player 0, from -1 to 1, or null where it is not known. */
export function valueFor0(node) {
  if (node.outcome === 1) return 1;
  if (node.outcome === 2) return -1;
  if (node.isOver) return 0;
  if (!node.found) return null;
  return node.mover === 0 ? node.found.value : -node.found.value;
}

export class Analyst {
  #thinker;
  #session;
  #tell;
  #work = null; // the search of the position that is looked at
  #review = null;

  /**
   * @param {import("./thinker.js").Thinker} thinker
   * @param {import("./session.js").Session} session
   * @param {object} tell
   * @param {() => void} tell.found there is more to show.
   * @param {(text: string) => void} tell.failed
   */
  constructor(thinker, session, tell) {
    this.#thinker = thinker;
    this.#session = session;
    this.#tell = tell;
    this.isOn = false;
    this.simulations = 400;
  }

  get mostSimulations() {
    return MOST_SIMULATIONS;
  }

  get isReviewing() {
    return this.#review !== null;
  }

  /** Done and all positions of the review at work. */
  get progress() {
    return this.#review;
  }

  setOn(isOn) {
    this.isOn = isOn;
    this.update();
  }

  setSimulations(simulations) {
    this.simulations = simulations;
    this.update();
  }

  /** Begin or end the search of the position that is looked at, as is due. */
  update() {
    const node = this.#session.view;
    const idle = this.#session.agent === null && this.#review === null;
    const due =
      this.isOn && idle && this.#session.board.variant.network !== null && this.#lacks(node);
    if (
      this.#work &&
      (!due || this.#work.node !== node || this.#work.simulations !== this.simulations)
    ) {
      this.#work.stop.abort();
      this.#work = null;
    }
    if (due && !this.#work) this.#look(node);
  }

  stopReview() {
    this.#review?.stop.abort();
  }

  /** Analyse every position of the line through the one that is looked at, and judge its moves. */
  async review() {
    const nodes = [this.#session.table.root, ...this.#session.view.end.path];
    const review = { done: 0, all: nodes.length, stop: new AbortController() };
    this.#review = review;
    this.update();
    try {
      for (const node of nodes) {
        if (this.#lacks(node)) await this.#search(node, review.stop);
        if (review.stop.signal.aborted) break;
        review.done += 1;
        judge(node);
        this.#tell.found();
      }
    } catch (error) {
      this.#tell.failed(error.message);
    }
    this.#review = null;
    this.update();
    this.#tell.found();
  }

  #lacks(node) {
    if (node.isOver) return false;
    return !node.found || (node.found.searched ?? 0) < this.simulations;
  }

  async #look(node) {
    const work = { node, simulations: this.simulations, stop: new AbortController() };
    this.#work = work;
    try {
      await this.#search(node, work.stop);
    } catch (error) {
      if (this.#work !== work) return;
      this.isOn = false;
      this.#tell.failed(error.message);
    }
    if (this.#work !== work) return;
    this.#work = null;
    this.#tell.found();
  }

  async #search(node, stop) {
    const { simulations } = this;
    const table = this.#session.table;
    const keep = (found) => {
      if (!node.found || found.simulations >= node.found.simulations) node.found = found;
    };
    const found = await this.#thinker.search(
      {
        seed: table.seed,
        actions: node.actions,
        settings: { ...SEEN, simulations },
        reports: true,
      },
      {
        signal: stop.signal,
        onReport: ({ found: part }) => {
          keep(part);
          this.#tell.found();
        },
      },
    );
    if (found === null) return;
    keep(found);
    // A search may end early, where all is proven: it is complete all the same.
    if (!stop.signal.aborted) node.found.searched = simulations;
  }
}

/** Write on a node what its move lost, for who played it, where that is known. */
function judge(node) {
  if (!node.parent) return;
  const before = valueFor0(node.parent);
  const after = valueFor0(node);
  if (before === null || after === null) return;
  const sign = node.parent.mover === 0 ? 1 : -1;
  const isBest = node.parent.found?.action === node.action;
  node.loss = isBest ? 0 : Math.max(0, sign * (before - after));
}
