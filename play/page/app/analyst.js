/** Analyses positions: the one on view, and all positions of a game in a review. */

import { exactBest, exactFor0 } from "./exact.js";

const REVIEW_TIME = 3000; // ms for the exact values of a position in a review
const FAILURES = 3; // positions in a row without exact values after which a review asks for no more
const SEEN = { algorithm: "puct" }; // settings of an analysis: PUCT's visits show how good moves are

export const LEAST_LOSS = 0.1; // smaller losses are no mistakes

/** The value of a node for player 0, from -1 to 1, or null if it is not known. */
export function valueFor0(node) {
  if (node.outcome === 1) return 1;
  if (node.outcome === 2) return -1;
  if (node.isOver) return 0;
  const exact = exactFor0(node);
  if (exact !== null) return exact;
  if (!node.found) return null;
  return node.mover === 0 ? node.found.value : -node.found.value;
}

/** The losses of all moves of a tree in order, as `judgeAgain` reads them; null if none is known. */
export function lossesOf(root) {
  const losses = root.all.map(({ loss, isExact }) => (loss === undefined ? null : [loss, isExact]));
  return losses.some(Boolean) ? losses : null;
}

/** Write losses that were kept on the moves of a tree; those of one of another size are ignored. */
export function judgeAgain(root, losses) {
  const nodes = root.all;
  if (!Array.isArray(losses) || losses.length !== nodes.length) return;
  losses.forEach((each, number) => {
    const [loss, isExact] = Array.isArray(each) ? each : [];
    if (Number.isFinite(loss)) Object.assign(nodes[number], { loss, isExact: isExact === true });
  });
}

/** Works on one position at a time, and drops work that is no longer wanted. */
class Look {
  #find;
  #done;
  #failed;
  #work = null;

  /**
   * @param {(node: object, most: number, stop: AbortController) => Promise<void>} find
   * @param {() => void} done called when the work has ended, unless it was dropped.
   * @param {(error: Error) => void} failed called when it has failed, before `done`.
   */
  constructor(find, done, failed) {
    this.#find = find;
    this.#done = done;
    this.#failed = failed;
  }

  get isAtWork() {
    return this.#work !== null;
  }

  /** Work on a node, for `most` seconds or simulations, if that is due. */
  update(node, most, isDue) {
    const work = this.#work;
    if (work && (!isDue || work.node !== node || work.most !== most)) {
      work.stop.abort();
      this.#work = null;
    }
    if (isDue && !this.#work) this.#begin(node, most);
  }

  async #begin(node, most) {
    const work = { node, most, stop: new AbortController() };
    this.#work = work;
    try {
      await this.#find(node, most, work.stop);
    } catch (error) {
      if (this.#work !== work) return;
      this.#failed(error);
    }
    if (this.#work !== work) return;
    this.#work = null;
    this.#done();
  }
}

export class Analyst {
  #thinker;
  #exact;
  #session;
  #tell;
  #search; // search of the position on view
  #solution; // search for its exact values
  #review = null;

  /**
   * @param {import("./thread.js").Thread} thinker the thread of worker.js.
   * @param {import("./exact.js").ExactValues} exact
   * @param {import("./session.js").Session} session
   * @param {object} tell
   * @param {() => void} tell.found there is more to show.
   * @param {(text: string) => void} tell.failed
   */
  constructor(thinker, exact, session, tell) {
    this.#thinker = thinker;
    this.#exact = exact;
    this.#session = session;
    this.#tell = tell;
    this.isOn = false;
    this.simulations = 400;
    this.seconds = 10; // time for the exact values of a position; 0 for none
    this.#search = new Look(
      (node, simulations, stop) => this.#think(node, simulations, stop),
      tell.found,
      (error) => {
        this.isOn = false;
        tell.failed(error.message);
      },
    );
    this.#solution = new Look(
      (node, seconds, { signal }) => this.#solve(node, { time: 1000 * seconds, signal }),
      tell.found,
      (error) => {
        tell.failed(error.message);
        this.seconds = 0;
      },
    );
  }

  /** Whether the present board can be analysed: by a network, or by exact values. */
  get isThere() {
    return this.hasNetwork || this.#exact.isThere;
  }

