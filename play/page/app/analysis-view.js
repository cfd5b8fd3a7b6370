/** The bar, the table, the graph and the review of an analysis. */

import { button, el, signed } from "./dom.js";
import { valueFor0 } from "./analyst.js";
import { judgement } from "./moves.js";
import { playerName } from "./panels.js";

const BEST = 6; // moves in the table
const WORST = 8; // moves in the review
const LEAST_LOSS = 0.1; // of a move in the review
const GRAPH = { width: 600, height: 120, margin: 6 };

/** Shares of the visits by action, or null where there is no analysis. */
export function visitShares(node) {
  if (!node.found) return null;
  const total = node.found.visits.reduce((sum, visits) => sum + visits, 0);
  return total ? Array.from(node.found.visits, (visits) => visits / total) : null;
}

/** Draw the bar of the value: the first player's share is at the left. */
export function showBar(container, session, isOn) {
  const value = isOn ? valueFor0(session.view) : null;
  container.hidden = !isOn;
  container.className = "bar";
  const share = value === null ? 50 : 50 + 50 * value;
  const told = lead(session, value);
  container.setAttribute("role", "img");
  container.setAttribute("aria-label", `Evaluation: ${told.words}`);
  container.replaceChildren(
    el("span", { class: "part", style: `width:${share}%` }),
    el("span", { class: "middle" }),
    el("span", { class: "score" }, told.mark),
  );
}

/** Who is ahead by how much, in words and beside the side of who it is. */
function lead(session, value) {
  if (value === null) return { words: "not known yet", mark: "…" };
  const by = Math.abs(value).toFixed(2);
  if (by === "0.00") return { words: "even", mark: by };
  const leader = value > 0 ? 0 : 1;
  const words = `${playerName(session, leader)}, is ahead by ${by}`;
  return { words, mark: leader === 0 ? `◂ ${by}` : `${by} ▸` };
}

/** The panel of the analysis; see main.js for what `on` can do. */
export class AnalysisView {
  #analyst;
  #on;
  #switch;
  #switches;
  #findings = el("div");

  constructor(container, analyst, on) {
    this.#analyst = analyst;
    this.#on = on;
    this.#switch = checkBox("analysis-on", false, on.turn);
    this.#switches = el(
      "div",
      { class: "switches" },
      el("label", { class: "check" }, this.#switch, " Analysis"),
      el(
        "label",
        { class: "check" },
        checkBox("analysis-board", true, on.onBoard),
        " Shares on the board",
      ),
      el("label", { class: "check" }, sizes(analyst, on), " simulations"),
    );
    container.append(this.#switches, this.#findings);
  }

  show(session) {
    const hasNetwork = session.board.variant.network !== null;
    this.#switches.hidden = !hasNetwork;
    this.#switch.checked = this.#analyst.isOn;
    if (!hasNetwork) {
      const told = "There is no network for this board, so there is no analysis.";
      this.#findings.replaceChildren(el("p", { class: "faint" }, told));
      return;
    }
    const focused = this.#findings.contains(document.activeElement);
    this.#findings.replaceChildren(
      this.#analyst.isOn ? bestMoves(session, this.#on) : "",
      graph(session, this.#on),
      review(session, this.#analyst, this.#on),
    );
    if (focused) this.#findings.querySelector("#review, #review-stop")?.focus();
  }
}

function checkBox(id, checked, onchange) {
  const box = el("input", { type: "checkbox", id, checked });
  box.addEventListener("change", () => onchange(box.checked));
  return box;
}

function sizes(analyst, on) {
  const all = [50, 100, 200, 400, 800, analyst.mostSimulations];
  const size = el(
    "select",
    { id: "analysis-size", "aria-label": "Simulations of an analysis" },
    all.map((each) =>
      el("option", { value: each, selected: each === analyst.simulations }, String(each)),
    ),
  );
  size.addEventListener("change", () => on.size(Number(size.value)));
  return size;
}

function bestMoves(session, on) {
  const node = session.view;
  if (node.isOver) return el("p", { class: "faint" }, "The game is over here.");
  const { found } = node;
  if (!found) {
    const told = session.agent ? "The analysis waits until the agent has moved." : "Analysing…";
    return el("p", { class: "faint" }, told);
  }
  const moves = session.table
    .legal(node)
    .filter(({ action }) => found.visits[action] > 0)
    .sort((one, other) => found.visits[other.action] - found.visits[one.action])
    .slice(0, BEST);
  const line = session.table.texts(node, found.variation);
  const mover = playerName(session, node.mover);
  return el(
    "div",
    {},
    el(
      "table",
      { class: "best" },
      el(
        "caption",
        {},
        `Values for ${mover}, from −1 to +1; ${found.simulations} simulations` +
          (found.proven ? "; proven" : ""),
      ),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["Move", "Value", "Visits", "Prior"].map((head) => el("th", { scope: "col" }, head)),
        ),
      ),
      el(
        "tbody",
        {},
        moves.map(({ action, text }) =>
          el(
            "tr",
            {},
            el(
              "td",
              {},
              session.mayPlay
                ? button(text, () => on.play(action), { class: "small", title: `Play ${text}` })
                : text,
            ),
            el("td", {}, signed(found.actionValues[action])),
            el("td", {}, String(found.visits[action])),
            el("td", {}, found.prior ? `${Math.round(100 * found.prior[action])} %` : ""),
          ),
        ),
      ),
    ),
    el("p", { class: "line" }, el("span", { class: "faint" }, "Line: "), line.join(", ")),
  );
}

