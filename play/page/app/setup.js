/** The dialog in which a game, a board and the players are chosen. */

import { suitingLevel } from "./adapting.js";
import { address, whyNoDiagram } from "./catalog.js";
import { diagramField } from "./diagram.js";
import { isTaught } from "./lesson.js";
import { button, el, radios, selection } from "./dom.js";
import { openDialog } from "./dialogs.js";
import { capital } from "./panels.js";
import { levelInWords, MOST_SECONDS, MOST_SIMULATIONS, PERSON } from "./seats.js";

const KINDS = {
  auto: "One that suits me",
  level: "A level that I choose",
  network: "Full strength, with a limit",
  random: "Random moves",
  person: "A person beside me",
};
const MOST = { simulations: MOST_SIMULATIONS, seconds: MOST_SECONDS }; // of a move
const SIDES = { 0: "First", 1: "Second", lot: "By lot", watch: "I watch" };

/** The choice of a visitor who has none stored. */
const FIRST_CHOICE = Object.freeze({
  side: "0",
  clock: false,
  opponents: [
    { kind: "level", level: 3, amount: 128, unit: "simulations" },
    { kind: "auto", level: 3, amount: 128, unit: "simulations" },
  ],
});

/** The last choice, as it was stored; `FIRST_CHOICE` if it is not valid. */
export function readChoice(stored) {
  const isText = (value) => value === undefined || value === null || typeof value === "string";
  const isOpponent = (value) => {
    if (typeof value !== "object" || value === null) return false;
    const { kind, level, amount, unit } = value;
    const most = MOST[unit];
    const isWhole = [level, amount].every((each) => Number.isInteger(each) && each >= 1);
    return Object.hasOwn(KINDS, kind) && isWhole && most !== undefined && amount <= most;
  };
  const { game, variant, diagram, side, clock, opponents } = stored ?? {};
  const isChoice =
    [game, variant, diagram].every(isText) &&
    Object.hasOwn(SIDES, side) &&
    typeof clock === "boolean" &&
    Array.isArray(opponents) &&
    opponents.length === FIRST_CHOICE.opponents.length &&
    opponents.every(isOpponent);
  return structuredClone(isChoice ? stored : FIRST_CHOICE);
}

/** Let a choice offer the game that was just played: its opponent, and the person's side. */
export function offerAgain(chosen, { seats, person, studying, live }) {
  if (studying || live.ply === 0) return;
  const isShared = seats.every(({ kind }) => kind === "person");
  if (person === null && !isShared) return;
  const { kind, level, adapts, ...amounts } = isShared ? PERSON : seats[1 - person];
  const [[unit, amount] = []] = Object.entries(amounts);
  const opponent = chosen.opponents[1];
  Object.assign(opponent, { kind: adapts ? "auto" : kind }, level && { level }, unit && { unit, amount });
  if (chosen.side === "watch" || (!isShared && chosen.side !== "lot")) chosen.side = String(person ?? 0);
}

function select(label, entries, value, onchange) {
  const field = selection({}, entries, value, onchange);
  return el("label", { class: "field" }, el("span", {}, label), field);
}

/**
 * Ask what to play.
 * @param {import("./catalog.js").Catalog} catalog
 * @param {object} chosen as from `readChoice`: `{game, variant, diagram, side, clock, opponents}`,
 *   with the game's name, the variant's id and the letters of a start that people set up. The
 *   dialog updates it.
 * @param {object} may
 * @param {string | null} may.goOn id of the variant whose position can be played on, or null.
 * @param {object} on
 * @param {(choice: {game, variant, diagram, seats, goOn: boolean}) => Promise<void>} on.start
 * @param {(game: object) => Promise<void>} on.teach begin the guided game.
 * @returns {HTMLDialogElement}
 */
