/** Work that is done at most once in a pause, however often it is requested. */

export class Throttle {
  #work;
  #pause;
  #timer = null;
  #isWanted = false;

  /**
   * @param {() => void} work
   * @param {number} pause least ms between two runs, but for those of `flush`.
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

  /** Do pending work at once. */
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

  /** Drop pending work. */
  drop() {
    this.#isWanted = false;
  }
}
