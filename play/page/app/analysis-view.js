/** The bar, the table, the graph and the review of an analysis. */

import { DISCS } from "./layers.js";
import { button, el, selection, signed } from "./dom.js";
import { LEAST_LOSS, valueFor0 } from "./analyst.js";
import { exactAction, exactAnswer, exactBest } from "./exact.js";
import { judgement } from "./moves.js";
import { capital, playerName } from "./panels.js";
import { setUpTabs } from "./tabs.js";
import { MOST_SIMULATIONS } from "./seats.js";

const BEST = 8; // moves in the table
const FEW = 4; // moves in the list
const SECONDS = [0, 3, 10, 30, 120]; // choices of the time for exact values
const WORST = 8; // moves in the review
const GRAPH = { width: 600, height: 120, margin: 6 };

/** Draw the bar of the value: the first player's share is on the left. */
export function showBar(container, session, isOn) {
  const value = isOn ? valueFor0(session.view) : null;
  container.hidden = !isOn;
  container.className = "bar";
  const share = value === null ? 50 : 50 + 50 * value;
  const told = isOn ? standing(session, value) : lead(session, null);
  container.setAttribute("role", "img");
  container.setAttribute("aria-label", `Evaluation: ${told.words}`);
  container.replaceChildren(
    el("span", { class: "part", style: `width:${share}%` }),
    el("span", { class: "middle" }),
    el("span", { class: "score" }, told.mark),
  );
}

/** The text of the bar: the exact value if it is known, else who is ahead. */
function standing(session, value) {
  const answer = session.view.isOver ? null : exactAnswer(session.view);
  if (!answer) return lead(session, value);
  if (answer.outcome === 0) return { words: "exactly a draw", mark: "draw, exact" };
  const winner = answer.outcome > 0 ? session.view.mover : 1 - session.view.mover;
  const text = answer.text.replace("loss", "win");
  const words = `exactly a ${text} for ${playerName(session, winner)}`;
  return { words, mark: winner === 0 ? `◂ ${text}, exact` : `${text}, exact ▸` };
}

/** Who is ahead and by how much: in words, and as a mark that points to that player's side. */
function lead(session, value) {
  if (value === null) return { words: "not known yet", mark: "…" };
  const by = chance(Math.abs(value));
  if (by === chance(0)) return { words: "even", mark: by };
  const leader = value > 0 ? 0 : 1;
  const words = `chance to win for ${playerName(session, leader)} ${by}, a draw counted as half`;
  return { words, mark: leader === 0 ? `◂ ${by}` : `${by} ▸` };
}

/** The panel of the analysis; see main.js for what `on` can do. */
export class AnalysisView {
  #analyst;
  #on;
  #switch;
  #switches;
  #simulations;
  #discs;
  #seconds;
  #threats;
  #owners;
  #legend = el("p", { class: "faint legend" });
  #best = el("div");
  #findings = el("div");
  #details = el("div");

