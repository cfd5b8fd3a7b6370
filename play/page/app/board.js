/** The picture of a position, drawn from a scene; and the clicks and keys on it. */

import { button, el } from "./dom.js";
import { discRadius, fittedSize, leastDistance, textAt } from "./heat.js";

const SAME = 1; // units within which two spots are one
const REACH = [44, 100]; // bounds of the reach: how far a click may be from its spot, in units
const HELD_REACH = 150; // how far a click may be from a held piece's place
const OVERLAP = 0.5; // share of the reach within which two places overlap
const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const MOTION = 300; // ms in which the effects of a move begin, the nearest first; each takes as long as in style.css
const NEAR = 40; // units within which a slot belongs to a place that an action joins
const BELOW = 48; // units from the middle of a block down to the mark that it may be taken
const FINGER = 30; // px: places that are nearer to each other want a second tap
export const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The SVG of a slot that shows a number, around the origin. */
export function shapesOf(scene, slot, number) {
  const kind = scene.kinds[scene.slots[slot][2]];
  if (!kind.several) return scene.shapes[kind.shapes[number]];
  return kind.shapes.map((shape, bit) => ((number >> bit) & 1 ? scene.shapes[shape] : "")).join("");
}

/** The place of a slot, as the transformation of an element about the origin. */
export const placeOf = ([x, y]) => `translate(${x} ${y})`;

export const distance = ([x, y], [left, top]) => Math.hypot(x - left, y - top);

/** The place of a pointer's event in the units of an SVG. */
export function pointIn(svg, { clientX, clientY }) {
  const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
  return [x, y];
}

export class BoardView {
  #container;
  #onPlay;
  #onAim;
  #onMiss;
  #onAsk;
  #scene = null;
  #parts = null;
  #position = []; // the number that each slot shows in the position
  #shown = []; // the numbers that are drawn
  #radius = 0; // radius of discs
  #reach = 0;
  #legal = []; // {action, text} of playable actions with a spot
  #node = null;
  #mayPlay = false;
  #aim = null;
  #choice = null;
  #picked = null; // the place picked first, of two that an action joins
  #pressed = null; // likewise, the place where a drag has begun
  #hand = null;
  #preview = null; // the hand's preview
  #isFlipped = false;
  #isTouch = false; // the last pointer is a finger
  #swallow = (click) => click.stopImmediatePropagation(); // the click that may follow a drag

