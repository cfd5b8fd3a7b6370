/** Dialogs of the page; the page goes on behind them. */

import { button, el } from "./dom.js";
import { textOf } from "./records.js";

/**
 * Show a modal dialog; Escape closes it, and so does a click that begins and ends beside it.
 * @returns {HTMLDialogElement}
 */
export function openDialog(title, ...content) {
  const id = "dialog-title";
  const dialog = el("dialog", { "aria-labelledby": id }, el("h2", { id }, title), ...content);
  dialog.addEventListener("close", () => dialog.remove());
  const isBeside = ({ target, clientX, clientY }) => {
    const { left, right, top, bottom } = dialog.getBoundingClientRect();
    const isWithin = left <= clientX && clientX <= right && top <= clientY && clientY <= bottom;
    return target === dialog && !isWithin;
  };
  let isPressedBeside = false;
  dialog.addEventListener("pointerdown", (event) => {
    isPressedBeside = isBeside(event);
  });
  dialog.addEventListener("click", (event) => {
    if (isPressedBeside && isBeside(event)) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Ask a question; `onYes` is called if the button `yes` is pressed. */
export function confirmed(question, yes, onYes) {
  const dialog = openDialog(
    question,
    el(
      "div",
      { class: "row end" },
      button("Cancel", () => dialog.close()),
      button(
        yes,
        () => {
          dialog.close();
          onYes();
        },
        { class: "primary" },
      ),
    ),
  );
}

/**
 * Share, save and load.
 * @param {object} given
 * @param {string} given.address address of the game.
 * @param {() => string} given.record the game as text.
 * @param {object | ""} given.position from `positionField`, with `play` and `analyse`, which begin at a
 *   text and reject with a message; empty if positions of the game have no text.
 * @param {string} given.file name of a saved file.
 * @param {(text: string) => Promise<void>} given.load read a record; rejects with a message.
 */
export function shareDialog({ address, record, position, file, load }) {
  const told = el("p", { class: "told", role: "status" });
  const link = el("input", {
    type: "text",
    readonly: true,
    value: address,
    "aria-label": "Link to this game",
  });
  link.addEventListener("focus", () => link.select());
  const text = el("textarea", { rows: 9, spellcheck: "false", "aria-label": "Record of a game" });
  try {
    text.value = record();
  } catch (error) {
    told.textContent = `The game cannot be written: ${error.message}.`;
  }
  const picked = el("input", {
    type: "file",
    accept: ".json,.txt,application/json,text/plain",
    class: "unseen",
    tabindex: "-1",
    "aria-hidden": "true",
  });
  const read = async (from, begin = load) => {
    try {
      await begin(await from);
      dialog.close();
    } catch (error) {
      told.textContent = `This cannot be loaded: ${error.message}.`.replace(/\.\.$/, ".");
    }
  };
  const ofFile = (file) => file.arrayBuffer().then(textOf);
  picked.addEventListener("change", () => picked.files.length && read(ofFile(picked.files[0])));
  const copy = (what, name) => async () => {
    try {
      await navigator.clipboard.writeText(what.value);
      told.textContent = `The ${name} is copied.`;
    } catch {
      what.focus();
      what.select();
      told.textContent = `The ${name} is selected: copy it with your keyboard or menu.`;
    }
  };
  const dialog = openDialog(
    "Share, save, load",
    el("h3", {}, "Link"),
    el("div", { class: "row" }, link, button("Copy", copy(link, "link"))),
    ...(position
      ? [
          el("h3", {}, "Position"),
          position.picture,
          el(
            "div",
            { class: "row" },
            position.input,
            button("Copy", copy(position.input, "position"), { label: "Copy the position" }),
          ),
          position.editor,
          el(
            "div",
            { class: "row" },
            button("Play from here", () => read(position.input.value, position.play)),
            button("Analyse", () => read(position.input.value, position.analyse)),
          ),
        ]
      : []),
    el("h3", {}, "Record"),
    el("p", { class: "faint" }, "The game as a record. To load another, paste it or a link here, or write its moves: c3 b2 c3!"),
    text,
    el(
      "div",
      { class: "row" },
      button("Copy", copy(text, "record"), { label: "Copy the record" }),
      button("Save as a file", () => save(text.value, file)),
      button("Load this text", () => read(text.value)),
      button("Load a file…", () => picked.click()),
      picked,
    ),
    told,
    el("div", { class: "row end" }, button("Close", () => dialog.close(), { class: "primary" })),
  );
}

/**
 * The games that this browser keeps.
 * @param {{id: string, title: string, players: string[], plies: number, result: number[] | null,
 *   saved: number, isOpen: boolean}[]} games
 * @param {object} on
 * @param {(id: string) => Promise<void>} on.open continue a game; rejects with a message.
 * @param {(id: string) => void} on.remove forget a game.
 * @param {Promise<boolean>} on.isSafe whether the browser never deletes games by itself.
 */
export function gamesDialog(games, { open, remove, isSafe }) {
  const told = el("p", { class: "told", role: "alert" });
  const list = el("ul", { class: "games" });
  const kept = el("p", { class: "faint" }, "This browser keeps the last 50 games here, until you remove them.");
  Promise.resolve(isSafe).then((safe) => {
    if (!safe) kept.append(" Some browsers delete them after a week without a visit, or when space is short: save what you want to keep as a file (Share).");
  });
  const ago = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });
  const go = async (id) => {
    try {
      await open(id);
      dialog.close();
    } catch (error) {
      told.textContent = error.message;
    }
  };
  for (const { id, title, players, plies, result, saved, isOpen } of games) {
    const names = [0, 1].map((player) => players[player] || `Player ${player + 1}`);
    const winner = result?.indexOf(1) ?? -1;
    const won = names[0] === names[1] ? `Player ${winner + 1}` : names[winner];
    const state = !result ? "not over" : winner < 0 ? "drawn" : `${won} has won`;
    const between = players.some(Boolean) ? `${names.join(" against ")}, ` : "";
    const moves = `${plies} ${plies === 1 ? "move" : "moves"}`;
    const row = el(
      "li",
      {},
      el(
        "span",
        { class: "game" },
        el("strong", {}, title),
        el("span", { class: "faint" }, `${between}${moves}, ${state}, ${ago.format(saved)}`),
      ),
      isOpen ? el("span", { class: "faint" }, "on the board") : button("Open", () => go(id)),
      isOpen
        ? null
        : button(
            "Remove",
            () => {
              remove(id);
              row.remove();
            },
            { "aria-label": `Remove this game of ${title}` },
          ),
    );
    list.append(row);
  }
  const dialog = openDialog(
    "Games on this device",
    kept,
    games.length ? list : el("p", {}, "No game has been played here yet."),
    told,
    el("div", { class: "row end" }, button("Close", () => dialog.close(), { class: "primary" })),
  );
}

function save(text, file) {
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  el("a", { href: address, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