/** The values of the line over its plies. */
function graph(session, on) {
  const nodes = [session.table.root, ...session.view.end.path];
  const known = nodes.map((node) => valueFor0(node));
  const count = known.filter((value) => value !== null).length;
  if (count < 2) return "";
  const { width, height, margin } = GRAPH;
  const x = (ply) => margin + ((width - 2 * margin) * ply) / Math.max(nodes.length - 1, 1);
  const y = (value) => height / 2 - (height / 2 - margin) * value;
  const points = nodes
    .map((node, ply) =>
      known[ply] === null ? null : `${x(ply).toFixed(1)},${y(known[ply]).toFixed(1)}`,
    )
    .filter((point) => point !== null);
  const marks = nodes.map((node, ply) => {
    const judged = node.loss === undefined ? null : judgement(node.loss);
    if (!judged || known[ply] === null) return null;
    return el("svg:circle", { class: "bad", cx: x(ply), cy: y(known[ply]), r: 4 });
  });
  const svg = el(
    "svg:svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      class: "graph",
      role: "img",
      "aria-label": "Evaluation over the game; up is good for the first player",
    },
    el("svg:line", { class: "zero", x1: 0, x2: width, y1: height / 2, y2: height / 2 }),
    el("svg:line", {
      class: "now",
      x1: x(session.view.ply),
      x2: x(session.view.ply),
      y1: 0,
      y2: height,
    }),
    el("svg:polyline", { points: points.join(" ") }),
    marks,
  );
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const place = (width * (event.clientX - box.left)) / box.width;
    const ply = Math.round(((place - margin) / (width - 2 * margin)) * (nodes.length - 1));
    on.look(nodes[Math.min(Math.max(ply, 0), nodes.length - 1)]);
  });
  return svg;
}

function review(session, analyst, on) {
  if (analyst.isReviewing) {
    const { done, all } = analyst.progress;
    return el(
      "div",
      { class: "review" },
      el(
        "label",
        {},
        "Looking through the game ",
        el("progress", { value: done, max: all }),
        ` ${done} of ${all}`,
      ),
      button("Stop", on.stopReview, { id: "review-stop", class: "small" }),
    );
  }
  const path = session.view.end.path;
  const start = button("What did I do wrong?", on.review, { id: "review", disabled: !path.length });
  const judged = path.filter((node) => node.loss !== undefined);
  const bad = judged
    .filter((node) => node.loss >= LEAST_LOSS)
    .sort((one, other) => other.loss - one.loss)
    .slice(0, WORST);
  const told = !judged.length
    ? "Analyses every position of the game, and shows which moves lost most."
    : bad.length
      ? "The moves that lost most, and what was better:"
      : `None of the ${judged.length} moves lost more than ${LEAST_LOSS}.`;
  return el(
    "div",
    { class: "review" },
    start,
    el("p", { class: "faint" }, told),
    bad.length
      ? el(
          "ol",
          {},
          bad.map((node) => badMove(session, node, on)),
        )
      : "",
  );
}

function badMove(session, node, on) {
  const judged = judgement(node.loss);
  const better = node.parent.found
    ? session.table.texts(node.parent, node.parent.found.variation.slice(0, 3)).join(", ")
    : "";
  const you = session.person === node.parent.mover && !session.studying ? "you, " : "";
  return el(
    "li",
    {},
    button(
      `${node.ply}. ${node.text}${judged ? ` ${judged.mark}` : ""}`,
      () => on.look(node.parent),
      { class: "small" },
    ),
    ` ${you}lost ${node.loss.toFixed(2)}`,
    better ? el("span", { class: "better" }, `; better was ${better}`) : "",
  );
}
