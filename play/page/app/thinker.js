/** The page's end of worker.js: one thing is thought about at a time, in the order of asking. */

export class Thinker {
  #worker = null;
  #waiting = new Map(); // by id: resolve, reject, onReport
  #lastId = 0;
  #game = null; // what open was called with
  #opened = null; // null: to be opened (again) when it is needed

  /**
   * Think about a game from now on; what was asked before ends. It is loaded when it is needed.
   * @param {WebAssembly.Module} module
   * @param {string | null} network address of its file.
   * @param {(loading: boolean) => void} onLoading while the network is fetched.
   */
  open(module, network, onLoading = () => {}) {
    this.stop();
    this.#game = { module, network, onLoading };
    this.#opened = null;
  }

  /**
   * Search; see `search` of worker.js for the job.
   * @param {object} job
   * @param {object} [run]
   * @param {AbortSignal} [run.signal] ends the search with what it has found.
   * @param {(report: object) => void} [run.onReport]
   * @returns {Promise<object | null>} null if it was ended before it began.
   */
  async search(job, { signal, onReport = () => {} } = {}) {
    await this.#open();
    if (signal?.aborted) return null;
    return this.#ask({ type: "search", ...job }, onReport, signal);
  }

  /** End all that is under way. */
  stop() {
    for (const id of this.#waiting.keys()) this.#worker.postMessage({ type: "stop", id });
  }

  #open() {
    if (this.#opened === null) {
      const { module, network, onLoading } = this.#game;
      const opened = this.#ask({ type: "open", module, network }, () => onLoading(true));
      this.#opened = opened.finally(() => onLoading(false));
      this.#opened.catch(() => (this.#opened = null));
    }
    return this.#opened;
  }

  #ask(message, onReport, signal) {
    this.#worker ??= this.#start();
    const id = (this.#lastId += 1);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, onReport });
      this.#worker.postMessage({ ...message, id });
      signal?.addEventListener("abort", () => this.#worker?.postMessage({ type: "stop", id }));
    });
  }

  #start() {
    const worker = new Worker(new URL("../worker.js", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data }) => {
      const waiting = this.#waiting.get(data.id);
      if (!("done" in data) && !("error" in data)) {
        waiting?.onReport(data);
        return;
      }
      this.#waiting.delete(data.id);
      if ("error" in data) waiting?.reject(new Error(data.error));
      else waiting?.resolve(data.done);
    });
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      const why = event.message || "worker.js or a file that it needs could not be loaded";
      const failure = new Error(`The agent's thread has failed: ${why}`);
      for (const { reject } of this.#waiting.values()) reject(failure);
      this.#waiting.clear();
      this.#worker = null;
      this.#opened = null;
      worker.terminate();
    });
    return worker;
  }
}
