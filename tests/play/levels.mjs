// Reads the texts of ladders on standard input; writes the levels of each, or the error, by
// play/js/levels.js.

import { readFileSync } from "node:fs";
import { readLevels } from "../../play/js/levels.js";

const ladders = JSON.parse(readFileSync(0, "utf-8"));
const levels = ladders.map((text) => {
  try {
    return readLevels(text);
  } catch (error) {
    return error.message;
  }
});
process.stdout.write(JSON.stringify(levels));
