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

function moveButton(node, session, onLook) {
  const judged = node.loss === undefined ? null : judgement(node.loss);
  const isHere = node === session.view;
  return el(
    "button",
    {
      type: "button",
      class: `move${isHere ? " here" : ""}`,
      "aria-current": isHere ? "true" : null,
      title: judged?.word,
      onclick: () => onLook(node),
    },
    el("span", { class: "number" }, `${node.ply}`),
    pieceOf(session.table.scene.roles[node.role], "token"),
    node.text + (judged ? ` ${judged.mark}` : ""),
  );
}

/** The moves from `start` on by first children; behind each first child its alternatives. */
function line(start, session, onLook) {
  const parts = [];
  let node = start;
  while (node) {
    parts.push(moveButton(node, session, onLook));
    if (node.comment) parts.push(el("span", { class: "comment" }, node.comment));
    if (node.parent.children[0] === node) {
      for (const other of node.parent.children.slice(1)) {
        const variation = line(other, session, onLook);
        parts.push(
          el("div", { class: "variation", role: "group", "aria-label": "Variation" }, variation),
        );
      }
    }
    node = node.children[0];
  }
  return parts;
}

/** Draw the tree of moves, and scroll to the one on view. */
export function showMoves(container, session, { look, promote }) {
  const { root } = session.table;
  const isVariation = session.view.path.some((node) => node.parent.children[0] !== node);
  const parts = root.children.length
    ? line(root.children[0], session, look)
    : [el("p", { class: "faint" }, "No move has been played yet.")];
  const list = el("div", { class: "moves", role: "group", "aria-label": "Moves played" }, parts);
  container.replaceChildren(
    list,
    isVariation ? button("Make this variation the main line", promote, { class: "small" }) : "",
  );
  const here = list.querySelector(".here");
  if (here) list.scrollTop = here.offsetTop - list.offsetTop - list.clientHeight / 2;
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
