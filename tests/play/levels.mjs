// Reads {choices, ladders} on standard input; writes the probabilities and draws of each choice, and
// the levels of each ladder or the error, by play/js/levels.js.

import { readFileSync } from "node:fs";
import { choiceProbabilities, chooseMove, readLevels } from "../../play/js/levels.js";

const { choices, ladders } = JSON.parse(readFileSync(0, "utf-8"));
const numbers = (list) => Float32Array.from(list, (each) => each ?? NaN);

const chosen = choices.map(({ action, policy, actionValues, knobs, lot }) => {
  const found = { action, policy: numbers(policy), actionValues: numbers(actionValues) };
  return {
    chances: knobs.temperature ? [...choiceProbabilities(found, knobs)] : null,
    drawn: chooseMove(found, knobs, () => lot),
  };
});
const levels = ladders.map((text) => {
  try {
    return readLevels(text);
  } catch (error) {
    return error.message;
  }
});
process.stdout.write(JSON.stringify({ chosen, levels }));
