/** The tree of a game, and the engine's game, which can be moved to any node. */

import { shortened } from "./dom.js";
import { Node } from "./tree.js";

export class Table {
  #game;
  #scenes; // the whole picture in one column, and with its lower part at the right
  #from; // the start, as for `Game.start`

  /**
   * @param {import("../engine.js").Engine} engine
   * @param {object} scene NAME.scene.json
   * @param {number} seed seed of the start, if it is random.
   * @param {string | null} diagram letters of a start that people set up, see the scene; null
   *   for the variant's own start.
   * @param {string | null} position text of the position at which the game begins; null: at a start.
   * @throws {Error} it is no position of the game, or the game is over there.
   */
  constructor(engine, scene, seed = 0, diagram = null, position = null) {
    this.engine = engine;
    this.#scenes = [scene, scene.aside ? asideOf(scene) : scene];
    this.scene = scene;
    this.seed = seed;
    this.diagram = diagram;
    this.position = position;
    const first = scene.diagram?.letters[0];
    this.#from = position ?? (diagram && [...diagram].map((letter) => letter === first));
    this.#game = engine.newGame(seed, this.#from);
    this.root = new Node(null, -1, "", -1, this.#game);
    if (position !== null && this.root.isOver) {
      throw new Error(`the game is over at “${shortened(position)}”: give a position to play on from`);
    }
  }

  /** Choose whether the lower part of a tall picture is at the right. */
  arrange(isWide) {
    this.scene = this.#scenes[Number(isWide)];
  }

  /** The engine's game, moved to a node; it stays there until the next call. */
  at(node) {
    const wanted = node.actions;
    const actual = this.#game.actions;
    let common = 0;
    while (common < actual.length && actual[common] === wanted[common]) common += 1;
    for (let left = actual.length; left > common; left -= 1) this.#game.undo();
    for (const action of wanted.slice(common)) this.#game.play(action);
    return this.#game;
  }

  /** A node for another thread: the game's start, and the actions that lead there. */
  way(node) {
    return { seed: this.seed, from: this.#from, actions: node.actions };
  }

  /** The numbers that the picture's slots show after an action at a node. */
  shownAfter(node, action) {
    const game = this.at(node);
    game.play(action);
    const { shown } = game.view();
    game.undo();
    return shown;
  }

  /** The threats of both players at a node, see `Game.threats` of engine.js; computed once. */
  threats(node) {
    node.threats ??= this.at(node).threats();
    return node.threats;
  }

  /** The expected ownership at a node, see `Game.ownership` of engine.js; computed once. */
  ownership(node) {
    node.ownership ??= this.at(node).ownership();
    return node.ownership;
  }

  /** The pose of the mover's piece in hand after a turn (0) or a flip (1), see the scene. */
  nextPose(node, pose, way) {
    return this.at(node).nextPose(pose, way);
  }

  /** The text of a legal action at a node. */
  text(node, action) {
    return this.scene.words[this.at(node).word(action)];
  }

  /** Whether an action is legal at a node. */
  isLegal(node, action) {
    return !node.isOver && this.at(node).isLegal(action);
  }

  /** The legal actions at a node, with their texts. */
  legal(node) {
    const game = this.at(node);
    return game.legalActions.map((action) => ({
      action,
      text: this.scene.words[game.word(action)],
    }));
  }

  /**
   * The node after an action, new or known.
   * @throws {RangeError} it is not legal.
   */
  play(node, action) {
    const known = node.childBy(action);
    if (known) return known;
    const game = this.at(node);
    if (!game.isLegal(action)) {
      const name = this.engine.manifest.description.actions.names[action];
      throw new RangeError(`${name ?? `the action ${action}`} is not legal`);
    }
    const text = this.scene.words[game.word(action)];
    const role = game.view().roles[node.mover];
    game.play(action);
    const child = new Node(node, action, text, role, game);
    node.children.push(child);
    return child;
  }

  /** The node that these actions lead to from the start, up to the first action without a node. */
  follow(actions) {
    let node = this.root;
    for (const action of actions) {
      const child = node.childBy(action);
      if (child === null) break;
      node = child;
    }
    return node;
  }

  /** The legal action with a text (or a number, as text), or null. */
  find(node, text) {
    const game = this.at(node);
    if (/^\d+$/.test(text) && game.isLegal(Number(text))) return Number(text);
    return this.findText(node, text);
  }

  /** The legal action with a text, or null. */
  findText(node, text) {
    return this.legal(node).find((each) => each.text === text)?.action ?? null;
  }

  /** The texts of actions played one after the other from a node. */
  texts(node, actions) {
    const game = this.at(node);
    return actions.map((action) => {
      const text = this.scene.words[game.word(action)];
      game.play(action);
      return text;
    });
  }
}

/** The same scene with its lower part at the right. */
function asideOf(scene) {
  const [left, top, width, height] = scene.box;
  const { aside } = scene;
  const [right, up] = [width, aside.top - top];
  const put = (place) =>
    place && place[1] >= aside.top ? [place[0] + right, place[1] - up, ...place.slice(2)] : place;
  return {
    ...scene,
    box: [left, top, 2 * width, Math.max(up, height - up)],
    aside: { ...aside, ground: `<g transform="translate(${right} ${-up})">${aside.ground}</g>` },
    slots: scene.slots.map(put),
    spots: scene.spots.map(put),
    cells: scene.cells.map(put),
  };
}
