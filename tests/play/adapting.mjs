// Reads [{results, top, start}] on standard input; writes the estimate of each.

import { readFileSync } from "node:fs";
import { estimate } from "../../play/page/app/adapting.js";

const cases = JSON.parse(readFileSync(0, "utf-8"));
const answers = cases.map(({ results, top, start }) => estimate(results, top, start));
process.stdout.write(JSON.stringify(answers));
