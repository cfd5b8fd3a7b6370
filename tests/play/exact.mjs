// Exact values by a module, for positions given as records.
//   node exact.mjs MODULE < '["hex", ...]'   prints [{position, actions}, ...] in words

import { readFileSync } from "node:fs";
import { Solver } from "../../play/js/solver.js";

const [module] = process.argv.slice(2);
const solver = await Solver.load(readFileSync(module));
const answers = [];
for (const record of JSON.parse(readFileSync(0, "utf8"))) {
  const found = await solver.solve(Uint8Array.from(Buffer.from(record, "hex")));
  answers.push({
    position: found.position.text,
    actions: Object.fromEntries(found.actions.map(({ action, text }) => [action, text])),
    isComplete: found.isComplete,
  });
}
process.stdout.write(JSON.stringify(answers));
