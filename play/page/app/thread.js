/** The page's end of a thread, which does one thing at a time, in the order of the requests. */

export class Thread {
  #script;
  #name;
  #worker = null;
  #waiting = new Map(); // callers by id: {resolve, reject, onReport}
  #lastId = 0;
  #opening = null; // the arguments of `open`
  #opened = null; // promise of opening; null if it must be opened (again) when needed

  /**
   * @param {string} script file of the thread, beside index.html.
   * @param {string} name name of the thread in messages about failures.
   */
  constructor(script, name) {
    this.#script = script;
    this.#name = name;
  }

  /**
   * Work on something else from now on; earlier work ends. Files are loaded when they are needed.
   * @param {object} message message for the thread's "open".
   * @param {(loading: boolean) => void} onLoading called with true when the thread reports
   *   that it loads files, and with false when it is open or has failed.
   */
  open(message, onLoading = () => {}) {
    this.stop();
    this.#opening = { message, onLoading };
    this.#opened = null;
  }

  /**
   * Let the thread do a job.
   * @param {object} job the message, with its type.
   * @param {object} [run]
   * @param {AbortSignal} [run.signal] ends the job with the results so far.
   * @param {(report: object) => void} [run.onReport]
   * @returns {Promise<object | null>} null if it was ended, or something else was opened, before it
   *   began; rejects with an Error if the thread cannot open or do it.
   */
  async run(job, { signal, onReport = () => {} } = {}) {
    const opening = this.#opening;
    await this.#open();
    if (signal?.aborted || this.#opening !== opening) return null;
    return this.#ask(job, onReport, signal);
  }

  /** Whether the thread's files were loaded, or are being loaded. */
  get isOpened() {
    return this.#opened !== null;
  }

  /** End all work in progress. */
  stop() {
    for (const id of this.#waiting.keys()) this.#worker.postMessage({ type: "stop", id });
  }

  #open() {
    if (this.#opened === null) {
      const { message, onLoading } = this.#opening;
      const opened = this.#ask({ type: "open", ...message }, () => onLoading(true));
      const ended = opened.finally(() => onLoading(false));
      this.#opened = ended;
      ended.catch(() => {
        if (this.#opened === ended) this.#opened = null;
      });
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
    const worker = new Worker(new URL(`../${this.#script}`, import.meta.url), { type: "module" });
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
      const file = `${this.#script} or a file that it needs could not be loaded`;
      const failure = new Error(`${this.#name} has failed: ${event.message || file}`);
      for (const { reject } of this.#waiting.values()) reject(failure);
      this.#waiting.clear();
      this.#worker = null;
      this.#opened = null;
      worker.terminate();
    });
    return worker;
  }
}