  get hasNetwork() {
    return this.#session.board.variant.network !== null;
  }

  get hasExact() {
    return this.#exact.isThere;
  }

  /** The source of exact values, in words. */
  get source() {
    return this.#exact.source;
  }

  /** Whether exact values are being computed, for the position on view or for a review. */
  get isSolving() {
    return this.#solution.isAtWork || this.#review?.isSolving === true;
  }

  get isReviewing() {
    return this.#review !== null;
  }

  /** How many of the review's positions are done, and how many there are; null without one. */
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

  setSeconds(seconds) {
    this.seconds = seconds;
    this.update();
  }

  /** Begin or end the searches of the position on view, as is due. */
  update() {
    const node = this.#session.view;
    const idle = this.#session.agent === null && this.#review === null;
    const mayLook = this.isOn && idle;
    const lacksExact = this.hasExact && this.#lacksExact(node, 1000 * this.seconds);
    const lacks = this.hasNetwork && this.#lacks(node);
    this.#solution.update(node, this.seconds, mayLook && lacksExact);
    this.#search.update(node, this.simulations, mayLook && lacks);
  }

  #lacksExact(node, time) {
    return !node.isOver && !node.exact?.isComplete && (node.exact?.time ?? 0) < time;
  }

  #solve(node, run) {
    const { record } = this.#session.table.at(node);
    return this.#exact.find(node, record, { ...run, onFound: () => this.#tell.found() });
  }

  /** What a move has lost, see `judge`; undefined where nothing can tell. */
  async weigh(node) {
    const { signal } = new AbortController();
    const stop = { signal };
    for (const each of [node.parent, node]) {
      if (this.hasNetwork && this.#lacks(each)) await this.#think(each, this.simulations, stop);
    }
    judge(node);
    return node.loss;
  }

  stopReview() {
    this.#review?.stop.abort();
  }

  /** Analyse every position of the line through the position on view, and judge its moves. */
  async review() {
    const nodes = [this.#session.table.root, ...this.#session.view.end.path];
    const review = { done: 0, all: nodes.length, isSolving: true, stop: new AbortController() };
    this.#review = review;
    this.update();
    try {
      if (this.hasExact && this.seconds > 0) await this.#solveBackwards(nodes, review.stop);
      review.isSolving = false;
      for (const node of nodes) {
        if (review.stop.signal.aborted) break;
        if (this.hasNetwork && this.#lacks(node)) {
          await this.#think(node, this.simulations, review.stop);
        }
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

  /** Find exact values from the end of a line backwards, until `FAILURES` in a row are missing. */
  async #solveBackwards(nodes, stop) {
    let failures = 0;
    for (const node of [...nodes].reverse()) {
      if (stop.signal.aborted || failures === FAILURES) return;
      if (node.isOver) continue;
      if (this.#lacksExact(node, REVIEW_TIME)) {
        await this.#solve(node, { time: REVIEW_TIME, leads: false, signal: stop.signal });
      }
      failures = exactBest(node) === null ? failures + 1 : 0;
      judge(node);
      this.#tell.found();
    }
  }

  #lacks(node) {
    if (node.isOver) return false;
    return !node.found || (node.found.searched ?? 0) < this.simulations;
  }

  async #think(node, simulations, stop) {
    const table = this.#session.table;
    const keep = (found) => {
      if (!node.found || found.simulations >= node.found.simulations) node.found = found;
    };
    const found = await this.#thinker.run(
      {
        type: "search",
        ...table.way(node),
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
    // A search may end early, when all is proven: it is complete even so.
    if (!stop.signal.aborted) node.found.searched = simulations;
  }
}

/**
 * Write on a node what its move lost, and whether that is exact, if the values before and after it
 * are known. If it is not exact, the best move of a search has lost nothing.
 */
function judge(node) {
  if (!node.parent) return;
  const before = valueFor0(node.parent);
  const after = valueFor0(node);
  if (before === null || after === null) return;
  const sign = node.parent.mover === 0 ? 1 : -1;
  node.isExact = exactFor0(node.parent) !== null && (node.isOver || exactFor0(node) !== null);
  const isBest = !node.isExact && node.parent.found?.action === node.action;
  node.loss = isBest ? 0 : Math.max(0, sign * (before - after));
}
