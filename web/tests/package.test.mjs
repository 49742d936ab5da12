// What the package promises beside answers: cancel, streams, snapshots, a page that is never blocked, and life after a trap.
import assert from "node:assert/strict";
import { after, before, beforeEach, it } from "node:test";
import { Origin } from "./support/origin.mjs";
import { inEachBrowser } from "./support/setup.mjs";

inEachBrowser("package", (run, browser) => {
  let origin, slow;
  before(async () => {
    [origin, slow] = await Promise.all([
      Origin.start("--fixture", "minutes60", "--cors-simple"),
      Origin.start("--fixture", "minutes60", "--cors-simple", "--latency", "400"),
    ]);
  });
  after(() => [origin, slow].forEach((one) => one?.stop()));
  beforeEach(() => Promise.all([origin.unscript(), origin.clear(), slow.clear()]));

  const eventually = async (check) => {
    for (let i = 0; i < 50 && !(await check()); i++) await new Promise((resolve) => setTimeout(resolve, 100));
    assert.ok(await check());
  };

  it("runs on the calling thread as well", async () => {
    const body = async (db, { urls }) => {
      await db.register("t", urls);
      return (await db.query("SELECT count(*) AS n FROM t")).rows();
    };
    assert.deepEqual(await run(body, { urls: origin.urls }, { worker: false }), await run(body, { urls: origin.urls }));
  });

  it("an aborted query ends its requests, and the next one runs", async () => {
    const body = async (db, { urls }) => {
      await db.register("t", urls);
      const controller = new AbortController();
      const query = db.query("SELECT count(*) FROM t", { signal: controller.signal });
      setTimeout(() => controller.abort(), 600);
      const reason = await query.then(() => "an answer", ({ name }) => name);
      return [reason, (await db.query("SELECT 1 AS one")).rows()];
    };
    assert.deepEqual(await run(body, { urls: slow.urls }), ["AbortError", [{ one: 1 }]]);
    const { requests } = await slow.summary();
    assert.ok(requests < 60, `${requests} requests of 60 were sent`);
  });

  it("leaving a stream ends it", async () => {
    const body = async (db) => {
      let rows = 0;
      for await (const batch of db.stream("SELECT value FROM generate_series(1, 1000000000)")) {
        rows += batch.numRows;
        if (rows > 20_000) break;
      }
      return [rows, (await db.query("SELECT 1 AS one")).rows()];
    };
    assert.deepEqual(await run(body), [3 * 8192, [{ one: 1 }]]);
  });

  it("a stream has the rows of the query, batch by batch", async () => {
    const body = async (db) => {
      const sql = "SELECT value AS v, value % 2 = 0 AS even FROM generate_series(1, 20000)";
      const rows = [];
      let batches = 0;
      for await (const batch of db.stream(sql)) {
        rows.push(...batch.rows());
        batches++;
      }
      return [batches > 1, JSON.stringify(rows) === JSON.stringify((await db.query(sql)).rows())];
    };
    assert.deepEqual(await run(body), [true, true]);
  });

  it("queries of one turn share their requests, as do those of a snapshot", async () => {
    const body = async (db, { urls, together }) => {
      await db.register("t", urls);
      const tiles = Array.from({ length: 25 }, (_, n) => `SELECT host, count(*) AS n FROM t WHERE value > ${n} GROUP BY host`);
      if (together) await Promise.all(tiles.map((sql) => db.query(sql)));
      else await db.snapshot(async (snapshot) => { for (const sql of tiles) await snapshot.query(sql); });
    };
    for (const together of [true, false]) {
      await origin.clear();
      await run(body, { urls: origin.urls, together });
      assert.deepEqual(await origin.methods(), { GET: 60 });
    }
  });

  it("tells its progress", async () => {
    const body = async (db, { urls }) => {
      await db.register("t", urls);
      const seen = [];
      await db.query("SELECT count(*) FROM t", { onProgress: (progress) => seen.push(progress) });
      return seen;
    };
    const seen = await run(body, { urls: slow.urls });
    assert.ok(seen.length > 3 && seen.some(({ requestsInFlight }) => requestsInFlight === 6));
  });

  it("limits of the caller's stop a query before it sends more", async () => {
    const body = async (db, { urls }) => {
      await db.register("t", urls);
      return db.query("SELECT count(*) FROM t", { maxRequests: 10 }).catch(({ code }) => code);
    };
    assert.equal(await run(body, { urls: origin.urls }), "budget");
    assert.ok((await origin.summary()).requests <= 10);
  });

  it("a query that needs too much memory fails by itself", async () => {
    const body = async (db) => {
      const sql = "SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY value % 1000) AS r FROM generate_series(1, 3000000))";
      const failed = await db.query(sql).then(() => "an answer", ({ code }) => code);
      return [failed, (await db.query("SELECT 1 AS one")).rows()];
    };
    assert.deepEqual(await run(body, {}, { memoryLimit: 8 << 20 }), ["memory", [{ one: 1 }]]);
  });

  for (const worker of [true, false]) {
    it(`after a trap ${worker ? "in its worker" : "on this thread"} there is a new engine with the same tables`, async () => {
      const body = async (db, { urls }) => {
        await db.register("t", urls.slice(0, 1));
        const before = (await db.query("SELECT count(*) AS n FROM t")).rows();
        // The module asks for more memory than it can address.
        const failed = await db.query("SELECT count(repeat('x', 2000000000) || repeat('y', 2000000000)) FROM t").then(() => "an answer", ({ code }) => code);
        return [failed, JSON.stringify(before) === JSON.stringify((await db.query("SELECT count(*) AS n FROM t")).rows())];
      };
      assert.deepEqual(await run(body, { urls: origin.urls }, { worker }), ["trap", true]);
    });
  }

  it("headers of the caller's are sent to their origin, which is asked for permission", async () => {
    const allowing = await Origin.start("--fixture", "minutes60", "--cors");
    try {
      const body = async (db, { url }) => (await db.query(`SELECT count(*) AS n FROM '${url}'`)).rows().length;
      const headers = { [new URL(allowing.base).origin]: { Authorization: "Bearer secret" } };
      assert.equal(await run(body, { url: allowing.urls[0] }, { headers }), 1);
      const log = await allowing.log();
      assert.ok(log.some(({ method }) => method === "OPTIONS"));
      assert.ok(log.filter(({ method }) => method === "GET").every(({ headers }) => headers.authorization === "Bearer secret"));
    } finally {
      allowing.stop();
    }
  });

  if (browser === "chromium") {
    it("the page's own thread is never blocked for more than 50 ms", async () => {
      const body = async (db, { urls }) => {
        await db.register("t", urls);
        await db.query("SELECT 1");
        const long = [];
        const observer = new PerformanceObserver((list) => long.push(...list.getEntries().map(({ duration }) => duration)));
        observer.observe({ type: "longtask" });
        await Promise.all(Array.from({ length: 12 }, (_, n) => db.query(`SELECT host, metric_name, avg(value) AS v FROM t WHERE value > ${n} GROUP BY ALL ORDER BY v`)));
        await new Promise((resolve) => setTimeout(resolve, 100));
        observer.disconnect();
        return long;
      };
      assert.deepEqual(await run(body, { urls: origin.urls }), []);
    });
  }

  it("a stopped page leaves nothing behind", async () => {
    await run(async (db, { urls }) => {
      await db.register("t", urls);
      void db.query("SELECT count(*) FROM t").catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 600));
    }, { urls: slow.urls });
    await eventually(async () => (await slow.summary()).requests < 60);
  });
});
