/**
 * A piece in hand: turned, flipped and moved about, with a preview of where it comes to rest.
 *
 * The scene describes pieces, under `handling`: the poses in which actions put them down, and
 * the slots of the picture that show where. The rules show the effect: a preview is
 * the picture after the action.
 */

import { ARROWS, distance, pointIn } from "./board.js";
import { button, byId, el } from "./dom.js";
import { capital } from "./panels.js";

const TURN = 0;
const FLIP = 1;
const STILL = 8; // most px that a finger moves in a tap
const TWIST = Math.PI / 4; // angle by which two fingers turn to turn the piece once

function middle(points) {
  const sum = points.reduce(([x, y], [right, down]) => [x + right, y + down], [0, 0]);
  return sum.map((part) => part / points.length);
}

export class Hand {
  #panel;
  #board;
  #on;
  #table = null;
  #node = null;
  #mayPlay = false;
  #handling = null;
  #shown = null; // the numbers that the position's slots show
  #moves = new Map(); // lists of playable actions, {action, text}, by pose
  #places = new Map(); // likewise, with their places in the picture
  #pose = 0;
  #at = null; // the place where the piece is held
  #point = null; // the point to which it was last moved
  #fingers = new Map(); // fingers on the pad, by id
  #tap = null; // where the first finger touched, and whether lifting it there plays
  #twist = null; // two fingers' angle at their last turn, and whether they have turned

