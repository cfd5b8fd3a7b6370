/** Starts and positions that people set up: by clicking, positions as text too. */

import { ARROWS, placeOf, shapesOf } from "./board.js";
import { button, el, radios, selection } from "./dom.js";

const MOST_LETTERS = 8; // beside each other

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
 * The rows of a board in a position's text, a letter for each cell. Wrong letters stay, missing cells
 * are empty, and what is too much is left out.
 */
function rowsOf(board, { letters, widths, borders }) {
  const isCounted = !/\d/.test(letters[0]);
  const signs = isCounted ? board.replace(/\d+/g, (number) => letters[0].repeat(Math.min(number, 99))) : board;
  const rows = [[]];
  for (const sign of signs) {
    if (borders.includes(sign)) rows.push([]);
    else rows.at(-1).push(sign);
  }
  return widths.map((width, row) => Array.from({ length: width }, (_, cell) => rows[row]?.[cell] ?? letters[0]));
}

/** The inverse of `rowsOf`: the board of a position's text. */
function boardOf(rows, { letters, borders }) {
  const counted = (row) =>
    /\d/.test(letters[0]) ? row.join("") : row.join("").replaceAll(letters[0], " ").replace(/ +/g, ({ length }) => length);
  return rows.map((row, number) => counted(row) + (borders[number] ?? "")).join("");
}

/**
 * Fields for a position: its text; its picture, which follows the text; and a board on which pieces
 * are put, which changes the text, with the reason if the text is no position.
 * @param {object} board `{engine, scene}` of the variant.
 * @param {string} text the text at first.
 * @returns {{input: HTMLElement, picture: HTMLElement, editor: HTMLElement}}
 */
export function positionField({ engine, scene }, text) {
  const game = engine.newGame();
  const form = game.textForm;
  const { letters, widths } = form;
  const svg = pictureOf(scene);
  const told = el("output", {});
  const input = el("input", {
    ...{ type: "text", value: text, spellcheck: "false", oninput: show },
    "aria-label": "Position as text",
  });
  const words = () => input.value.trim().split(/\s+/);
  let letter = letters[1]; // that a click puts
  const cells = widths.map((width, row) =>
    Array.from({ length: width }, (_, cell) =>
      button("", () => put(row, cell, letter), { tabindex: row || cell ? -1 : 0, onkeydown: (event) => key(event, row, cell) }),
    ),
  );
  const nameOf = (sign) => (sign === letters[0] ? "empty" : sign);
  const movers = radios("To move", [["0", "Player 1"], ["1", "Player 2"]], words()[1], (mover) => write(words()[0], mover));
  const entries = [...letters].map((sign) => [sign, nameOf(sign)]);
  const choose = (sign) => (letter = sign);
  const palette =
    letters.length > MOST_LETTERS
      ? el("label", {}, "Put ", selection({}, entries, letter, choose))
      : radios("Put", entries, letter, choose);

  function write(board, mover) {
    input.value = [board, mover, ...words().slice(2)].join(" ");
    show();
  }

  function put(row, cell, sign) {
    const rows = rowsOf(words()[0], form);
    rows[row][cell] = sign;
    write(boardOf(rows, form), words()[1] ?? "0");
  }

  /** Arrows go to another cell, letters are put, Backspace and Delete empty the cell. */
  function key(event, row, cell) {
    const [right, down] = ARROWS[event.key] ?? [0, 0];
    const sign = ["Backspace", "Delete"].includes(event.key) ? letters[0] : event.key;
    const next = cells[row + down]?.[Math.min(cell + right, widths[row + down] - 1)];
    if (right || down) next?.focus();
    else if (letters.includes(sign)) put(row, cell, sign);
    else return;
    event.preventDefault();
  }

  function show() {
    rowsOf(words()[0], form).forEach((row, number) =>
      row.forEach((sign, place) => {
        const cell = cells[number][place];
        cell.textContent = sign === letters[0] && !/\d/.test(sign) ? "" : sign;
        cell.setAttribute("aria-label", `Row ${number + 1}, cell ${place + 1}: ${nameOf(sign)}`);
      }),
    );
    for (const each of movers.querySelectorAll("input")) each.checked = each.value === words()[1];
    try {
      game.start(0, input.value);
      told.textContent = "";
      draw(svg, scene, game);
    } catch ({ message }) {
      told.textContent = `${message}.`;
    }
  }

  show();
  const rows = cells.map((row, number) => el("div", { class: (form.borders[number] ?? "/") === "/" ? null : "border" }, row));
  const board = el("div", { class: "cells", role: "group", "aria-label": "Board" }, rows);
  const editor = el("details", {}, el("summary", {}, "Set up by clicking"), palette, board, movers);
  return { input, picture: el("div", { class: "position" }, svg), editor: el("div", {}, editor, told) };
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
