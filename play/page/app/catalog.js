/** The games of the site: the list, and their files. */

import { Engine } from "../engine.js";
import { fetchFile } from "../fetching.js";
import { readLevels } from "../levels.js";

// A module with one 128-bit instruction; the games' modules have such ones.
const SIMD = [
  ...[0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0],
  ...[10, 8, 1, 6, 0, 65, 0, 253, 15, 11],
];

const FORMAT = 2; // format of the list of games

/** Address of a file of the site. */
export const address = (path) => new URL(`../${path}`, import.meta.url).href;

/**
 * Fetch a file of the site.
 * @throws {Error} a sentence for the page.
 */
export const load = (path, what) => fetchFile(address(path), what);

/** @throws {Error} this browser cannot run the games. */
export function checkBrowser() {
  if (typeof WebAssembly === "undefined" || typeof Worker === "undefined") {
    throw new Error("This browser has no WebAssembly or no workers, which the games need.");
  }
  if (!WebAssembly.validate(new Uint8Array(SIMD))) {
    throw new Error(
      "This browser has no WebAssembly SIMD, which the games need: " +
        "Chrome 91, Firefox 89, Safari 16.4 or newer have it.",
    );
  }
}

export class Catalog {
  #boards = new Map();
  #ladders = new Map();

  static async load() {
    const answer = await load("games/index.json", "The list of games");
    const index = await answer.json();
    if (index.format !== FORMAT) {
      throw new Error(`The list of games has format ${index.format}; this page reads ${FORMAT}.`);
    }
    const isKept = !/\bno-store\b/.test(answer.headers.get("cache-control"));
    return new Catalog(index, isKept);
  }

  constructor({ version, games }, isKept) {
    this.version = version;
    this.isKept = isKept; // whether the host lets browsers keep the page
    this.games = games;
  }

  /**
   * The addresses of the files of a game, its variant, its guided game and its puzzles, without
   * its small picture and those for exact values.
   */
  filesOf({ name, rules, lesson, puzzles }, variant) {
    const others = [lesson, puzzles].map((each) => each && this.withOptions(name, each.options)?.variant);
    const boards = [variant, ...others.filter(Boolean)].flatMap(({ module, scene, levels }) => [module, scene, levels]);
    const files = [rules, lesson?.steps, puzzles?.file, variant.network, ...boards];
    return [...new Set(files.filter(Boolean))].map(address);
  }

  /** The steps of a game's guided first game, and its variant; null if the page has none. */
  async lesson(game) {
    const found = game.lesson && this.withOptions(game.name, game.lesson.options);
    if (!found) return null;
    const steps = await (await load(game.lesson.steps, "The guided game")).json();
    return { variant: found.variant, steps };
  }

  /** Whether a game has a guided first game here. */
  teaches(game) {
    return Boolean(game.lesson && this.withOptions(game.name, game.lesson.options));
  }

  /** A game's puzzles, and their variant; null if the page has none. */
  async puzzles(game) {
    const found = this.hasPuzzles(game) && this.withOptions(game.name, game.puzzles.options);
    if (!found) return null;
    const all = await (await load(game.puzzles.file, "The puzzles")).json();
    return { variant: found.variant, all };
  }

  /** Whether a game has puzzles here. */
  hasPuzzles(game) {
    return Boolean(game.puzzles && this.withOptions(game.name, game.puzzles.options));
  }

  game(name) {
    return this.games.find((game) => game.name === name) ?? null;
  }

  /** A variant and its game, by their names, or null. */
  find(name, id) {
    const game = this.game(name);
    const variant = game?.variants.find((each) => each.id === id) ?? null;
    return variant && { game, variant };
  }

  /** The variants of a game that are played without a clock. */
  plainVariants(game) {
    return game.variants.filter((variant) => !hasClock(variant));
  }

