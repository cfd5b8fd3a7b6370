/**
 * A game's clock, such as an hourglass: it runs while its action is legal and the same player is to
 * move, and plays the action when it has run out. The scene describes it, under `clock`.
 */

import { el } from "./dom.js";

const TICK = 200; // ms between updates
const TOLD = [30, 10]; // seconds left that are announced

/** An hourglass whose upper part holds a share of the sand. */
function hourglass(share) {
  const fill = "currentColor";
  const drawn = (d, more) => el("svg:path", { d, ...more });
  // The sand sinks in the upper half, from 5 to 12, and rises in the lower one, from 20 to 13.
  const top = 12 - 7 * share;
  const heap = 20 - 7 * (1 - share);
  const half = (y) => 6 * (Math.abs(y - 12) / 8);
  return el(
    "svg:svg",
    { viewBox: "0 0 24 24", class: "glass", "aria-hidden": "true" },
    share > 0 ? drawn(`M${12 - half(top)} ${top}H${12 + half(top)}L12 12Z`, { fill }) : null,
    share < 1 ? drawn(`M6 20H18L${12 + half(heap)} ${heap}H${12 - half(heap)}Z`, { fill }) : null,
    drawn("M5 3H19M5 21H19M6 3V4L12 12L6 20V21M18 3V4L12 12L18 20V21", {
      fill: "none",
      stroke: "currentColor",
      "stroke-width": 1.6,
      "stroke-linecap": "round",
    }),
  );
}

export class Clock {
  #container;
  #on;
  #session = null;
  #turn = null; // the node at which the clock was set
  #left = 0; // ms left
  #since = null; // the time since which it runs, null while it stands
  #isPaused = false;
  #timer = null;

  /**
   * @param {HTMLElement} container
   * @param {object} on
   * @param {(action: number) => void} on.runOut
   * @param {(text: string) => void} on.say
   */
  constructor(container, on) {
    this.#container = container;
    this.#on = on;
  }

  /**
   * Run, stop or set the clock, as the game requires.
   * @param {import("./session.js").Session} session
   * @param {boolean} isPaused whether nobody plays just now.
   */
  update(session, isPaused) {
    const clock = session.table.scene.clock;
    this.#session = session;
    this.#container.hidden = !clock;
    if (!clock) {
      this.#stop();
      this.#turn = null;
      return;
    }
    const turn = session.isStudy ? null : beginning(session.table, session.live);
    this.#isPaused = isPaused || session.paused || session.view !== session.live;
    this.#stop();
    if (turn !== this.#turn) {
      this.#turn = turn;
      this.#left = 1000 * clock.seconds;
    }
    if (turn && !this.#isPaused) {
      this.#since = performance.now();
      this.#timer = setInterval(() => this.#tick(), TICK);
    }
    this.#draw();
  }

  /** Whole seconds left. */
  get seconds() {
    return Math.ceil(this.#remaining() / 1000);
  }

  #remaining() {
    const gone = this.#since === null ? 0 : performance.now() - this.#since;
    return Math.max(this.#left - gone, 0);
  }

  #stop() {
    this.#left = this.#remaining();
    this.#since = null;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #tick() {
    const before = this.#container.dataset.seconds;
    if (this.#remaining() === 0) {
      this.#stop();
      this.#on.runOut(this.#session.table.scene.clock.action);
      return;
    }
    if (before === String(this.seconds)) return;
    this.#draw();
    const { live, seats } = this.#session;
    if (TOLD.includes(this.seconds) && seats[live.mover].kind === "person") {
      this.#on.say(`${this.seconds} seconds left to ${this.#session.table.scene.clock.task}.`);
    }
  }

  #draw() {
    const { clock } = this.#session.table.scene;
    const share = this.#turn ? this.#remaining() / (1000 * clock.seconds) : 0;
    const minutes = Math.floor(this.seconds / 60);
    const time = `${minutes}:${String(this.seconds % 60).padStart(2, "0")}`;
    const told = !this.#turn
      ? `The ${clock.name} stands`
      : this.#isPaused
        ? `The ${clock.name} is stopped at ${time}`
        : `Player ${this.#session.live.mover + 1}: ${time} to ${clock.task}`;
    this.#container.dataset.seconds = this.#turn ? this.seconds : "";
    this.#container.classList.toggle("short", Boolean(this.#turn) && this.seconds <= TOLD[1]);
    this.#container.replaceChildren(hourglass(share), el("span", { role: "timer" }, told));
  }
}

/** The node since which the same player has been to move with the clock, or null. */
function beginning(table, node) {
  const { action } = table.scene.clock;
  if (!table.isLegal(node, action)) return null;
  let first = node;
  while (
    first.parent?.mover === node.mover &&
    first.action !== action &&
    table.isLegal(first.parent, action)
  ) {
    first = first.parent;
  }
  return first;
}
