/** Work that is done at most a few times a second, however often it is asked for. */

export class Throttle {
  #work;
  #pause;
  #timer = null;
  #isWanted = false;

  /**
   * @param {() => void} work
   * @param {number} pause ms between one time and the next.
   */
  constructor(work, pause) {
    this.#work = work;
    this.#pause = pause;
  }

  /** Do the work now, or as soon as the pause is over. */
  ask() {
    this.#isWanted = true;
    if (this.#timer === null) this.flush();
  }

  /** Do at once what still waits. */
  flush() {
    if (!this.#isWanted) return;
    this.#isWanted = false;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.flush();
    }, this.#pause);
    this.#work();
  }

  /** Forget what still waits. */
  drop() {
    this.#isWanted = false;
  }
}
