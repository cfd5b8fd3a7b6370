/** The page's end of worker.js, in which agents think. */

import { Thread } from "./thread.js";

export class Thinker {
  #thread = new Thread("worker.js", "The agent's thread");

  /**
   * Think about a game from now on; earlier work ends. Its files are loaded when they are needed.
   * @param {WebAssembly.Module} module
   * @param {string | null} network address of the network's file.
   * @param {(loading: boolean) => void} onLoading called with true when the network is
   *   fetched, and with false when the worker is ready or has failed.
   */
  open(module, network, onLoading = () => {}) {
    this.#thread.open({ module, network }, onLoading);
  }

  /** Search: see `search` of worker.js for the job, and `run` of `Thread` for the rest. */
  search(job, run) {
    return this.#thread.run({ type: "search", ...job }, run);
  }
}
