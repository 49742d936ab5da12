// Servers and files that misbehave, and what a page is told: rows of one version, or an error that says what to do.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, beforeEach, it } from "node:test";
import { Origin } from "./support/origin.mjs";
import { inEachBrowser } from "./support/setup.mjs";

const DATA = new URL("../../tests/suite/data/", import.meta.url);
const read = (name) => readFileSync(new URL(name, DATA));
/** Three files of one schema and different rows: `who` tells which. */
const FILES = { a: read("metrics-0.parquet"), b: read("metrics-1.parquet") };

/** Rows of one file, or the error's code, URL and text. */
const ask = async (db, { sql }) => {
  try {
    const { stats, ...result } = await db.query(sql).then((result) => ({ rows: result.rows(), stats: result.stats }));
    return { ...result, requests: stats.requests, restarts: stats.restarts, retries: stats.retries, validators: stats.validators };
  } catch ({ code, url, message, hint, status }) {
    return { code, url, message, hint, status };
  }
};

for (const [protocol, flags] of Object.entries({ "HTTP/1.1": [], "HTTP/2": ["--http2"] })) {
  inEachBrowser(`faults over ${protocol}`, (run) => {
    let origin, plain, rows;
    before(async () => {
      [origin, plain] = await Promise.all([Origin.start(DATA.pathname, "--cors-simple", ...flags), Origin.start(DATA.pathname, ...flags)]);
    });
    after(() => [origin, plain].forEach((one) => one?.stop()));
    // A path of its own for each test, which no browser has in its cache.
    let tests = 0, path;
    beforeEach(async () => {
      await origin.unscript();
      path = `/test-${++tests}.parquet`;
      await origin.put(path, FILES.a);
      rows ??= (await count("/metrics-0.parquet")).rows;
    });
    const sql = (path, on = origin) => `SELECT count(*) AS n, min(ts) AS first, max(ts) AS last, sum(n) AS s FROM '${on.url(path)}'`;
    const count = (path, on) => run(ask, { sql: sql(path, on) });

    it("a body that breaks off is asked for again", async () => {
      await origin.script([{ path, to: 1, fault: { cut: 100 } }]);
      const found = await count(path);
      assert.deepEqual(found.rows, rows);
      assert.ok(found.retries >= 1);
    });

    it("429 and 503 are waited out", async () => {
      await origin.script([
        { path, from: 0, to: 1, fault: "too-many-requests" },
        { path, from: 1, to: 2, fault: { status: 503 } },
      ]);
      assert.deepEqual((await count(path)).rows, rows);
    });

    it("a body that was compressed on the way is the file", async () => {
      await origin.script([{ path, fault: "gzip" }]);
      assert.deepEqual((await count(path)).rows, rows);
    });

    it("no length at all", async () => {
      await origin.script([{ path, fault: "chunked" }]);
      assert.deepEqual((await count(path)).rows, rows);
    });

    it("a short body without a length is no file", async () => {
      await origin.script([{ path, fault: "short-body" }]);
      assert.equal((await count(path)).code, "not-parquet");
    });

    it("404, 403 and a page instead of a file have names", async () => {
      const missing = await count("/none.parquet");
      assert.deepEqual([missing.code, missing.status, missing.url], ["not-found", 404, origin.url("/none.parquet")]);
      await origin.script([{ path, to: 1, fault: "forbidden" }]);
      assert.equal((await count(path)).code, "access");
      await origin.script([{ path, fault: "html" }]);
      const page = await count(path);
      assert.equal(page.code, "not-parquet");
      assert.match(page.message, /text\/html/);
    });

    it("a server without CORS is told from one that is down, with what to set", async () => {
      const closed = await count("/metrics-0.parquet", plain);
      assert.equal(closed.code, "cors");
      assert.match(closed.hint, /Access-Control-Allow-Origin/);
      const down = await run(ask, { sql: "SELECT 1 FROM 'http://127.0.0.1:9/x.parquet'" });
      assert.equal(down.code, "network");
    });

    it("a redirect to another origin is followed", async () => {
      const other = await Origin.start(DATA.pathname, "--cors-simple", ...flags);
      try {
        await origin.script([{ path, fault: { redirect: 302, location: other.url("/metrics-0.parquet") } }]);
        assert.deepEqual((await count(path)).rows, rows);
      } finally {
        other.stop();
      }
    });

    it("a file that was replaced between two queries gives its new rows", async () => {
      const both = async (db, { sql, control, path }) => {
        const first = (await db.query(sql)).rows();
        const bytes = await (await fetch(new URL("/metrics-1.parquet", sql.match(/https?:[^']*/)[0]))).arrayBuffer();
        await fetch(`${control}file?path=${path}`, { method: "PUT", body: bytes });
        return [first, (await db.query(sql)).rows()];
      };
      const [first, second] = await run(both, { sql: sql(path), control: origin.control, path });
      assert.deepEqual(first, rows);
      assert.deepEqual(second, (await count("/metrics-1.parquet")).rows);
      assert.notDeepEqual(first, second);
    });

    for (const [tag, tags] of Object.entries({ weak: { weak_etag: "1" }, "no tag": { no_etag: "1" }, "no validator": { no_etag: "1", no_last_modified: "1" } })) {
      it(`${tag}: a replaced file gives its new rows`, async () => {
        const at = (second) => (tags.no_last_modified ? tags : { ...tags, last_modified: `Sat, 01 Jun 2024 00:00:0${second} GMT` });
        await origin.put(path, FILES.a, at(1));
        assert.deepEqual((await count(path)).rows, rows);
        await origin.put(path, FILES.b, at(2));
        const found = await count(path);
        assert.deepEqual(found.rows, (await count("/metrics-1.parquet")).rows);
        assert.ok(["last-modified", "none"].includes(found.validators), "what the page can see of it");
      });
    }
  });
}
