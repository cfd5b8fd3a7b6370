/**
 * Layers on the board, as envs/engine/draw/layers.py draws them, but with visits as shares; and
 * players' names, values as chances and exact values, which Python does not draw.
 */

import { el } from "./dom.js";
import { exactAction, exactMark } from "./exact.js";
import { discRadius, forAndAgainst, heat, textAt } from "./heat.js";

const SIZE = 27; // size of a mark's text
const NAME = 30; // size of a player's name
const WINS = -1; // marks a winning action among the threats

/** The kinds of numbers that discs on actions can show of an analysis. */
export const DISCS = { chances: "chances", visits: "visits", policy: "prior", values: "values" };

/** The discs on the actions of a node, by action: null, or their colours and text. */
export function discsOf({ layers }, { found }, kind) {
  if (!found) return [];
  if (kind === "values" || kind === "chances") {
    const least = kind === "chances" ? layers.least_share * found.simulations : 0;
    return Array.from(found.actionValues, (value, action) => {
      if (Number.isNaN(value) || found.visits[action] < least) return null;
      const signed = (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2).replace(/^0/, "");
      const text = kind === "chances" ? String(Math.round(50 + 50 * value)) : signed;
      return { ...forAndAgainst(layers, value), text };
    });
  }
  const numbers = Array.from((kind === "policy" ? found.prior : found.visits) ?? []);
  const total = numbers.reduce((sum, number) => sum + number, 0);
  const most = Math.max(...numbers, 0);
  return numbers.map((number) => {
    if (!(number >= layers.least_share * total) || number === 0) return null;
    return { ...heat(layers, number / most), text: String(Math.round((100 * number) / total)) };
  });
}

function symbol({ layers }, name, player, [x, y], scale, opacity = 1) {
  const group = el("svg:g", { transform: `translate(${x} ${y}) scale(${scale / 10})`, opacity });
  group.innerHTML = layers.symbols[name][player];
  return group;
}

/** The players' names, where each has a part of the picture, such as a tower. */
export function namesOn({ handling, layers }, names) {
  if (handling?.stands.length !== 2) return [];
  return handling.stands.map(([x, y, width], player) => {
    const [name] = names[player].split(/[,(]/); // as in Level 3, adapting
    const size = Math.min(NAME, (0.54 * width) / (0.62 * name.length));
    return el("svg:text", { x: x + 14, y: y + 42, "font-size": size, "font-weight": 700, fill: layers.dark }, name);
  });
}

/** Stars on actions that win at once, crosses on what may be taken: the first player's at the left. */
export function threatMarks(scene, { actions, cells }) {
  const radius = discRadius(scene.layers, scene.spots);
  const aside = scene.layers.aside * radius;
  const marks = [];
  [-aside, aside].forEach((side, player) => {
    const mark = (name, spot, down) => {
      if (spot === null) return;
      const place = [spot[0] + side, spot[1] + down];
      marks.push(symbol(scene, name, player, place, scene.layers[name] * radius));
    };
    cells[player].forEach((count, cell) => count && mark("takes", scene.cells[cell], aside));
    actions[player].forEach((kind, action) => kind === WINS && mark("wins", scene.spots[action], -aside));
  });
  return marks;
}

/** A square on each cell of the first player, a diamond on the other's, larger the surer it is. */
export function ownerMarks(scene, owners) {
  const { least_owner: least, owners: range } = scene.layers;
  const radius = discRadius(scene.layers, scene.spots);
  return Array.from(owners, (owner, cell) => {
    const sure = Math.abs(owner);
    if (sure < least || scene.cells[cell] === null) return null;
    const [size, opacity] = range.map(([none, more]) => none + more * sure);
    return symbol(scene, "owners", owner < 0 ? 1 : 0, scene.cells[cell], radius * size, opacity);
  }).filter((mark) => mark !== null);
}

/** A mark for each action whose exact value is known, at the upper edge of its place or disc. */
export function exactMarks(scene, node, legal) {
  const spots = legal.map(({ action }) => scene.spots[action]);
  const radius = discRadius(scene.layers, spots);
  return legal.flatMap(({ action }, number) => {
    const known = exactAction(node, action);
    if (!known || spots[number] === null) return [];
    const [x, y] = spots[number];
    const text = exactMark(known);
    const size = Math.min(SIZE, 0.9 * radius);
    const width = 0.62 * size * text.length + 0.5 * size;
    const { fill, ink: edge } = forAndAgainst(scene.layers, known.outcome);
    const [cx, cy] = [x, y - 0.72 * radius];
    return [
      el("svg:rect", {
        ...{ x: cx - width / 2, y: cy - 0.6 * size, width, height: 1.2 * size, rx: 0.3 * size },
        ...{ fill, stroke: edge, "stroke-width": 1.5 },
      }),
      textAt([cx, cy], size, known.outcome ? "#ffffff" : edge, text, { "font-weight": 700 }),
    ];
  });
}
