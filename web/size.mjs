// The module's size beside the one that is checked in: node size.mjs [--write].
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const RECORD = new URL("size.json", import.meta.url);
/** Compilers differ a little from machine to machine. */
const TOLERANCE = 1.01;

const module = readFileSync(new URL("dist/farquet.wasm", import.meta.url));
const { BROTLI_PARAM_QUALITY: QUALITY, BROTLI_PARAM_LGWIN: WINDOW, BROTLI_PARAM_SIZE_HINT: HINT } = constants;
const size = {
  raw: module.length,
  gzip: gzipSync(module, { level: 9 }).length,
  brotli: brotliCompressSync(module, { params: { [QUALITY]: 11, [WINDOW]: 24, [HINT]: module.length } }).length,
};
const record = JSON.parse(readFileSync(RECORD, "utf8"));
if (process.argv.includes("--write")) {
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  writeFileSync(RECORD, `${JSON.stringify({ budget: record.budget, ...size, commit }, null, 2)}\n`);
}
for (const [name, bytes] of Object.entries(size)) {
  console.log(`${name.padEnd(6)} ${String(bytes).padStart(11)} bytes, at ${record.commit} ${record[name]}`);
}
console.log(`budget ${String(record.budget).padStart(11)} bytes of brotli`);
if (size.brotli > record.budget || size.brotli > record.brotli * TOLERANCE) {
  console.error("the module has grown: make it smaller, or say why and run 'just size --write'");
  process.exit(1);
}
