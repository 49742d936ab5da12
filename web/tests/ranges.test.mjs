// Files that are read in ranges, on servers that show little, refuse much, or change them meanwhile.
import assert from "node:assert/strict";
import { after, before, beforeEach, it } from "node:test";
import { Origin } from "./support/origin.mjs";
import { inEachBrowser } from "./support/setup.mjs";

const SQL = (urls) => `SELECT count(*) AS n, sum(count) AS s, max(p_timestamp) AS last FROM read_parquet([${urls.map((url) => `'${url}'`)}])`;

const ask = async (db, { sql }) => {
  try {
    const result = await db.query(sql);
    const { requests, restarts, retries, validators, hops } = result.stats;
    return { rows: result.rows(), requests, restarts, retries, validators, hops };
  } catch ({ code, url, message, hint, status }) {
    return { code, url, message, hint, status };
  }
};

for (const [protocol, flags] of Object.entries({ "HTTP/1.1": [], "HTTP/2": ["--http2"] })) {
  inEachBrowser(`ranges over ${protocol}`, (run) => {
    let origin, one, other;
    const query = (urls, options) => run(ask, { sql: SQL(urls) }, options);
    before(async () => {
      origin = await Origin.start("--fixture", "larger", "--cors-simple", ...flags);
      one = (await query(origin.urls.slice(0, 1))).rows;
      other = (await query(origin.urls.slice(1, 2))).rows;
      assert.notDeepEqual(one, other);
    });
    after(() => origin?.stop());

    // A path of its own for each test: the first file, which some tests replace by the second.
    let tests = 0, path, url;
    beforeEach(async () => {
      await origin.unscript();
      path = `/test-${++tests}.parquet`;
      url = origin.url(path);
      await origin.put(path, await bytes(0));
      await origin.clear();
    });
    const bytes = async (index) => {
      const flag = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      // The certificate of the test origin is its own.
      process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
      try {
        return new Uint8Array(await (await fetch(origin.urls[index])).arrayBuffer());
      } finally {
        if (flag === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
        else process.env.NODE_TLS_REJECT_UNAUTHORIZED = flag;
      }
    };

    it("a file that is replaced after any of its answers is read anew, or as it was", async () => {
      for (const request of [0, 1, 2]) {
        await origin.put(path, await bytes(0));
        await origin.script([{ path, from: request, to: request + 1, fault: { replace_after: path, with: new URL(origin.urls[1]).pathname } }]);
        const found = await query([url]);
        const asItWas = JSON.stringify(found.rows) === JSON.stringify(one);
        assert.ok(asItWas || JSON.stringify(found.rows) === JSON.stringify(other), `after request ${request}: ${JSON.stringify(found)}`);
        // What has changed before the data was read is noticed; after it nobody asks again.
        assert.equal(asItWas, request === 2, `after request ${request}`);
      }
    });

    it("a refused HEAD is remembered, and sizes come from bodies that are cut", async () => {
      await origin.script([{ method: "HEAD", fault: { status: 405 } }]);
      const found = await query(origin.urls);
      assert.equal(found.rows[0].n, 2_500_000);
      const { HEAD = 0 } = await origin.methods();
      assert.ok(HEAD <= 6, `${HEAD} times HEAD`);
    });

    it("a server that ignores ranges is named", async () => {
      await origin.script([{ path, range: true, fault: "ignore-range" }]);
      assert.equal((await query([url])).code, "range-ignored");
    });

    it("ranges that were compressed on the way give no rows, or the right ones where the browser has undone it", async () => {
      await origin.script([{ path, method: "GET", range: true, fault: "gzip" }]);
      const { rows, code, url: at } = await query([url], { retries: 1 });
      if (rows) return assert.deepEqual(rows, one);
      assert.ok(["bad-response", "network", "cors"].includes(code), code);
      assert.equal(at, url);
    });

    it("a short range is asked for again, and in the end is no answer", async () => {
      await origin.script([{ path, method: "GET", range: true, from: 1, to: 2, fault: "short-body" }]);
      assert.deepEqual((await query([url])).rows, one);
      await origin.script([{ path, method: "GET", range: true, from: 1, fault: "short-body" }]);
      const { code, rows } = await query([url], { retries: 1 });
      assert.equal(rows, undefined);
      assert.ok(["bad-response", "source-changed"].includes(code), code);
    });

    it("a connection that breaks before its answer is no refusal, and the request is sent again", async () => {
      await origin.script([{ path, method: "GET", range: true, to: 2, fault: "abort" }]);
      assert.deepEqual((await query([url])).rows, one);
    });

    it("tells how well versions can be told apart", async () => {
      assert.equal((await query([url])).validators, "last-modified");
      await origin.script([{ path, fault: "no-validator" }]);
      assert.equal((await query([url])).validators, "none");
    });

    it("with entity tags that are shown, a replaced file is noticed by every later range", async () => {
      const shown = await Origin.start("--fixture", "larger", "--cors", ...flags);
      try {
        const all = await query(shown.urls.slice(0, 1));
        assert.deepEqual([all.rows, all.validators], [one, "strong"]);
        await shown.script([{ method: "GET", from: 1, to: 2, fault: { replace_after: new URL(shown.urls[0]).pathname, with: new URL(shown.urls[1]).pathname } }]);
        const found = await query(shown.urls.slice(0, 1));
        assert.deepEqual([found.rows, found.restarts], [other, 1]);
      } finally {
        shown.stop();
      }
    });

    it("headers that a server does not allow are named as the reason", async () => {
      const refusing = await Origin.start("--fixture", "larger", "--cors-refuse-preflight", ...flags);
      try {
        const headers = { [new URL(refusing.base).origin]: { Authorization: "Bearer secret" } };
        const { code, message } = await query(refusing.urls.slice(0, 1), { headers });
        assert.equal(code, "cors");
        assert.match(message, /Access-Control-Allow-Headers/);
        assert.doesNotMatch(message, /secret/);
      } finally {
        refusing.stop();
      }
    });
  });
}
