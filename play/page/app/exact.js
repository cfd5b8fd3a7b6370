/** Exact values of positions, where they are known or are found in time. */

import { address } from "./catalog.js";
import { Thread } from "./thread.js";

export class ExactValues {
  #thread = new Thread("exact-worker.js", "The thread with exact values");
  #variant = null;

  /**
   * Turn to a variant; what is needed for it is loaded with the first question.
   * @param {object} variant of the list of games.
   */
  open(variant) {
    if (variant === this.#variant) return;
    this.#variant = variant;
    if (!variant.exact) return;
    this.#thread.open({ module: address(variant.exact.module) });
  }

  /** Where they come from, in words. */
  get source() {
    return this.#variant.exact.source;
  }

  /** The addresses of what was loaded. */
  get files() {
    return this.isThere && this.#thread.isOpened ? [address(this.#variant.exact.module)] : [];
  }

  /** Whether there are any in the variant. */
  get isThere() {
    return Boolean(this.#variant?.exact);
  }

  /**
   * Find out what a position and its actions are worth, and write it on its node as `exact`: what
   * `Solver.solve` returns, and `time`, the milliseconds that it was given.
   * @param {object} node not finished.
   * @param {Uint8Array} record of its position.
   * @param {object} run
   * @param {number} run.time most milliseconds.
   * @param {boolean} [run.leads] by how much too.
   * @param {AbortSignal} run.signal
   * @param {() => void} run.onFound there is more.
   */
  async find(node, record, { time, leads = true, signal, onFound }) {
    const keep = (found) => {
      const isLess = node.exact && decided(node.exact) > decided(found);
      if (!isLess) node.exact = { ...found, time: 0 };
    };
    const found = await this.#thread.run(
      { type: "solve", record, time, leads },
      {
        signal,
        onReport: ({ found: part }) => {
          keep(part);
          onFound();
        },
      },
    );
    if (found === null) return;
    keep(found);
    const isSettled = decided(node.exact) > node.exact.actions.length;
    if (!signal.aborted) node.exact.time = leads || !isSettled ? time : 0;
  }
}

/** How many of the position and its actions are known. */
function decided({ position, actions }) {
  return [position, ...actions].filter(({ outcome }) => outcome !== null).length;
}

/** What is known exactly of a node's position, for its mover; null where nothing is. */
export function exactAnswer(node) {
  const own = node.exact?.position;
  return own && own.outcome !== null ? own : null;
}

/**
 * Who wins at a node with best play, for player 0: 1, 0, -1, or null where that is not known. Where
 * nobody has looked at it, its parent's actions may tell.
 */
export function exactFor0(node) {
  const own = exactAnswer(node);
  if (own) return seenBy0(own.outcome, node.mover);
  const { parent } = node;
  const known = parent?.exact?.actions.find(({ action }) => action === node.action);
  if (!known || known.outcome === null) return null;
  return seenBy0(known.outcome, parent.mover);
}

const seenBy0 = (outcome, mover) => (mover === 0 ? outcome : -outcome) + 0;

/** The exact value of an action at a node, or null where it is not known. */
export function exactAction(node, action) {
  const known = node.exact?.actions.find((each) => each.action === action);
  return known && known.outcome !== null ? known : null;
}

/** The action that is exactly best at a node, or null where that is not known. */
export function exactBest(node) {
  const answer = exactAnswer(node);
  if (!answer) return null;
  const [best] = node.exact.actions;
  return best.outcome === answer.outcome ? best.action : null;
}

const SIGNS = { 1: "+", 0: "=", "-1": "−" };

/** A value in a sign, as on the board: + wins, = draws, − loses, and by how much or in how many. */
export function exactMark({ outcome, lead, plies }) {
  const by = lead === null || outcome === 0 ? plies : outcome * lead;
  return SIGNS[outcome] + (by === null ? "" : String(by).replace("-", "−"));
}
