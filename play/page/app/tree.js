/**
 * A game with all its variations: nodes, each of which is an action that led from its parent.
 *
 * The first child of a node continues its line. A node copies the mover and the outcome of its
 * position from the engine's game.
 */

export class Node {
  constructor(parent, action, text, role, { mover, outcome }) {
    this.parent = parent;
    this.action = action;
    this.text = text;
    this.role = role; // role of the player of the action, see the scene
    this.mover = mover;
    this.outcome = outcome;
    this.ply = parent ? parent.ply + 1 : 0;
    this.children = [];
    this.comment = "";
    this.found = null; // the result of a search, see analyst.js
    this.exact = null; // its exact values, see exact.js
    this.threats = null; // computed on demand, see table.js
    this.ownership = null; // likewise
  }

  get isOver() {
    return this.outcome !== 0;
  }

  /** The nodes from the first move to this one. */
  get path() {
    const path = [];
    for (let node = this; node.parent; node = node.parent) path.unshift(node);
    return path;
  }

  get actions() {
    return this.path.map((node) => node.action);
  }

  /** The last node of the line that continues from here by first children. */
  get end() {
    let node = this;
    while (node.children.length) node = node.children[0];
    return node;
  }

  /** This node and all after it, in an order that the tree alone decides. */
  get all() {
    const nodes = [this];
    for (const node of nodes) nodes.push(...node.children);
    return nodes;
  }

  childBy(action) {
    return this.children.find((child) => child.action === action) ?? null;
  }

  isWithin(other) {
    for (let node = this; node; node = node.parent) if (node === other) return true;
    return false;
  }

  /** Remove this node, with everything after it, from the tree. */
  remove() {
    this.parent.children = this.parent.children.filter((child) => child !== this);
  }

  /** Make every node from the start to this one the first child of its parent. */
  promote() {
    for (const node of this.path) {
      const others = node.parent.children.filter((child) => child !== node);
      node.parent.children = [node, ...others];
    }
  }
}
