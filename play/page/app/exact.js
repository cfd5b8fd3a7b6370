/** Exact values of positions, if they are known or found in time. */

import { address } from "./catalog.js";
import { Thread } from "./thread.js";

export class ExactValues {
  #thread = new Thread("exact-worker.js", "The thread with exact values");
  #variant = null;

  /**
   * Turn to a variant; its files are loaded with the first question.
   * @param {object} variant a variant from the list of games.
   */
  open(variant) {
    if (variant === this.#variant) return;
    this.#variant = variant;
    if (!variant.exact) return;
    this.#thread.open({ module: address(variant.exact.module) });
  }

  /** The source of the values, in words. */
  get source() {
    return this.#variant.exact.source;
  }

  /** The addresses of the files that are loaded, or being loaded. */
  get files() {
    return this.isThere && this.#thread.isOpened ? [address(this.#variant.exact.module)] : [];
  }

  /** Whether the variant has exact values. */
  get isThere() {
    return Boolean(this.#variant?.exact);
  }

  /**
   * Find the values of a position and of its actions, and write them on its node as `exact`: the
   * result of `Solver.solve`, with `time`: the milliseconds that the search was given, or 0 if
   * another one of the same time may find more, because it was stopped, or has all outcomes but
   * did not look for leads.
   * @param {object} node an unfinished node.
   * @param {Uint8Array} record the record of its position.
   * @param {object} run
   * @param {number} run.time most milliseconds.
   * @param {boolean} [run.leads] find leads too.
   * @param {AbortSignal} run.signal
   * @param {() => void} run.onFound called after each report.
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

/** The exact value of a node's position, for its mover; null if it is not known. */
export function exactAnswer(node) {
  const own = node.exact?.position;
  return own && own.outcome !== null ? own : null;
}

/**
 * Who wins at a node with best play, for player 0: 1, 0, -1, or null if that is not known. If
 * the node has no exact value, its parent's actions may have one for it.
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

/** The exact value of an action at a node, or null if it is not known. */
export function exactAction(node, action) {
  const known = node.exact?.actions.find((each) => each.action === action);
  return known && known.outcome !== null ? known : null;
}

/** The exactly best action at a node, or null if it is not known. */
export function exactBest(node) {
  const answer = exactAnswer(node);
  if (!answer) return null;
  const [best] = node.exact.actions;
  return best.outcome === answer.outcome ? best.action : null;
}

const SIGNS = { 1: "+", 0: "=", "-1": "−" };

/** A value as a sign on the board: + wins, = draws, − loses, with the lead or the number of plies. */
export function exactMark({ outcome, lead, plies }) {
  const by = lead === null || outcome === 0 ? plies : outcome * lead;
  return SIGNS[outcome] + (by === null ? "" : String(by).replace("-", "−"));
}