export function setupDialog(catalog, chosen, { goOn }, { start, teach }) {
  const body = el("div", { class: "setup" });
  const told = el("p", { class: "told", role: "alert" });
  let from = "start";
  let levels = [];
  let board = null; // board of a variant whose start people set up

  const entry = () => {
    const game = catalog.game(chosen.game) ?? catalog.games[0];
    const there = catalog.plainVariants(game);
    const plain = there.find(({ id }) => id === chosen.variant) ?? there[0];
    const clocked = catalog.withClock(game, plain, true);
    return { game, plain, clocked, variant: (chosen.clock && clocked) || plain };
  };

  async function draw(focus) {
    const { game, plain, clocked, variant } = entry();
    chosen.game = game.name;
    chosen.variant = plain.id;
    const found = { levels: [], board: null, fault: "" };
    try {
      found.levels = await catalog.levels(variant);
      if (variant.diagram?.is_own) found.board = await catalog.board(variant);
    } catch (error) {
      found.fault = error.message;
    }
    if (entry().variant !== variant) return;
    ({ levels, board } = found);
    told.textContent = found.fault;
    const change = (key) => (value) => {
      chosen[key] = value;
      draw(key);
    };
    const games = catalog.games.map(({ name, title, lesson }) => [name, title, lesson && address(lesson.picture)]);
    const sides = Object.entries(SIDES);
    const parts = [
      ["game", radios("Game", games, game.name, change("game"), "cards")],
      ["summary", summary(game)],
      ["variant", variants(catalog.plainVariants(game), plain, change("variant"))],
      ["diagram", board && diagramField(board, diagramOf(variant), (it) => (chosen.diagram = it))],
      ["clock", clocked && clockField(clocked.clock)],
      ["side", radios("My side", sides, chosen.side, change("side"))],
      ...(chosen.side === "watch" ? [0, 1] : [1]).map((seat) => [
        `seat${seat}`,
        opponent(seat, variant),
      ]),
      ["from", goOn === variant.id ? origin() : null],
    ];
    body.replaceChildren(
      ...parts
        .filter(([, part]) => part)
        .map(([key, part]) => el("div", { "data-part": key }, part)),
    );
    const part = body.querySelector(`[data-part="${focus}"]`);
    const fields = ["input:checked", "input[type=checkbox]", "select"];
    fields.map((field) => part?.querySelector(field)).find(Boolean)?.focus();
  }

  /** The rules in short, and the way to a guided game. */
  function summary(game) {
    const { lesson } = game;
    const named = lesson
      ? [["Goal", lesson.goal], ["A move", lesson.move], ["The end", lesson.end]]
      : [["The game", sentence(game.summary)]];
    const style = isTaught(game) ? "" : "primary";
    return el(
      "div",
      { class: "summary" },
      el("dl", { class: "short" }, named.flatMap(([word, text]) => [el("dt", {}, word), el("dd", {}, text)])),
      el("p", { class: "faint" }, `${game.credit}.`),
      catalog.teaches(game)
        ? button("Show me how: a guided first game", () => begin(game, () => teach(game)), { class: style })
        : null,
    );
  }

  /** The letters of the chosen start if they fit the variant, or else of the variant's own. */
  function diagramOf({ diagram }) {
    const { letters, places } = diagram;
    const isOne = chosen.diagram?.length === places && [...chosen.diagram].every((each) => letters.includes(each));
    return isOne ? chosen.diagram : diagram.start;
  }

  function clockField({ name, seconds, task }) {
    const input = el("input", { type: "checkbox", checked: Boolean(chosen.clock) });
    input.addEventListener("change", () => {
      chosen.clock = input.checked;
      draw("clock");
    });
    const time = seconds === 60 ? "one minute" : `${seconds} seconds`;
    return el("label", { class: "check" }, input, `${capital(name)}: ${time} to ${task}`);
  }

  function variants(there, variant, onchange) {
    if (there.length < 2) return null;
    const entries = there.map(({ id, title, network }) => [
      id,
      network ? title : `${title} (without an agent)`,
    ]);
    return select("Board and rules", entries, variant.id, onchange);
  }

  function origin() {
    const entries = [
      ["start", "The start"],
      ["here", "The position on the board"],
    ];
    return radios("Begin with", entries, from, (value) => (from = value));
  }

  /** The kinds of opponents on a board, with their texts: entries of `KINDS`. */
  function kinds(variant) {
    const isThere = {
      level: levels.length > 0,
      auto: levels.length > 0 && chosen.side !== "watch",
      network: variant.network !== null,
      random: true,
      person: chosen.side !== "watch",
    };
    return Object.entries(KINDS).filter(([kind]) => isThere[kind]);
  }

  function opponent(seat, variant) {
    const choice = chosen.opponents[seat];
    const there = kinds(variant);
    const kind = there.some(([each]) => each === choice.kind) ? choice.kind : there[0][0];
    const label = chosen.side === "watch" ? ["First player", "Second player"][seat] : "Opponent";
    const onKind = (value) => {
      choice.kind = value;
      draw(`seat${seat}`);
    };
    const more = { level: levelField, auto: () => suitingField(variant), network: networkField }[kind];
    return el("div", {}, select(label, there, kind, onKind), more?.(choice) ?? "");
  }

  const words = (level) => levelInWords(level, levels);

  function suitingField(variant) {
    const now = words(suitingLevel(variant, levels));
    return el("p", { class: "faint" }, `It gets stronger when you win, and weaker when you lose. Now it plays at level ${now}.`);
  }

  function levelField(choice) {
    const level = Math.min(choice.level, levels.length);
    const output = el("output", {}, words(level));
    const range = el("input", {
      type: "range",
      min: 1,
      max: levels.length,
      step: 1,
      value: level,
      "aria-label": "Level",
      "aria-valuetext": words(level),
    });
    range.addEventListener("input", () => {
      choice.level = Number(range.value);
      output.textContent = words(choice.level);
      range.setAttribute("aria-valuetext", words(choice.level));
    });
    return el("label", { class: "field" }, el("span", {}, "Level"), range, output);
  }

  function networkField(choice) {
    const most = MOST[choice.unit];
    const amount = el("input", {
      type: "number",
      min: 1,
      max: most,
      step: 1,
      required: true,
      value: Math.min(choice.amount, most),
      "aria-label": "Amount",
    });
    // The browser does not submit another number, and the choice, which is stored, never gets one.
    amount.addEventListener("input", () => {
      if (amount.validity.valid) choice.amount = amount.valueAsNumber;
    });
    const units = [
      ["simulations", "simulations a move"],
      ["seconds", "seconds a move"],
    ];
    const unit = selection({ "aria-label": "Unit" }, units, choice.unit, (value) => {
      choice.unit = value;
      choice.amount = value === "seconds" ? 2 : 128;
      amount.max = MOST[value];
      amount.value = choice.amount;
    });
    return el(
      "div",
      { class: "field" },
      el("span", {}, "Strength"),
      el("div", { class: "row" }, amount, unit),
    );
  }

  function seatOf(seat, variant) {
    const choice = chosen.opponents[seat];
    const there = kinds(variant).map(([kind]) => kind);
    const kind = there.includes(choice.kind) ? choice.kind : there[0];
    if (kind === "level") return { kind, level: Math.min(choice.level, levels.length) };
    if (kind === "auto") return { kind: "level", level: suitingLevel(variant, levels), adapts: true };
    if (kind === "network") return { kind, [choice.unit]: choice.amount };
    return { kind };
  }

  function seats(variant) {
    if (chosen.side === "watch") return [seatOf(0, variant), seatOf(1, variant)];
    const side = chosen.side === "lot" ? Math.floor(2 * Math.random()) : Number(chosen.side);
    const other = seatOf(1, variant);
    return side === 0 ? [PERSON, other] : [other, PERSON];
  }

  /** `{game, variant, diagram}` with the chosen start; throws an `Error` if that is not a start. */
  function begun(game, variant) {
    if (!variant.diagram?.is_own) return { game, variant, diagram: null };
    const diagram = diagramOf(variant);
    const why = whyNoDiagram(diagram, variant.diagram);
    if (why) throw new Error(`This is not a start: ${why}.`);
    return catalog.withDiagram(game, variant, diagram);
  }

  function submit(event) {
    event.preventDefault();
    const { game, variant } = entry();
    const goesOn = from === "here" && goOn === variant.id;
    return begin(game, () => start({ ...begun(game, variant), seats: seats(variant), goOn: goesOn }));
  }

  /** Begin something, and say so; the dialog stays, with a message, if it fails. */
  async function begin(game, work) {
    told.textContent = `Loading ${game.title}…`;
    play.disabled = true;
    try {
      await work();
      dialog.close();
    } catch (error) {
      told.textContent = error.message;
    }
    play.disabled = false;
  }

  const play = el("button", { type: "submit", class: "primary" }, "Play");
  const form = el(
    "form",
    { onsubmit: submit },
    body,
    told,
    el(
      "div",
      { class: "row end" },
      button("Cancel", () => dialog.close()),
      play,
    ),
  );
  const dialog = openDialog("New game", form);
  draw("game");
  return dialog;
}

function sentence(text) {
  return capital(text) + (text.endsWith(".") ? "" : ".");
}
