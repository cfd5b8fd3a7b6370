// Reads a list of requests on standard input. For each text it writes the record as play/js/record.js
// reads it and the text that it writes of it, or the error; for `{split, hasSpaces}` the moves.

import { readFileSync } from "node:fs";
import { readRecord, splitMoves, writeRecord } from "../../play/js/record.js";

const answers = JSON.parse(readFileSync(0, "utf-8")).map((request) => {
  if (typeof request !== "string") return { moves: splitMoves(request.split, request.hasSpaces) };
  const begin = process.cpuUsage();
  let answer;
  try {
    const record = readRecord(request);
    answer = { record, text: writeRecord(record) };
  } catch (error) {
    if (!(error instanceof Error) || !error.message) throw error;
    answer = { error: error.message };
  }
  const { user, system } = process.cpuUsage(begin);
  return { ...answer, seconds: (user + system) / 1e6 };
});
process.stdout.write(JSON.stringify(answers));
