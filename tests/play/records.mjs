// Reads a list of texts on standard input; writes for each the record as play/js/record.js reads it
// and the text that it writes of it, or the error.

import { readFileSync } from "node:fs";
import { readRecord, writeRecord } from "../../play/js/record.js";

const big = (key, value) => (typeof value === "bigint" ? `${value}n` : value);
const answers = JSON.parse(readFileSync(0, "utf-8")).map((text) => {
  const begin = process.cpuUsage();
  let answer;
  try {
    const record = readRecord(text);
    answer = { record, text: writeRecord(record) };
  } catch (error) {
    if (!(error instanceof Error) || !error.message) throw error;
    answer = { error: error.message };
  }
  const { user, system } = process.cpuUsage(begin);
  return { ...answer, seconds: (user + system) / 1e6 };
});
process.stdout.write(JSON.stringify(answers, big));
