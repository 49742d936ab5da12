// The requests of a query, counted by the origin, where it shows the page nothing but the safelisted headers.
import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { Origin } from "./support/origin.mjs";
import { inEachBrowser } from "./support/setup.mjs";

/** Registers and counts. */
const count = async (db, { urls, sql }) => {
  await db.register("t", urls);
  const result = await db.query(sql ?? "SELECT count(*) AS n FROM t");
  return { rows: result.rows(), stats: { ...result.stats, log: undefined }, log: result.stats.log.map(({ method, hop, range, cause }) => [method, hop, range ?? "whole", cause]) };
};

const twice = async (db, { urls, sql }) => {
  await db.register("t", urls);
  const all = [];
  for (let i = 0; i < 2; i++) all.push((await db.query(sql)).rows());
  return all;
};

for (const [protocol, flags] of Object.entries({ "HTTP/1.1": [], "HTTP/2": ["--http2"] })) {
  inEachBrowser(`requests over ${protocol}`, (run) => {
    let small, larger, wide;
    before(async () => {
      [small, larger, wide] = await Promise.all(
        ["minutes60", "larger", "wide"].map((set) => Origin.start("--fixture", set, "--cors-simple", "--latency", "50", ...flags)),
      );
    });
    after(() => [small, larger, wide].forEach((origin) => origin?.stop()));

    it("60 small files of unknown size: 60 GET, no preflight, 1 hop; again: 60 that are not modified", async () => {
      await small.clear();
      const { rows, stats } = await run(count, { urls: small.urls });
      assert.equal(stats.hops, 1);
      assert.deepEqual(await small.methods(), { GET: 60 });
      assert.ok((await small.log()).every(({ range, status }) => range === null && status === 200));
      // A browser keeps nothing that came under a certificate that it does not know.
      if (flags.length > 0) return;
      await small.clear();
      const again = await run(count, { urls: small.urls });
      assert.deepEqual(again.rows, rows);
      const summary = await small.summary();
      assert.deepEqual(summary.by_method, { GET: 60 });
      assert.deepEqual(summary.by_status, { 304: 60 });
    });

    it("warm: 60 GET that are not modified, in one session", async () => {
      await small.clear();
      const [first, second] = await run(twice, { urls: small.urls, sql: "SELECT host, count(*) AS n FROM t GROUP BY host ORDER BY host" });
      assert.deepEqual(first, second);
      const summary = await small.summary();
      assert.deepEqual(summary.by_method, { GET: 120 });
    });

    it("20 files of 1.5 MB, count: two requests each, no preflight, two hops", async () => {
      await larger.clear();
      const { stats, log } = await run(count, { urls: larger.urls });
      // Those in flight before the first answer are bodies that are cut; then it is known that these files are large.
      const sizes = flags.length > 0 ? { GET: 40 } : { GET: 26, HEAD: 14 };
      assert.deepEqual(await larger.methods(), sizes, JSON.stringify(log));
      assert.equal(stats.hops, 2);
    });

    it("one wide file: two columns of 2 row groups in 3 requests and 3 hops", async () => {
      await wide.clear();
      const sql = "SELECT count(*) AS n, sum(amount) AS s FROM t WHERE id BETWEEN 50000 AND 51000";
      const { stats, log } = await run(count, { urls: wide.urls, sql });
      // A body that is cut, the footer, and the data in one range.
      assert.deepEqual([await wide.methods(), stats.hops], [{ GET: 3 }, 3], JSON.stringify(log));
    });

    it("one wide file: two columns of all 30 row groups in at most 34 requests and 3 hops", async () => {
      await wide.clear();
      const sql = "SELECT count(*) AS n, sum(amount) AS s FROM t WHERE d03 = 7";
      const { stats, log } = await run(count, { urls: wide.urls, sql });
      const summary = await wide.summary();
      // One for each row group, unless the measured link makes it worth while to split one.
      const { GET, ...others } = summary.by_method;
      assert.deepEqual([others, stats.hops], [{}, 3], JSON.stringify(log));
      assert.ok(GET >= 32 && GET <= 34, JSON.stringify(log));
      // As many as the browser has connections; or all at once, of which the first may have ended before the last arrives.
      if (flags.length > 0) assert.ok(summary.max_in_flight > 6, `${summary.max_in_flight} in flight`);
      else assert.equal(summary.max_in_flight, 6);
    });
  });
}

inEachBrowser("requests where headers are shown", (run) => {
  let larger, wide;
  before(async () => {
    [larger, wide] = await Promise.all(["larger", "wide"].map((set) => Origin.start("--fixture", set, "--cors")));
  });
  after(() => [larger, wide].forEach((origin) => origin?.stop()));

  it("once an answer has shown its headers: no HEAD, no body that is cut", async () => {
    const lesson = async (db, { urls }) => {
      await db.query(`SELECT count(*) FROM '${urls[0]}'`);
      await fetch(new URL("/", urls[0])).catch(() => {});
      await db.register("t", urls);
      const { stats } = await db.query("SELECT count(*) AS n FROM t");
      return { hops: stats.hops };
    };
    await larger.clear();
    const { hops } = await run(lesson, { urls: larger.urls });
    const log = (await larger.log()).filter(({ path }) => path !== "/");
    assert.ok(log.every(({ method }) => method === "GET"), "no HEAD, no OPTIONS");
    // The first request to a server cannot know what it shows.
    assert.deepEqual(log.slice(1).filter(({ range }) => range === null), []);
    assert.ok(hops <= 2, `${hops} hops`);
    assert.ok(log.length <= 2 * 20 + 2, `${log.length} requests`);
  });
});
