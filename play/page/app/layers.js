/** Layers on the board, as envs/engine/draw/layers.py draws them, but with visits as shares. */

import { el } from "./dom.js";
import { exactAction, exactMark } from "./exact.js";
import { DARK, discRadius, forAndAgainst, heat, LIGHT } from "./heat.js";

const MARKS = {
  1: { fill: "#0d4891", ink: "#ffffff", edge: LIGHT },
  0: { fill: "#f6f4ee", ink: DARK, edge: DARK },
  "-1": { fill: "#9e4708", ink: "#ffffff", edge: LIGHT },
};
const SIZE = 27; // size of a mark's text
const NAME = 30; // size of a player's name
const LEAST_SHARE = 0.005; // smaller shares have no disc
const LEAST_OWNER = 0.05; // cells with a weaker owner are not shown
const WINS = -1; // marks a winning action among the threats
// Where the marks of threats lie around a spot, and how large they are: shares of a disc's radius.
const [ASIDE, LARGE, SMALL] = [0.6, 0.42, 0.36];

/** The kinds of numbers that discs on actions can show of an analysis. */
export const DISCS = { chances: "chances", visits: "visits", policy: "prior", values: "values" };

/** The discs on the actions of a node, by action: null, or their colours and text. */
export function discsOf({ found }, kind) {
  if (!found) return [];
  if (kind === "values" || kind === "chances") {
    const least = kind === "chances" ? LEAST_SHARE * found.simulations : 0;
    return Array.from(found.actionValues, (value, action) => {
      if (Number.isNaN(value) || found.visits[action] < least) return null;
      if (kind === "chances") return { ...forAndAgainst(value), text: String(Math.round(50 + 50 * value)) };
      const text = (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2).replace(/^0/, "");
      return { ...forAndAgainst(value), text };
    });
  }
  const numbers = Array.from((kind === "policy" ? found.prior : found.visits) ?? []);
  const total = numbers.reduce((sum, number) => sum + number, 0);
  const most = Math.max(...numbers, 0);
  return numbers.map((number) => {
    if (!(number >= LEAST_SHARE * total) || number === 0) return null;
    return { ...heat(number / most), text: String(Math.round((100 * number) / total)) };
  });
}

function symbol(scene, name, player, [x, y], scale, opacity = 1) {
  const group = el("svg:g", { transform: `translate(${x} ${y}) scale(${scale / 10})`, opacity });
  group.innerHTML = scene.symbols[name][player];
  return group;
}

/** The players' names, where each has a part of the picture, such as a tower. */
export function namesOn({ handling }, names) {
  if (handling?.stands.length !== 2) return [];
  return handling.stands.map(([x, y, width], player) => {
    const [name] = names[player].split(/[,(]/); // as in Level 3, adapting
    const size = Math.min(NAME, (0.54 * width) / (0.62 * name.length));
    return el("svg:text", { x: x + 14, y: y + 42, "font-size": size, "font-weight": 700, fill: DARK }, name);
  });
}

const inReach = (scene) => discRadius(scene.spots.filter((spot) => spot !== null));

/** Stars on actions that win at once, crosses on what may be taken: the first player's at the left. */
export function threatMarks(scene, { actions, cells }) {
  const radius = inReach(scene);
  const marks = [];
  [-1, 1].forEach((side, player) => {
    cells[player].forEach((count, cell) => {
      const spot = scene.cells[cell];
      if (count === 0 || spot === null) return;
      const place = [spot[0] + side * ASIDE * radius, spot[1] + ASIDE * radius];
      marks.push(symbol(scene, "takes", player, place, SMALL * radius));
    });
    actions[player].forEach((kind, action) => {
      const spot = scene.spots[action];
      if (kind !== WINS || spot === null) return;
      const place = [spot[0] + side * ASIDE * radius, spot[1] - ASIDE * radius];
      marks.push(symbol(scene, "wins", player, place, LARGE * radius));
    });
  });
  return marks;
}

/** A square on each cell of the first player, a diamond on the other's, larger the surer it is. */
export function ownerMarks(scene, owners) {
  const radius = inReach(scene);
  return Array.from(owners, (owner, cell) => {
    const sure = Math.abs(owner);
    if (sure < LEAST_OWNER || scene.cells[cell] === null) return null;
    const scale = radius * (0.38 + 0.32 * sure);
    return symbol(scene, "owners", owner < 0 ? 1 : 0, scene.cells[cell], scale, 0.35 + 0.65 * sure);
  }).filter((mark) => mark !== null);
}

/** A mark for each action whose exact value is known, beside the disc of an analysis. */
export function exactMarks(scene, node, legal) {
  const there = legal.filter(({ action }) => scene.spots[action] !== null);
  const radius = discRadius(there.map(({ action }) => scene.spots[action]));
  return there.flatMap(({ action }) => {
    const known = exactAction(node, action);
    if (!known) return [];
    const [x, y] = scene.spots[action];
    const text = exactMark(known);
    const size = Math.min(SIZE, 0.9 * radius);
    const width = 0.62 * size * text.length + 0.5 * size;
    const { fill, ink, edge } = MARKS[known.outcome];
    const [cx, cy] = [x, y - 0.72 * radius];
    return [
      el("svg:rect", {
        ...{ x: cx - width / 2, y: cy - 0.6 * size, width, height: 1.2 * size, rx: 0.3 * size },
        ...{ fill, stroke: edge, "stroke-width": 1.5 },
      }),
      el(
        "svg:text",
        {
          ...{ x: cx, y: cy + 0.36 * size, "font-size": size, fill: ink },
          ...{ "text-anchor": "middle", "font-weight": 700 },
        },
        text,
      ),
    ];
  });
}
