/**
 * A guided first game: the page says what to try and marks it, and then explains what has happened.
 * The learner is the first player; play/lesson.py describes the steps.
 */

import { button, el, recall, remember } from "./dom.js";

const PACE = 700; // ms before each of a step's replies, which are moves of both players
const MOST_PACED = 3; // where a step has more replies, they are made at once

/** The opponent in a guided game, who makes the moves of the steps. */
export const GUIDE = Object.freeze({ kind: "guide" });

/** Whether the guided game of a game was played to its end or left. */
export const isTaught = ({ name }) => recall(`taught.${name}`) !== null;

const wait = (time) => new Promise((resolve) => setTimeout(resolve, time));

export class Lesson {
  #panel;
  #session;
  #on;
  #game = null;
  #steps = [];
  #number = 0;
  #node = null; // the node at which the learner has to move, or has moved
  #isTold = false; // whether the move was made, and what has happened is being told

  /**
   * @param {HTMLElement} panel
   * @param {import("./session.js").Session} session
   * @param {object} on
   * @param {(text: string) => void} on.say
   * @param {(game: object) => void} on.done the lesson is over, or was left.
   * @param {(game: object) => void} on.again
   */
  constructor(panel, session, on) {
    this.#panel = panel;
    this.#session = session;
    this.#on = on;
  }

  get isOn() {
    return this.#game !== null;
  }

  /** The address of the present step. */
  get fragment() {
    return `#g=${encodeURIComponent(this.#game.name)}&learn=${this.#number}`;
  }

  /** The action that the learner has to play in the position on view, or null. */
  get wanted() {
    if (!this.isOn || this.#isTold || this.#session.view !== this.#node) return null;
    return this.#session.table.find(this.#node, this.#steps[this.#number].move);
  }

  /**
   * Begin at a step.
   * @param {object} game of the catalog.
   * @param {object[]} steps all steps of its guided game.
   * @param {number} number the step's, from 0 on.
   * @param {object} table whose tree gets the moves before that step.
   * @param {(node: object) => void} show show the position after them.
   */
  begin(game, steps, number, table, show) {
    let node = table.root;
    for (const { move, replies } of steps.slice(0, number)) {
      for (const text of [move, ...replies]) node = table.play(node, table.find(node, text));
    }
    show(node);
    [this.#game, this.#steps, this.#number] = [game, steps, number];
    this.#ask();
  }

  stop() {
    this.#game = null;
    this.#session.isHeld = false;
    this.#panel.hidden = true;
  }

  /** Tell what the learner's move has done. */
  explain() {
    this.#isTold = true;
    Object.assign(this.#session, { isHeld: true, isKept: false });
    this.#node = this.#session.view;
    const { points } = this.#session.table.at(this.#node).view();
    const told = this.#steps[this.#number].told.replace(/\{([01])\}/g, (_, player) => points[player]);
    const isLast = this.#number === this.#steps.length - 1;
    const buttons = isLast
      ? [
          button("Play a game", () => this.#leave("done"), { class: "primary" }),
          button("Once more", () => this.#on.again(this.#game)),
        ]
      : [button("Go on", () => this.#goOn(), { class: "primary" })];
    if (isLast) remember(`taught.${this.#game.name}`, "done");
    this.#show(told, buttons);
    buttons[0].focus({ preventScroll: true });
  }

  #ask() {
    this.#isTold = false;
    this.#session.isHeld = false;
    this.#node = this.#session.live;
    this.#show(this.#steps[this.#number].do, [button("Leave", () => this.#leave("left"))]);
  }

  async #goOn() {
    const { replies } = this.#steps[this.#number];
    const session = this.#session;
    const { table } = session;
    this.#show("…", []);
    for (const text of replies) {
      if (replies.length <= MOST_PACED) await wait(PACE);
      if (!this.isOn || session.table !== table) return; // another game has begun
      session.moveOn(table.find(session.live, text));
    }
    this.#number += 1;
    this.#ask();
    session.look(session.live);
  }

  #leave(how) {
    const game = this.#game;
    remember(`taught.${game.name}`, how);
    this.stop();
    this.#on.done(game);
  }

  #show(text, buttons) {
    const count = `Guided game, ${this.#number + 1} of ${this.#steps.length}`;
    this.#panel.hidden = false;
    this.#panel.replaceChildren(
      el("p", {}, el("span", { class: "faint" }, `${count}. `), text),
      el("div", { class: "row" }, buttons),
    );
    this.#on.say(text);
  }
}