  /** A variant with its clock or without it; null if there is no such variant. */
  withClock(game, variant, isOn) {
    if (hasClock(variant) === isOn) return variant;
    if (!variant.clock) return null;
    const options = { ...variant.options, [variant.clock.option]: isOn };
    return this.withOptions(game.name, options)?.variant ?? null;
  }

  /**
   * The variant of a game with these options, as records name them: `{game, variant, diagram}`, or
   * null; `diagram` is null unless the players have set up the start.
   */
  withOptions(name, options) {
    const game = this.game(name);
    const isIt = (each) => !each.diagram?.is_own && plain(each.options) === plain(options);
    const variant = game?.variants.find(isIt) ?? null;
    if (variant) return { game, variant, diagram: null };
    const own = game?.variants.find(
      (each) =>
        each.diagram?.is_own &&
        whyNoDiagram(options[each.diagram.option], each.diagram) === "" &&
        plain(withoutStart(each.options, each)) === plain(withoutStart(options, each)),
    );
    return own ? this.withDiagram(game, own, options[own.diagram.option]) : null;
  }

  /** The variant whose start is a diagram: a named one, or else one that players set up. */
  withDiagram(game, own, diagram) {
    const isIt = (each) =>
      !each.diagram.is_own &&
      each.diagram.start === diagram &&
      plain(withoutStart(each.options, each)) === plain(withoutStart(own.options, own));
    const named = game.variants.find(isIt);
    return named ? { game, variant: named, diagram: null } : { game, variant: own, diagram };
  }

  /** The variant of a kept game, by the variant's id or else by the record's options; or null. */
  findKept({ game, options }, id) {
    const found = this.find(game, id);
    if (!found) return this.withOptions(game, options);
    const { diagram } = found.variant;
    if (!diagram?.is_own) return { ...found, diagram: null };
    const letters = options[diagram.option];
    return whyNoDiagram(letters, diagram) ? null : { ...found, diagram: letters };
  }

  /** Engine and scene of a variant. */
  board(variant) {
    return kept(this.#boards, variant.id, async () => {
      const [module, scene] = await Promise.all([
        load(variant.module, "The rules of the game").then((answer) => Engine.load(answer)),
        load(variant.scene, "The picture of the game").then((answer) => answer.json()),
      ]);
      return { engine: module, scene };
    });
  }

  /** The levels of a variant from `readLevels`; none without a ladder or a network. */
  levels(variant) {
    if (!variant.levels || !variant.network) return Promise.resolve([]);
    return kept(this.#ladders, variant.id, async () => {
      return readLevels(await (await load(variant.levels, "The levels of the game")).text());
    });
  }
}

const plain = (all) => JSON.stringify(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));

/** Options without the one that holds a variant's diagram. */
const withoutStart = (options, { diagram }) => ({ ...options, [diagram.option]: null });

/**
 * The reason why a text is not a diagram of a variant, or an empty text if it is one.
 * @param {unknown} text
 * @param {{letters: string, places: number}} about the variant's `diagram`.
 */
export function whyNoDiagram(text, { letters, places }) {
  if (typeof text !== "string") return `it is ${JSON.stringify(text)}, no text`;
  if (text.length !== places) return `it has ${text.length} letters, not ${places}`;
  const wrong = [...text].find((letter) => !letters.includes(letter));
  if (wrong !== undefined) return `it has the letter “${wrong}”, not ${[...letters].join(" or ")}`;
  const [one, other] = [...letters].map((letter) => text.split(letter).length - 1);
  if (one === other) return "";
  return `it has ${one} ${letters[0]} and ${other} ${letters[1]}, not ${places / 2} of each`;
}

/** Whether a variant is played with its clock. */
export const hasClock = ({ clock, options }) => Boolean(clock && options[clock.option]);

/** The promise of `make` under a key; forgotten if it fails, so that it is tried again. */
function kept(store, key, make) {
  if (!store.has(key)) {
    const promise = make();
    promise.catch(() => store.delete(key));
    store.set(key, promise);
  }
  return store.get(key);
}
