/**
 * A thread's end of `Thread` (app/thread.js): it takes messages `{type, id, ...}`, handles
 * them one after the other, and answers each with `{id, done}` or `{id, error}`. Only "stop" waits for
 * no other and has no answer: it asks the work on the message with its id to end.
 */

const stops = new Map();
let ended = Promise.resolve(); // resolves when all earlier messages are done

/**
 * @param {Object<string, (message: object, stop: AbortController) => any>} works handlers by type;
 *   their return values, or the values of their promises, are the answers. "stop" aborts `stop`.
 */
export function serve(works) {
  self.addEventListener("message", ({ data }) => {
    if (data.type === "stop") {
      stops.get(data.id)?.abort();
      return;
    }
    const stop = new AbortController();
    stops.set(data.id, stop);
    ended = ended.then(() => answer(data.id, () => works[data.type](data, stop)));
  });
}

async function answer(id, work) {
  try {
    self.postMessage({ id, done: await work() });
  } catch (error) {
    self.postMessage({ id, error: error.message });
  }
  stops.delete(id);
}
