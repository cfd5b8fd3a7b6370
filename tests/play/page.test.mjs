// Parts of the page, which is in the folder SITE, without a browser.

import assert from "node:assert/strict";
import test from "node:test";
import { pathToFileURL } from "node:url";

const load = (file) => import(new URL(file, `${pathToFileURL(process.env.SITE)}/`));
const { ExactValues } = await load("app/exact.js");

test("exact values are among the files that were loaded, once somebody has asked for them", () => {
  globalThis.Worker = class {
    addEventListener() {}
    postMessage() {}
  };
  const exact = new ExactValues();
  assert.deepEqual(exact.files, []);
  exact.open({ exact: { module: "exact/some.wasm", source: "a search" } });
  assert.deepEqual(exact.files, []);
  exact.find({}, new Uint8Array(1), { time: 1, onFound: () => {} });
  assert.deepEqual(exact.files, [new URL("exact/some.wasm", `${pathToFileURL(process.env.SITE)}/`).href]);
  exact.open({ exact: null });
  assert.deepEqual(exact.files, []);
});
