/** The moves played, with variations, and the legal moves. */

import { button, el } from "./dom.js";
import { pieceOf } from "./panels.js";

/** The annotation of a move with this loss, as in chess; null for a small loss. */
export function judgement(loss) {
  if (loss >= 0.6) return { mark: "??", word: "blunder" };
  if (loss >= 0.3) return { mark: "?", word: "mistake" };
  if (loss >= 0.15) return { mark: "?!", word: "inaccuracy" };
  return null;
}

const judged = ({ loss }) => (loss === undefined ? null : judgement(loss));

function moveButton(node, { session, look, buttons }) {
  const told = judged(node);
  const made = el(
    "button",
    { type: "button", class: "move", title: told?.word, onclick: () => look(node) },
    el("span", { class: "number" }, `${node.ply}`),
    pieceOf(session.table.scene.roles[node.role], "token"),
    node.text + (told ? ` ${told.mark}` : ""),
  );
  buttons.set(node, made);
  return made;
}

/** The moves from `start` on by first children; behind each first child its alternatives. */
function line(start, about) {
  const parts = [];
  let node = start;
  while (node) {
    parts.push(moveButton(node, about));
    if (node.comment) parts.push(el("span", { class: "comment" }, node.comment));
    if (node.parent.children[0] === node) {
      for (const other of node.parent.children.slice(1)) {
        const variation = line(other, about);
        parts.push(
          el("div", { class: "variation", role: "group", "aria-label": "Variation" }, variation),
        );
      }
    }
    node = node.children[0];
  }
  return parts;
}

/** The tree of moves; it is drawn anew only when it has changed. */
export class PlayedMoves {
  #on;
  #list = el("div", { class: "moves", role: "group", "aria-label": "Moves played" });
  #promote;
  #drawn = []; // what the buttons show, see `contentOf`
  #buttons = new Map(); // by node
  #here = null; // the button of the node on view

  /**
   * @param {HTMLElement} container
   * @param {object} on
   * @param {(node: object) => void} on.look
   * @param {() => void} on.promote make the line through the node on view the main line.
   */
  constructor(container, on) {
    this.#on = on;
    this.#promote = button("Make this variation the main line", on.promote, { class: "small", hidden: true });
    container.append(this.#list, this.#promote);
  }

  /** Draw the tree, and scroll to the move on view. */
  show(session) {
    const content = contentOf(session.table.root);
    const isSame =
      content.length === this.#drawn.length &&
      content.every((each, number) => each === this.#drawn[number]);
    if (!isSame) this.#draw(session);
    this.#drawn = content;
    this.#mark(this.#buttons.get(session.view) ?? null);
    this.#promote.hidden = session.view.path.every((node) => node.parent.children[0] === node);
  }

  #draw(session) {
    this.#buttons.clear();
    const [first] = session.table.root.children;
    const about = { session, look: this.#on.look, buttons: this.#buttons };
    const none = () => el("p", { class: "faint" }, "No move has been played yet.");
    this.#list.replaceChildren(...(first ? line(first, about) : [none()]));
  }

  #mark(here) {
    if (here !== this.#here) {
      this.#here?.classList.remove("here");
      this.#here?.removeAttribute("aria-current");
      here?.classList.add("here");
      here?.setAttribute("aria-current", "true");
      this.#here = here;
    }
    const list = this.#list;
    if (here) list.scrollTop = here.offsetTop - list.offsetTop - list.clientHeight / 2;
  }
}

/** What decides how a tree looks: its root and its nodes in order, with what is written at each. */
function contentOf(root) {
  return root.all.flatMap((node) => [node, node.comment, judged(node)?.mark]);
}

/** The list of legal moves, with a search field; one object serves all games. */
export class LegalMoves {
  #onPlay;
  #legal = [];
  #count = el("span");
  #list = el("div", { class: "legal", role: "group", "aria-label": "Legal moves" });
  #field = el("input", {
    type: "search",
    placeholder: "write a move, such as c3",
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
    "aria-label": "Search the legal moves",
    oninput: () => this.#draw(),
  });

  constructor(container, onPlay) {
    this.#onPlay = onPlay;
    const form = el(
      "form",
      { onsubmit: (event) => this.#submit(event) },
      this.#field,
      el("button", { type: "submit" }, "Play"),
    );
    container.append(
      el(
        "details",
        { class: "box" },
        el("summary", {}, "Legal moves ", this.#count),
        form,
        this.#list,
      ),
    );
  }

  show(legal, { text = "" } = {}) {
    this.#legal = legal;
    this.#count.textContent = `(${legal.length})`;
    this.#field.value = text;
    this.#draw();
  }

  #matches() {
    const wanted = this.#field.value.trim();
    const exact = this.#legal.filter(({ text }) => text === wanted);
    if (exact.length) return exact;
    return this.#legal.filter(({ text }) => text.toLowerCase().includes(wanted.toLowerCase()));
  }

  #draw() {
    const matches = this.#matches();
    this.#list.replaceChildren(
      ...matches.map(({ action, text }) => button(text, () => this.#onPlay(action))),
      matches.length ? "" : el("p", { class: "faint" }, this.#none()),
    );
  }

  #none() {
    return this.#legal.length
      ? "No legal move has this text."
      : "There is nothing to play here now.";
  }

  #submit(event) {
    event.preventDefault();
    const matches = this.#matches();
    if (matches.length === 1) this.#onPlay(matches[0].action);
    else this.#list.querySelector("button")?.focus();
  }
}
