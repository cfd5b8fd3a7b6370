/** Starts that people set up: by clicking on a picture, or as the text of a position. */

import { placeOf, shapesOf } from "./board.js";
import { el } from "./dom.js";

/** Draw a game's position. */
function draw(svg, scene, game) {
  const { shown } = game.view();
  const drawn = scene.slots.map((slot, number) => {
    return `<g transform="${placeOf(slot)}">${shapesOf(scene, number, shown[number])}</g>`;
  });
  svg.innerHTML = scene.ground + drawn.join("");
}

const pictureOf = ({ box }) => el("svg:svg", { viewBox: box.join(" "), "aria-hidden": "true" });

/**
 * The text of a position, and its picture, which follows what is typed, or the reason why it is none.
 * @param {object} board `{engine, scene}` of the variant.
 * @param {string} text the text at first.
 * @returns {{input: HTMLElement, picture: HTMLElement}}
 */
export function positionField({ engine, scene }, text) {
  const game = engine.newGame();
  const svg = pictureOf(scene);
  const told = el("output", {});
  const input = el("input", {
    ...{ type: "text", value: text, spellcheck: "false", oninput: show },
    "aria-label": "Position as text",
  });

  function show() {
    try {
      game.start(0, input.value);
      told.textContent = "";
      draw(svg, scene, game);
    } catch ({ message }) {
      told.textContent = `${message}.`;
    }
  }

  show();
  return { input, picture: el("div", { class: "position" }, svg, told) };
}

/**
 * A picture of a start with a button on each place.
 * @param {object} board `{engine, scene}` of the variant.
 * @param {string} letters letters of the first diagram.
 * @param {(letters: string) => void} changed called after each change.
 * @returns {HTMLElement}
 */
export function diagramField({ engine, scene }, letters, changed) {
  const { letters: kinds, names, places, spots } = scene.diagram;
  const [left, top, width, height] = scene.box;
  const game = engine.newGame();
  const svg = pictureOf(scene);
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
    draw(svg, scene, game);
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
