/** What is drawn on top of the board. */

import { el } from "./dom.js";
import { exactAction, exactMark } from "./exact.js";
import { DARK, discRadius, LIGHT } from "./heat.js";

const MARKS = {
  1: { fill: "#0d4891", ink: "#ffffff", edge: LIGHT },
  0: { fill: "#f6f4ee", ink: DARK, edge: DARK },
  "-1": { fill: "#9e4708", ink: "#ffffff", edge: LIGHT },
};
const SIZE = 27; // of the text of a mark

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
