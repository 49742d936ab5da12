// The SQL suite, which the native engine answers too: tests/suite/suite.json says what is expected.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { after, before, it } from "node:test";
import { Origin } from "./support/origin.mjs";
import { inEachBrowser } from "./support/setup.mjs";

const FOLDER = new URL("../../tests/suite/", import.meta.url);
const { tables, statements } = JSON.parse(readFileSync(new URL("suite.json", FOLDER), "utf8"));

/** Runs in the page: each statement's rows in the suite's form, or the code of its error. */
const answers = async (db, { base, tables, statements }) => {
  const plain = (value) => {
    if (value === null || value === undefined) return null;
    if (typeof value === "bigint") return String(value);
    if (typeof value === "number" && !Number.isFinite(value)) return String(value);
    if (value instanceof Date) return value.toISOString();
    if (value instanceof Uint8Array) return `0x${[...value].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
    if (value instanceof Map) return [...value].map((entry) => entry.map(plain));
    if (Array.isArray(value)) return value.map(plain);
    if (typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plain(item)]));
    return value;
  };
  for (const [name, paths] of Object.entries(tables)) await db.register(name, paths.map((path) => new URL(path, base).href));
  const found = [];
  for (const { sql, params } of statements) {
    try {
      const result = await db.query(sql, { params });
      const names = result.fields.map(({ name }) => name);
      found.push({ rows: result.rows().map((row) => names.map((name) => plain(row[name]))) });
    } catch (error) {
      found.push({ error: error.code ?? String(error.stack), message: error.message });
    }
  }
  return found;
};

const near = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b));

function same(expected, found) {
  if (Array.isArray(expected)) {
    return Array.isArray(found) && expected.length === found.length && expected.every((item, at) => same(item, found[at]));
  }
  if (expected !== null && typeof expected === "object") {
    const names = Object.keys(expected);
    return found !== null && names.length === Object.keys(found).length && names.every((name) => same(expected[name], found[name]));
  }
  // Decimals that lose nothing are numbers here.
  if (typeof found === "number" && (typeof expected === "number" || /^-?\d+(\.\d+)?$/.test(expected))) return near(Number(expected), found);
  return expected === found;
}

/** What is wrong with `found`, or nothing. */
function complaint(entry, found) {
  if (entry.error) return found.error === entry.error ? undefined : `expected the error ${entry.error}`;
  if (found.error) return "expected rows";
  if (entry.contains) return JSON.stringify(found.rows).includes(entry.contains) ? undefined : `expected ${entry.contains}`;
  const rest = [...found.rows];
  const equal = entry.unordered
    ? entry.rows.length === rest.length && entry.rows.every((row) => {
        const at = rest.findIndex((other) => same(row, other));
        return at >= 0 && rest.splice(at, 1);
      })
    : same(entry.rows, rest);
  return equal ? undefined : `expected ${JSON.stringify(entry.rows)}`;
}

inEachBrowser("SQL", (run) => {
  let origin;
  before(async () => {
    origin = await Origin.start(FOLDER.pathname, "--cors-simple");
  });
  after(() => origin?.stop());

  it(`answers ${statements.length} statements as expected`, async () => {
    assert.ok(readdirSync(new URL("data/", FOLDER)).length > 0);
    const found = await run(answers, { base: origin.base, tables, statements }, { base: origin.base });
    const complaints = statements.map((entry, at) => [entry, found[at], complaint(entry, found[at])]).filter(([, , text]) => text);
    const list = complaints.map(([{ name, sql }, found, text]) => `${name}: ${sql}\n  ${text}\n  found ${JSON.stringify(found)}`);
    assert.equal(complaints.length, 0, `\n${list.join("\n").slice(0, 6000)}`);
  });
});