  /**
   * @param {HTMLElement} container
   * @param {object} on
   * @param {(action: number) => void} on.play
   * @param {(texts: string) => void} on.aim called with the texts of the actions that the keys
   *   point at, joined by "or".
   * @param {(action: number | null) => void} on.miss a click means no legal action; the argument is
   *   the action of its place, if it has one.
   * @param {(text: string) => void} on.ask a finger points at one of crowded places, whose next tap
   *   plays; the argument has the texts of the actions there, joined by "or".
   */
  constructor(container, { play, aim, miss, ask }) {
    this.#container = container;
    this.#onAsk = ask;
    this.#onPlay = play;
    this.#onAim = aim;
    this.#onMiss = miss;
    container.setAttribute("role", "application");
    container.addEventListener("click", (event) => this.#click(event));
    container.addEventListener("pointerdown", (event) => this.#press(event));
    container.addEventListener("pointerup", (event) => this.#release(event));
    container.addEventListener("pointermove", (event) => this.#hover(event));
    container.addEventListener("pointerleave", (event) => event.pointerType === "touch" || this.#leave());
    container.addEventListener("keydown", (event) => this.#key(event));
    container.addEventListener("blur", () => this.#leave());
  }

  /** @param {import("./hand.js").Hand} hand the hand whose piece is moved over the board. */
  setHand(hand) {
    this.#hand = hand;
  }

  /** Draw another scene; `show` fills its slots. */
  setScene(scene) {
    if (scene === this.#scene) return;
    this.#scene = scene;
    const [, , width, height] = scene.box;
    const svg = el("svg:svg", { viewBox: scene.box.join(" "), "aria-hidden": "true" });
    const all = svg.appendChild(el("svg:g"));
    const picture = all.appendChild(el("svg:g", { id: "board-picture" }));
    const group = (home) => (name) => home.appendChild(el("svg:g", { class: name }));
    const [ground, slots] = ["ground", "slots"].map(group(picture));
    const names = ["under", "hints", "shares", "layers", "hint", "pick", "aim"];
    const [under, hints, shares, layers, hint, pick, aim] = names.map(group(all));
    ground.innerHTML = scene.ground + (scene.aside?.ground ?? "");
    slots.append(...scene.slots.map((slot) => el("svg:g", { transform: placeOf(slot) })));
    const drawn = { under, hints, shares, layers, hint, pick, aim };
    this.#parts = { svg, all, slots: [...slots.children], ...drawn };
    this.#shown = scene.slots.map(() => -1);
    this.#container.parentElement.style.setProperty("--aspect", width / height);
    this.#container.replaceChildren(svg);
    this.#choice = null;
    this.#node = null;
    this.#turn(this.#isFlipped && !scene.handling);
  }

  /** Show the board from the other side. */
  flip() {
    this.#isFlipped = !this.#isFlipped;
    this.#closeChoice();
    this.#turn(this.#isFlipped);
  }

  #turn(isFlipped) {
    const [left, top, width, height] = this.#scene.box;
    const way = `rotate(180 ${left + width / 2} ${top + height / 2})`;
    this.#parts.all.setAttribute("transform", isFlipped ? way : "");
    this.#container.classList.toggle("flipped", isFlipped);
  }

  get #isTurned() {
    return this.#container.classList.contains("flipped");
  }

  /**
   * Draw a position.
   * @param {object} position
   * @param {object} position.node node of the tree: another one, or another `mayPlay`, ends
   *   input that keys and clicks began.
   * @param {ArrayLike<number>} position.shown the number that each slot shows.
   * @param {{action: number, text: string}[]} position.legal the legal actions.
   * @param {boolean} position.mayPlay whether they may be played here and now.
   * @param {({fill: string, ink: string, text: string} | null)[]} position.discs by action.
   * @param {SVGElement[]} position.under elements on the board, below the hints and discs.
   * @param {SVGElement[]} position.layers elements on top.
   * @param {string} position.label the position in words.
   */
  show({ node, shown, legal, mayPlay, discs, under, layers, label }) {
    const isNew = node !== this.#node || mayPlay !== this.#mayPlay;
    const isMove = node !== this.#node && node.parent !== null && node.parent === this.#node;
    this.#node = node;
    this.#mayPlay = mayPlay;
    if (isNew) {
      this.#preview = null;
      this.#closeChoice();
      this.#setAim(null);
      this.#pick(null);
      this.#parts.hint.replaceChildren();
    }
    this.#container.setAttribute("aria-label", label);
    this.#position = shown;
    this.#drawSlots(true, isMove ? node.action : null);
    const there = legal.filter(({ action }) => this.#spot(action) !== null);
    const spots = there.map(({ action }) => this.#spot(action));
    this.#radius = discRadius(this.#scene.layers, spots);
    this.#reach = Math.min(Math.max(0.75 * leastDistance(spots), REACH[0]), REACH[1]);
    this.#legal = mayPlay ? there : [];
    this.#container.classList.toggle("playable", this.#legal.length > 0);
    this.#parts.hints.replaceChildren(...this.#hints(discs));
    this.#parts.shares.replaceChildren(...this.#discs(discs));
    this.#parts.under.replaceChildren(...under);
    this.#parts.layers.replaceChildren(...layers);
  }

  /** Mark an action, if it has a place, until `show` gets another node or `mayPlay`. */
  hint(action) {
    const spot = this.#spot(action);
    const [one, other] = this.#joinsTwo(action) ? this.#scene.ends[action] : [spot, null];
    const marks = other ? [...this.#joined(one, [other]), ...this.#rings(one, 30)] : spot ? this.#rings(spot, 30) : [];
    this.#parts.hint.replaceChildren(...marks);
  }

  /** Show where a piece in hand would come to rest, `{action, shown}`, or stop showing it. */
  preview(place) {
    if (place === this.#preview) return;
    this.#preview = place;
    this.#setAim(place && this.#spot(place.action));
    this.#drawSlots(false);
  }

  #drawSlots(fades, action = null) {
    const shown = Array.from(this.#position);
    const changed = new Set();
    for (const [first, last] of this.#preview ? this.#scene.handling.slots : []) {
      for (let slot = first; slot <= last; slot += 1) {
        if (shown[slot] === this.#preview.shown[slot]) continue;
        shown[slot] = this.#preview.shown[slot];
        changed.add(slot);
      }
    }
    const fresh = [];
    this.#parts.slots.forEach((slot, number) => {
      slot.classList.toggle("ghost", changed.has(number));
      if (shown[number] === this.#shown[number]) return;
      if (fades && this.#shown[number] !== -1) fresh.push({ slot, number, old: this.#shown[number] });
      this.#shown[number] = shown[number];
      slot.innerHTML = shapesOf(this.#scene, number, shown[number]);
      slot.classList.remove("fresh");
    });
    if (action !== null && !STILL.matches) {
      this.#animate(action, fresh);
      return;
    }
    // One layout for all of them, so that their fades begin again.
    if (fresh.length) this.#parts.svg.getBoundingClientRect();
    for (const { slot } of fresh) slot.classList.add("fresh");
  }

  /** Let the effects of an action begin one after the other, outwards, and exchanged pieces slide. */
  #animate(action, changed) {
    const { slots, ends } = this.#scene;
    const from = this.#scene.handling ? null : this.#spot(action);
    const away = ({ number }) => (from ? distance(slots[number], from) : 0);
    const most = Math.max(...changed.map(away), 1);
    const joined = this.#joinsTwo(action) ? ends[action] : [];
    for (const each of changed) {
      const { slot, number, old } = each;
      const wait = `animation-delay: ${Math.round((MOTION * away(each)) / most)}ms`;
      const other = joined.findIndex((end) => distance(end, slots[number]) < NEAR);
      const way = other < 0 ? null : [0, 1].map((axis) => joined[1 - other][axis] - joined[other][axis]);
      const before = way ? "" : `<g class="gone" style="${wait}">${shapesOf(this.#scene, number, old)}</g>`;
      const style = way ? `--x: ${way[0]}px; --y: ${way[1]}px` : wait;
      slot.innerHTML = `${before}<g class="${way ? "slid" : "come"}" style="${style}">${slot.innerHTML}</g>`;
    }
  }

  #spot(action) {
    return this.#scene.spots[action];
  }

  /** A ring that shows on any colour. */
  #rings([cx, cy], r) {
    const { dark, light } = this.#scene.layers;
    const ring = { cx, cy, r, fill: "none" };
    return [
      el("svg:circle", { ...ring, stroke: dark, "stroke-width": 9 }),
      el("svg:circle", { ...ring, stroke: light, "stroke-width": 5 }),
    ];
  }

  /** Lines from a place to others, with a ring at each of these. */
  #joined(place, others) {
    const { dark, light } = this.#scene.layers;
    return others.flatMap((other) => [
      ...[dark, light].map((stroke, number) =>
        el("svg:path", {
          d: `M${place.join(" ")}L${other.join(" ")}`,
          stroke,
          "stroke-width": 9 - 4 * number,
          "stroke-dasharray": "12 8",
        }),
      ),
      ...this.#rings(other, 22),
    ]);
  }

  #hints(discs) {
    const { dark, light, dot } = this.#scene.layers;
    const radius = dot * this.#radius;
    return this.#legal
      .filter(({ action }) => !discs[action])
      .map(({ action }) => {
        const [cx, y] = this.#spot(action);
        const line = { stroke: dark, "stroke-width": Math.max(radius / 4, 1.5) };
        const isField = this.#scene.handling?.pose_of[action] >= 0; // which shows by itself that it is legal
        const cy = this.#scene.handling && !isField ? y + BELOW : y;
        // What the circle covers shows through.
        return el("svg:circle", { cx, cy, r: radius, fill: light, "fill-opacity": 0.4, ...line, opacity: isField ? 0 : null });
      });
  }

  #discs(discs) {
    const { layers } = this.#scene;
    return discs.flatMap((disc, action) => {
      const spot = this.#spot(action);
      if (!disc || spot === null) return [];
      const [cx, cy] = spot;
      const { fill, ink, text } = disc;
      return [
        el("svg:circle", { cx, cy, r: this.#radius, fill, stroke: layers.dark, "stroke-width": 1.5 }),
        textAt(spot, fittedSize(layers, text, this.#radius), ink, text),
      ];
    });
  }

  /** The legal actions at a point: those of one spot, or none. */
  #meant(point) {
    let nearest = null;
    for (const each of this.#legal) {
      const away = distance(this.#spot(each.action), point);
      if (nearest === null || away < nearest.away)
        nearest = { away, spot: this.#spot(each.action), action: each.action };
    }
    if (nearest === null || nearest.away > this.#reach) return [];
    // Another action's spot that is nearer rejects the point. Spots that overlap with the found one
    // do not count, nor do spots between two places if the found one is a single place.
    const joinsTwo = this.#joinsTwo(nearest.action);
    const isOther = (spot, action) =>
      this.#isShown(action) &&
      (joinsTwo || !this.#joinsTwo(action)) &&
      distance(spot, point) < nearest.away &&
      distance(spot, nearest.spot) > OVERLAP * this.#reach;
    return this.#scene.spots.some(isOther) ? [] : this.#at(nearest.spot);
  }

  /** Whether an action has a place in the picture as it is now: blocks and landing places take turns. */
  #isShown(action) {
    const { handling } = this.#scene;
    return this.#spot(action) !== null && (!handling || handling.pose_of[action] >= 0 === this.#hand.isHolding);
  }

  #joinsTwo(action) {
    const ends = this.#scene.ends?.[action];
    return ends !== undefined && distance(...ends) > SAME;
  }

  #at(spot) {
    return this.#legal.filter(({ action }) => distance(this.#spot(action), spot) <= SAME);
  }

  #point(event) {
    return pointIn(this.#parts.all, event);
  }

  #hover(event) {
    if (event.pointerType === "touch" || this.#choice) return;
    const point = this.#point(event);
    const place = this.#held(point);
    if (place) {
      this.#hand.hold(place, point);
      this.#hand.peek(null);
      return;
    }
    const [first] = this.#meant(point);
    this.#hand.peek(first?.action ?? null);
    if (first || !this.#hand.isHolding) this.#setAim(first ? this.#spot(first.action) : null);
  }

  #leave() {
    if (this.#hand.isHolding) this.#hand.peek(null);
    else this.#setAim(null);
  }

  /** Where the piece in hand would be put down, in reach of a point and unless a spot is nearer. */
  #held(point) {
    const near = this.#hand.nearest(point);
    if (near === null || near.away > HELD_REACH) return null;
    const isOther = ({ action }) => distance(this.#spot(action), point) < near.away;
    return this.#legal.some(isOther) ? null : near.place;
  }

  #click(event) {
    if (this.#choice?.contains(event.target)) return;
    const wasOpen = this.#closeChoice();
    const point = this.#point(event);
    const end = this.#end(point);
    if (end) {
      this.#join(end);
      return;
    }
    this.#pick(null);
    const place = this.#held(point);
    const actions = place ? [place] : this.#meant(point);
    // A finger cannot hover: its first tap shows where the piece comes to rest, its second plays.
    if (this.#isTouch && actions.length === 1 && actions[0].action !== this.#hand.action) {
      if (this.#hand.holdFor(actions[0].action)) return;
    }
    if (this.#isTouch && actions.length && !place && this.#isCrowded && !this.#isAimedAt(actions[0])) {
      this.#setAim(this.#spot(actions[0].action));
      this.#onAsk(actions.map(({ text }) => text).join(" or "));
    } else if (actions.length) this.#play(actions);
    else if (!wasOpen && this.#legal.length) this.#onMiss(this.#actionAt(point));
  }

  /** Whether places of legal actions are too near each other for a finger. */
  get #isCrowded() {
    const [, , width] = this.#scene.box;
    const apart = leastDistance(this.#legal.map(({ action }) => this.#spot(action)));
    return (apart * this.#container.clientWidth) / width < FINGER;
  }

  #isAimedAt({ action }) {
    return this.#aim !== null && distance(this.#aim, this.#spot(action)) <= SAME;
  }

  /** The action whose place is nearest to a point, within reach, or null. */
  #actionAt(point) {
    let best = { away: this.#reach, action: null };
    this.#scene.spots.forEach((spot, action) => {
      const away = this.#isShown(action) ? distance(spot, point) : Infinity;
      if (away < best.away) best = { away, action };
    });
    return best.action;
  }

  /** The nearest place in reach that a legal action joins to another, unless a spot is nearer. */
  #end(point) {
    const { ends } = this.#scene;
    if (ends === null || !this.#legal.length) return null;
    const nearest = (places) =>
      places.reduce((best, place) => (distance(place, point) < distance(best, point) ? place : best));
    const end = nearest(this.#legal.flatMap(({ action }) => ends[action]));
    const spot = nearest(this.#legal.map(({ action }) => this.#spot(action)));
    const away = distance(end, point);
    return away <= this.#reach && away < distance(spot, point) ? end : null;
  }

  /** Pick a place, unpick it, or play the action that joins it to the picked one. */
  #join(end) {
    const from = this.#picked;
    if (from !== null && distance(from, end) <= SAME) {
      this.#pick(null);
      return;
    }
    const joins = ([one, other], here, there) =>
      distance(one, here) <= SAME && distance(other, there) <= SAME;
    const found = this.#legal.find(({ action }) => {
      const ends = this.#scene.ends[action];
      return from !== null && (joins(ends, from, end) || joins(ends, end, from));
    });
    this.#pick(found ? null : end);
    if (found) this.#onPlay(found.action);
  }

  /** Mark a picked place, and the places that legal actions join to it; or none. */
  #pick(place) {
    this.#picked = place;
    if (!place) {
      this.#parts?.pick.replaceChildren();
      return;
    }
    const others = this.#legal.flatMap(({ action }) => {
      const [one, other] = this.#scene.ends[action];
      if (distance(one, place) <= SAME) return [other];
      return distance(other, place) <= SAME ? [one] : [];
    });
    this.#parts.pick.replaceChildren(...this.#joined(place, others), ...this.#rings(place, 30));
  }

  #press(event) {
    this.#container.removeEventListener("click", this.#swallow, true);
    this.#isTouch = event.pointerType === "touch";
    const mayDrag = event.button === 0 && this.#legal.length;
    this.#pressed = mayDrag ? this.#end(this.#point(event)) : null;
  }

  /** Handle the end of a drag from one place to another; if they are the same, a click follows. */
  #release(event) {
    const from = this.#pressed;
    this.#pressed = null;
    const to = from && this.#legal.length ? this.#end(this.#point(event)) : null;
    if (to === null || distance(from, to) <= SAME) return;
    this.#container.addEventListener("click", this.#swallow, { capture: true, once: true });
    this.#pick(from);
    this.#join(to);
  }

  #play(actions) {
    if (actions.length === 1) this.#onPlay(actions[0].action);
    else if (actions.length > 1) this.#ask(actions);
  }

  /** Let the person choose between actions on the same spot. */
  #ask(actions) {
    const [left, top, width, height] = this.#scene.box;
    const [x, y] = this.#spot(actions[0].action);
    const [right, down] = [(x - left) / width, (y - top) / height].map((part) => (this.#isTurned ? 1 - part : part));
    const place = `left:${100 * right}%;top:${100 * down}%`;
    const choose = (event, action) => {
      event.stopPropagation(); // the choice is gone by the time that the board would hear of it
      this.#onPlay(action);
    };
    this.#choice = el(
      "div",
      { class: "choice", style: place, role: "group", "aria-label": "Which move?" },
      actions.map(({ action, text }) => button(text, (event) => choose(event, action))),
    );
    this.#container.append(this.#choice);
    this.#choice.firstElementChild.focus();
  }

  #closeChoice() {
    const wasOpen = this.#choice !== null;
    this.#choice?.remove();
    this.#choice = null;
    return wasOpen;
  }

  #setAim(spot) {
    if (spot === this.#aim) return;
    this.#aim = spot;
    const radius = this.#isTouch ? 30 : Math.min(0.5 * this.#radius, 22);
    this.#parts?.aim.replaceChildren(...(spot ? this.#rings(spot, radius) : []));
  }

  #key(event) {
    if (event.key === "Escape" && this.#closeChoice()) {
      this.#container.focus();
      event.stopPropagation();
      return;
    }
    if (event.target !== this.#container || !this.#legal.length) return;
    if (this.#hand.boardKey(event)) {
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    const direction = ARROWS[event.key];
    const side = this.#isTurned ? -1 : 1;
    if (direction && !event.ctrlKey && !event.metaKey && !event.altKey)
      this.#step(direction.map((part) => side * part));
    else if ((event.key === "Enter" || event.key === " ") && this.#aim) {
      this.#play(this.#at(this.#aim));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * Move the aim to the next spot of a legal action in a direction; without an aim, to the spot
   * nearest to the centre.
   */
  #step([right, down]) {
    const [left, top, width, height] = this.#scene.box;
    const from = this.#aim ?? [left + width / 2, top + height / 2];
    let best = null;
    for (const { action } of this.#legal) {
      const [x, y] = this.#spot(action);
      const along = (x - from[0]) * right + (y - from[1]) * down;
      const aside = Math.abs((x - from[0]) * down) + Math.abs((y - from[1]) * right);
      if (this.#aim && along <= SAME) continue;
      const cost = this.#aim ? along + 3 * aside : Math.hypot(along, aside);
      if (best === null || cost < best.cost) best = { cost, spot: [x, y] };
    }
    if (best === null) return;
    this.#setAim(best.spot);
    this.#onAim(
      this.#at(best.spot)
        .map(({ text }) => text)
        .join(" or "),
    );
  }
}
