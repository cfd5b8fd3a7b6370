/**
 * Fetches files of the site, for the page and its threads. What may be a passing failure, of the
 * connection or the server, is retried; then it is reported.
 */

const TRIES = 3;
const PAUSE = 600; // ms before the second try; each further pause is twice as long

const BASE = new URL("./", import.meta.url).href;

const wait = (time) => new Promise((resolve) => setTimeout(resolve, time));

/**
 * Fetch a file of the site.
 * @param {string} address
 * @param {string} what the file's name for people, at the beginning of a sentence.
 * @returns {Promise<Response>}
 * @throws {Error} a sentence for the page, which names the file.
 */
export async function fetchFile(address, what) {
  const failure = `${what} (${address.replace(BASE, "")}) could not be loaded`;
  for (let left = TRIES - 1, pause = PAUSE; ; left -= 1, pause *= 2) {
    const answer = await fetch(address).catch(() => null);
    if (answer?.ok) return answer;
    const isGone = answer !== null && answer.status < 500; // a retry would give the same answer
    if (isGone) throw new Error(`${failure}: the server said ${answer.status}.`);
    if (left === 0) {
      const why = answer ? `the server said ${answer.status}` : "is there a connection?";
      throw new Error(`${failure}: ${why}.`.replace("?.", "?"));
    }
    await wait(pause);
  }
}