  constructor(container, analyst, on) {
    this.#analyst = analyst;
    this.#on = on;
    this.#switch = checkBox("analysis-on", false, on.turn);
    const onBoard = checkBox("analysis-board", true, on.onBoard);
    this.#discs = labelled(discs(on), "in discs");
    this.#simulations = labelled(sizes(analyst, on), "simulations");
    this.#seconds = labelled(seconds(analyst, on), "for exact values");
    this.#switches = el(
      "div",
      { class: "switches" },
      labelled(this.#switch, "Show the best moves"),
      labelled(onBoard, "On the board"),
    );
    const panel = (name, ...content) =>
      el("div", { id: `panel-${name}`, role: "tabpanel", "aria-labelledby": `tab-${name}` }, content);
    const tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Parts of the analysis" });
    const more = el("div", { class: "switches" }, this.#simulations, this.#discs, this.#seconds);
    this.#threats = labelled(checkBox("layer-threats", false, on.threats), "Threats");
    this.#owners = labelled(checkBox("layer-ownership", false, on.ownership), "Who will own what");
    const layers = el("div", { class: "switches" }, this.#threats, this.#owners);
    const best = panel("best", this.#best, layers, this.#legend);
    container.append(this.#switches, tabs, best, panel("details", more, this.#details), this.#findings);
    setUpTabs(tabs, { best: "Best moves", details: "Details" }, () => {});
  }

  /**
   * @param {import("./session.js").Session} session
   * @param {string} legend text about the layers on the board.
   */
  show(session, legend) {
    this.#owners.hidden = !session.table.scene.has_owners;
    this.#legend.textContent = legend;
    this.#legend.hidden = legend === "";
    const { isThere, hasNetwork, hasExact, isOn } = this.#analyst;
    this.#switches.hidden = !isThere;
    this.#simulations.hidden = !hasNetwork;
    this.#discs.hidden = !hasNetwork;
    this.#seconds.hidden = !hasExact;
    this.#switch.checked = isOn;
    if (!isThere) {
      const told = "There is no network for this board, so there is no analysis.";
      this.#best.replaceChildren(el("p", { class: "faint" }, told));
      this.#details.replaceChildren();
      this.#findings.replaceChildren();
      return;
    }
    const focused = this.#findings.contains(document.activeElement);
    this.#best.replaceChildren(isOn ? chances(session, this.#on) : "");
    this.#details.replaceChildren(isOn ? bestMoves(session, this.#analyst, this.#on) : "");
    this.#findings.replaceChildren(
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

function labelled(control, text) {
  return el("label", { class: "check" }, control, ` ${text}`);
}

function discs(on) {
  const names = { id: "analysis-discs", "aria-label": "What the discs on the board tell" };
  return selection(names, Object.entries(DISCS), null, on.discs);
}

/** The choice of the time for exact values. */
function seconds(analyst, on) {
  const options = SECONDS.map((each) => [each, each ? `${each} s` : "none"]);
  const label = "Seconds for the exact values of a position";
  const names = { id: "analysis-seconds", "aria-label": label };
  return selection(names, options, analyst.seconds, (value) => on.seconds(Number(value)));
}

function sizes(analyst, on) {
  const options = [50, 100, 200, 400, 800, MOST_SIMULATIONS].map((each) => [each, `${each}`]);
  const names = { id: "analysis-size", "aria-label": "Simulations of an analysis" };
  return selection(names, options, analyst.simulations, (value) => on.size(Number(value)));
}

/** Why no move can be told of a position, or null. */
function nothingTold({ view: { isOver, found, exact }, agent }) {
  const told = isOver
    ? "The game is over here."
    : found || exact
      ? null
      : agent
        ? "The analysis waits until the agent has moved."
        : "Analysing…";
  return told && el("p", { class: "faint" }, told);
}

/** The moves of which something is known, the best first. */
function known({ view, table }) {
  return table
    .legal(view)
    .filter(({ action }) => view.found?.visits[action] > 0 || exactAction(view, action))
    .sort((one, other) => place(view, one.action) - place(view, other.action));
}

/** The chance to win for a value from -1 to 1; a draw counts as half. */
const chance = (value) => `${Math.round(50 + 50 * value)} %`;

/** A few moves with the chance to win, or with what they are worth exactly. */
function chances(session, on) {
  const nothing = nothingTold(session);
  if (nothing) return nothing;
  const { view } = session;
  const name = playerName(session, view.mover);
  return el(
    "div",
    {},
    el("p", { class: "faint" }, `Chance to win for ${name}, a draw counted as half:`),
    el(
      "ol",
      { class: "chances" },
      known(session)
        .slice(0, FEW)
        .map((move) => {
          const exact = exactAction(view, move.action) && exactCell(view, move.action);
          const told = exact || el("strong", {}, chance(view.found.actionValues[move.action]));
          return el("li", {}, moveButton(session, move, on), " ", told);
        }),
    ),
  );
}

function moveButton(session, { action, text }, on) {
  if (!session.mayPlay) return text;
  return button(text, () => on.play(action), { class: "small", title: `Play ${text}` });
}

function bestMoves(session, analyst, on) {
  const nothing = nothingTold(session);
  if (nothing) return nothing;
  const { found, exact } = session.view;
  const moves = known(session).slice(0, BEST);
  const heads = ["Move", exact ? "Exact" : "", ...(found ? ["Value", "Visits", "Prior"] : [])];
  return el(
    "div",
    {},
    exact ? exactly(session, analyst) : "",
    el(
      "table",
      { class: "best" },
      el("caption", {}, found ? searched(session, found) : "The best moves, by exact values"),
      el(
        "thead",
        {},
        el("tr", {}, heads.filter(Boolean).map((head) => el("th", { scope: "col" }, head))),
      ),
      el("tbody", {}, moves.map((move) => row(session, move, on))),
    ),
    line(session, found),
  );
}

/** The order of moves in the table: exact wins, unknown ones, exact draws, exact losses. */
function place(node, action) {
  const known = exactAction(node, action);
  const rank = known === null ? 1 : { 1: 0, 0: 2, "-1": 3 }[known.outcome];
  const isAsGood = (each) => ["outcome", "lead", "plies"].every((key) => each[key] === known[key]);
  const order = known ? node.exact.actions.findIndex(isAsGood) : 0;
  const isOrdered = known !== null && (known.lead !== null || known.plies !== null);
  const visits = node.found ? node.found.visits[action] / (1 + node.found.simulations) : 0;
  return 1000 * rank + (isOrdered ? order : 0) - visits;
}

const searched = (session, { simulations, proven }) =>
  `Values for ${playerName(session, session.view.mover)}, from −1 to +1; ${simulations} ` +
  `simulations${proven ? "; proven" : ""}`;

function row(session, move, on) {
  const { found, exact } = session.view;
  const { action } = move;
  const cells = [moveButton(session, move, on)];
  if (exact) cells.push(exactCell(session.view, action));
  if (found) {
    const isTried = found.visits[action] > 0;
    cells.push(isTried ? signed(found.actionValues[action]) : "", String(found.visits[action]));
    cells.push(found.prior ? `${Math.round(100 * found.prior[action])} %` : "");
  }
  return el("tr", {}, cells.map((cell) => el("td", {}, cell)));
}

function exactCell(node, action) {
  const known = exactAction(node, action);
  if (!known) return "";
  const kind = { 1: "win", 0: "draw", "-1": "loss" }[known.outcome];
  return el("span", { class: `exact ${kind}` }, known.text);
}

/** The exact value of the position in a sentence, with its source. */
function exactly(session, analyst) {
  const node = session.view;
  const { exact } = node;
  const known = exact.actions.filter(({ outcome }) => outcome !== null).length;
  const counted = `${known} of ${exact.actions.length} moves known`;
  const nodes = exact.nodes ? `, ${exact.nodes.toLocaleString("en")} positions searched` : "";
  const answer = exactAnswer(node);
  const value = answer
    ? `With best play: ${whose(session, answer)}.`
    : analyst.isSolving
      ? "Looking for the exact value…"
      : exact.isComplete
        ? "No exact value is known here."
        : "The exact value was not found in this time.";
  return el(
    "p",
    { class: "exactly" },
    el("strong", {}, value),
    el("span", { class: "faint" }, ` Exact values: ${counted}${nodes}. ${capital(analyst.source)}.`),
  );
}

const whose = (session, { outcome, text }) =>
  outcome === 0 ? text : `${text} for ${playerName(session, session.view.mover)}`;

function line(session, found) {
  if (!found) return "";
  const texts = session.table.texts(session.view, found.variation);
  return el("p", { class: "line" }, el("span", { class: "faint" }, "Line: "), texts.join(", "));
}

/** The values along the line, by ply. */
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
      : `None of the ${judged.length} moves was a mistake.`;
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
  const you = session.person === node.parent.mover && !session.studying ? "you, " : "";
  const better = betterThan(session, node);
  return el(
    "li",
    {},
    button(
      `${node.ply}. ${node.text}${judged ? ` ${judged.mark}` : ""}`,
      () => on.look(node.parent),
      { class: "small" },
    ),
    ` ${you}${whatItLost(node)}`,
    better ? el("span", { class: "better" }, `; better was ${better}`) : "",
    session.isStudy
      ? button("Try again", () => on.tryAgain(node), { class: "small", "aria-label": `Try move ${node.ply} again` })
      : "",
  );
}

/** The loss of a move in words: exact if both positions are known. */
function whatItLost(node) {
  const sign = node.parent.mover === 0 ? 1 : -1;
  const [before, after] = [node.parent, node].map((each) => sign * valueFor0(each));
  if (!node.isExact) return `the chance fell from ${chance(before)} to ${chance(after)}`;
  const words = { 1: "won", 0: "drawn", "-1": "lost" };
  return `it was ${words[before]}, then ${words[after]} (exact)`;
}

/** The moves that would have been better, as far as they are known. */
function betterThan(session, node) {
  const { parent } = node;
  const best = exactBest(parent);
  if (best !== null) return `${session.table.text(parent, best)} (exact)`;
  if (!parent.found) return "";
  return session.table.texts(parent, parent.found.variation.slice(0, 3)).join(", ");
}
