/**
 * A thread's end of `Thread` (app/thread.js): it takes messages `{type, id, ...}`, does what they ask
 * for one after the other, and answers each with `{id, done}` or `{id, error}`. "stop" with an id
 * ends what was asked for with it.
 */

const stops = new Map();
let ended = Promise.resolve(); // when all that was asked for before has ended

/**
 * @param {Object<string, (message: object, stop: AbortController) => any>} works by type; what
 *   they return, or come to, is the answer.
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