  /**
   * @param {HTMLElement} panel element that describes a piece in hand.
   * @param {import("./board.js").BoardView} board
   * @param {object} on
   * @param {(action: number) => void} on.play
   * @param {(text: string) => void} on.say
   */
  constructor(panel, board, on) {
    this.#panel = panel;
    this.#board = board;
    this.#on = on;
    const named = (text, keys, work) => button(text, work, { "aria-keyshortcuts": keys });
    this.pad = el("svg:svg", { class: "pad", "aria-hidden": "true" });
    this.told = el("p", { class: "held" });
    this.turns = [
      named("Turn (R)", "R", () => this.turn(TURN)),
      named("Flip (F)", "F", () => this.turn(FLIP)),
    ];
    this.putDown = button("Place", () => this.#play(), { class: "primary" });
    this.back = named("Put back", "Escape", () => this.putBack());
    const buttons = el("div", { class: "row" }, this.turns, this.putDown, this.back);
    panel.append(this.pad, el("div", { class: "hand-side" }, this.told, buttons));
    for (const type of ["pointerdown", "pointermove", "pointerup", "pointercancel"]) {
      this.pad.addEventListener(type, (event) => this.#touch(event));
    }
  }

  /**
   * Take up the piece that the mover has to put down, if there is one.
   * @param {object} position
   * @param {object} position.table
   * @param {object} position.node
   * @param {ArrayLike<number>} position.shown the number that each slot shows.
   * @param {{action: number, text: string}[]} position.legal
   * @param {boolean} position.mayPlay
   */
  show({ table, node, shown, legal, mayPlay }) {
    if (table === this.#table && node === this.#node && mayPlay === this.#mayPlay) return;
    this.#table = table;
    this.#node = node;
    this.#mayPlay = mayPlay;
    this.#shown = shown;
    this.#handling = table.scene.handling;
    this.#moves.clear();
    this.#places.clear();
    this.#fingers.clear();
    for (const move of this.#handling && mayPlay ? legal : []) {
      const pose = this.#handling.pose_of[move.action];
      if (pose >= 0) this.#moves.set(pose, [...(this.#moves.get(pose) ?? []), move]);
    }
    this.#pose = Math.min(...this.#moves.keys());
    this.#at = null;
    this.#point = null;
    this.#showPanel();
  }

  get isHolding() {
    return this.#moves.size > 0;
  }

  /** The action that would put the piece down at its present place, or null. */
  get action() {
    return this.#at?.action ?? null;
  }

  /**
   * The place nearest to a point at which the piece can be put down in its present pose.
   * @returns {{place: object, away: number} | null}
   */
  nearest(point) {
    let best = null;
    for (const place of this.isHolding ? this.#placesOf(this.#pose) : []) {
      const away = Math.min(...place.points.map((each) => distance(each, point)));
      if (best === null || away < best.away) best = { place, away };
    }
    return best;
  }

  /** Hold the piece over a place; `point` is the point to which it was moved. */
  hold(place, point) {
    this.#point = point;
    if (place !== this.#at) this.#hold(place);
  }

  /** Hold the piece as an action would put it down; return whether such an action exists. */
  holdFor(action) {
    const place = this.#placeOf(action);
    if (place === null) return false;
    this.#pose = this.#handling.pose_of[action];
    this.hold(place, place.points[0]);
    return true;
  }

  /** Show the effect of an action for a while; null ends it. */
  peek(action) {
    if (!this.isHolding) return;
    const place = (action === null ? null : this.#placeOf(action)) ?? this.#at;
    this.#board.preview(place);
  }

  /** Turn or flip the piece at its present place; `isBack` turns it the other way. */
  turn(way, isBack = false) {
    const after = (pose) => this.#table.nextPose(this.#node, pose, way);
    const before = [...this.#moves.keys()].find((pose) => after(pose) === this.#pose);
    const pose = isBack ? before : after(this.#pose);
    const isSame = pose === this.#pose;
    this.#pose = pose;
    this.#hold(this.nearest(this.#point ?? this.#middle()).place);
    const told = isSame ? "It looks the same" : capital(this.#handling.poses[pose]);
    this.#on.say(`${told}: ${this.#text()}`);
  }

  /** Hold the piece over no place, in its first pose. */
  putBack() {
    if (!this.#at) return;
    this.#pose = Math.min(...this.#moves.keys());
    this.#point = null;
    this.#hold(null);
    this.#on.say(`The ${this.#handling.piece} is put back.`);
  }

  /** Handle a key for the piece in hand; return whether it has a meaning. */
  key(event) {
    if (!this.isHolding || event.ctrlKey || event.metaKey || event.altKey) return false;
    const letter = event.key.toLowerCase();
    if (letter === "r") this.turn(TURN, event.shiftKey);
    else if (letter === "f") this.turn(FLIP);
    else if (event.key === "Escape" && this.#at) this.putBack();
    else return false;
    return true;
  }

  /** Handle a key on the board; return whether it has a meaning. */
  boardKey(event) {
    if (!this.isHolding || event.ctrlKey || event.metaKey || event.altKey) return false;
    const way = ARROWS[event.key];
    if (way) this.#step(way);
    else if ((event.key === "Enter" || event.key === " ") && this.#at) this.#play();
    else return false;
    return true;
  }

  #placesOf(pose) {
    if (!this.#places.has(pose)) {
      const places = this.#moves.get(pose).map((move) => this.#place(move));
      this.#places.set(pose, places);
    }
    return this.#places.get(pose);
  }

  #placeOf(action) {
    const pose = this.#handling?.pose_of[action] ?? -1;
    if (!this.#moves.has(pose)) return null;
    return this.#placesOf(pose).find((place) => place.action === action) ?? null;
  }

  /** The preview of an action: the picture after it, and where it changes. */
  #place({ action, text }) {
    const shown = this.#table.shownAfter(this.#node, action);
    const points = this.#handling.drawings
      .map((drawing) => drawing.filter(([slot]) => shown[slot] !== this.#shown[slot]))
      .filter((changed) => changed.length)
      .map((changed) => middle(changed.map(([, x, y]) => [x, y])));
    const told = this.#handling.told
      .filter(([slots]) => slots[action] >= 0)
      .map(([slots, texts]) => texts[this.#shown[slots[action]]])
      .filter(Boolean);
    return { action, text, shown, points, told };
  }

  #middle() {
    return middle(this.#placesOf(this.#pose).map(({ points }) => points[0]));
  }

  #step([right, down]) {
    const places = this.#placesOf(this.#pose);
    const from = this.#at?.points[0];
    let best = null;
    for (const place of from ? places : []) {
      const [x, y] = place.points[0];
      const along = (x - from[0]) * right + (y - from[1]) * down;
      const aside = Math.abs((x - from[0]) * down) + Math.abs((y - from[1]) * right);
      const cost = along + 3 * aside;
      if (along > 1 && (best === null || cost < best.cost)) best = { cost, place };
    }
    if (from && best === null) return;
    const { place } = best ?? this.nearest(this.#middle());
    this.hold(place, place.points[0]);
    this.#on.say(this.#text());
  }

  #play() {
    this.#on.play(this.#at.action);
  }

  #hold(place) {
    this.#at = place;
    this.#board.preview(place);
    this.#showText();
  }

  #text() {
    const { piece, poses } = this.#handling;
    if (!this.#at) return `${capital(piece)} in hand, ${poses[this.#pose]}.`;
    return `${[this.#at.text, ...this.#at.told].join(", ")}.`;
  }

  #showText() {
    this.told.textContent = this.#text();
    this.putDown.disabled = !this.#at;
    this.back.disabled = !this.#at;
  }

  #showPanel() {
    const hadFocus = this.#panel.contains(document.activeElement);
    this.#panel.hidden = !this.isHolding;
    this.pad.replaceChildren();
    if (hadFocus && !this.isHolding) byId("board").focus();
    if (!this.isHolding) return;
    this.#panel.setAttribute("aria-label", `${capital(this.#handling.piece)} in hand`);
    this.turns.forEach((each) => (each.hidden = this.#moves.size < 2));
    const [point] = this.#placesOf(this.#pose)[0].points;
    const stand = this.#handling.stands.find(
      ([left, top, width, height]) =>
        point[0] >= left && point[0] <= left + width && point[1] >= top && point[1] <= top + height,
    );
    const [left, top, width, height] = stand ?? this.#table.scene.box;
    this.pad.setAttribute("viewBox", [left, top, width, height].join(" "));
    this.pad.style.aspectRatio = width / height;
    this.pad.append(el("svg:use", { href: "#board-picture" }));
    this.#showText();
  }

  // The pad: the part of the picture where the piece comes to rest, enlarged for fingers.

  #touch(event) {
    if (!this.isHolding) return;
    event.preventDefault();
    const known = this.#fingers.get(event.pointerId);
    if (event.type === "pointerdown") this.#press(event);
    else if (known && event.type === "pointermove") this.#drag(event, known);
    else if (known) this.#lift(event);
  }

  #press(event) {
    this.pad.setPointerCapture(event.pointerId);
    const { clientX: x, clientY: y } = event;
    this.#fingers.set(event.pointerId, { x, y });
    if (this.#fingers.size === 1) {
      const point = pointIn(this.pad, event);
      const { place } = this.nearest(point);
      this.#tap = { x, y, plays: place === this.#at };
      this.hold(place, point);
    } else {
      this.#tap = null;
      this.#twist = { angle: this.#angle(), turned: false };
    }
  }

  #drag(event, finger) {
    Object.assign(finger, { x: event.clientX, y: event.clientY });
    if (this.#fingers.size === 2 && this.#twist) {
      const turned = Math.sin(this.#angle() - this.#twist.angle);
      if (Math.abs(turned) < Math.sin(TWIST)) return;
      this.#twist = { angle: this.#angle(), turned: true };
      this.turn(TURN, turned > 0); // y points down on the screen
    } else if (this.#fingers.size === 1 && !this.#twist) {
      if (this.#tap && distance([this.#tap.x, this.#tap.y], [finger.x, finger.y]) <= STILL) return;
      this.#tap = null;
      const point = pointIn(this.pad, event);
      this.hold(this.nearest(point).place, point);
    }
  }

  #lift(event) {
    const isTap = event.type === "pointerup";
    this.#fingers.delete(event.pointerId);
    if (isTap && this.#fingers.size === 1 && this.#twist && !this.#twist.turned) this.turn(TURN);
    if (isTap && this.#tap?.plays) this.#play();
    if (this.#fingers.size === 1 && this.#twist) this.#twist.turned = true;
    if (this.#fingers.size === 0) this.#twist = null;
    this.#tap = null;
  }

  #angle() {
    const [one, other] = [...this.#fingers.values()];
    return Math.atan2(other.y - one.y, other.x - one.x);
  }
}
