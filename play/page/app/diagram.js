/** A start that the players set up by clicking: its picture, with a button on each place. */

import { placeOf, shapesOf } from "./board.js";
import { el } from "./dom.js";

/**
 * @param {object} board `{engine, scene}` of the variant.
 * @param {string} letters letters of the first diagram.
 * @param {(letters: string) => void} changed called after each change.
 * @returns {HTMLElement}
 */
export function diagramField({ engine, scene }, letters, changed) {
  const { letters: kinds, names, places, spots } = scene.diagram;
  const [left, top, width, height] = scene.box;
  const game = engine.newGame();
  const svg = el("svg:svg", { viewBox: scene.box.join(" "), "aria-hidden": "true" });
  const told = el("output", {});
  const buttons = spots.map(([x, y], place) =>
    el("button", {
      type: "button",
      style: `left:${(100 * (x - left)) / width}%;top:${(100 * (y - top)) / height}%`,
      onclick: () => turn(place),
    }),
  );

  function turn(place) {
    const other = kinds[letters[place] === kinds[0] ? 1 : 0];
    letters = letters.slice(0, place) + other + letters.slice(place + 1);
    show();
    changed(letters);
  }

  function show() {
    game.start(
      0,
      [...letters].map((letter) => letter === kinds[0]),
    );
    const { shown } = game.view();
    const drawn = scene.slots.map((slot, number) => {
      return `<g transform="${placeOf(slot)}">${shapesOf(scene, number, shown[number])}</g>`;
    });
    svg.innerHTML = scene.ground + drawn.join("");
    buttons.forEach((button, place) => {
      const name = names[kinds.indexOf(letters[place])];
      button.setAttribute("aria-label", `${places[place]}: ${name}`);
    });
    const counts = [...kinds].map((kind) => letters.split(kind).length - 1);
    const isEven = counts[0] === counts[1];
    told.textContent =
      names.map((name, kind) => `${counts[kind]} ${name}`).join(", ") +
      (isEven ? "." : `; there must be ${spots.length / 2} of each.`);
  }

  show();
  return el(
    "fieldset",
    { class: "diagram" },
    el("legend", {}, "The start: press a place to change whose it is"),
    el("div", {}, svg, buttons),
    told,
  );
}
