// The contract of the seam between policy and transport, as far as a browser lets it be kept: one exchange by the backend alone.
import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { Origin } from "./support/origin.mjs";
import { inEachBrowser } from "./support/setup.mjs";

const DATA = new URL("../../tests/suite/data/", import.meta.url).pathname;
const PATH = "/object.parquet";
const body = (length) => Uint8Array.from({ length }, (_, i) => (i * 7) % 251);

/** Runs in the page: one exchange after another, each with the origin's script for it, and what the origin saw of it. */
const exchanges = async (_, { control, steps }) => {
  const { default: init, Exchange } = await import("/wasm/farquet_web.js");
  await init();
  const command = async (method, path, body) => (await fetch(new URL(path, control), { method, body })).json();
  const exchange = async ({ url, method = "GET", headers = [], cache = "no-store", options = {}, chunks = Infinity, cancel }) => {
    const one = new Exchange(url, method, headers, cache, options);
    if (cancel !== undefined) setTimeout(() => one.cancel(), cancel);
    const found = { length: 0, hash: 0 };
    try {
      const [status, pairs, finalUrl, redirects] = await one.head();
      Object.assign(found, { status, headers: Object.fromEntries(pairs), finalUrl, redirects });
      for (let chunk, seen = 0; seen < chunks && (chunk = await one.chunk()); seen++) {
        found.length += chunk.length;
        for (const byte of chunk) found.hash = (Math.imul(found.hash, 31) + byte) | 0;
      }
      one.cancel();
    } catch (error) {
      [found.error, found.message] = Array.isArray(error) ? error : [String(error)];
    }
    return found;
  };
  const results = [];
  for (const { script, together = 1, ...request } of steps) {
    if (script) await command("POST", "script", JSON.stringify(script));
    else await command("DELETE", "script");
    await command("POST", "clear");
    const found = await Promise.all(Array.from({ length: together }, () => exchange(request)));
    // What was given up is seen by the origin a little later.
    let log = await command("GET", "log");
    for (let i = 0; i < 30 && log.some(({ end_ms }) => end_ms === null); i++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      log = await command("GET", "log");
    }
    results.push({ ...found[0], all: found, log });
  }
  return results;
};

const hash = (bytes) => bytes.reduce((hash, byte) => (Math.imul(hash, 31) + byte) | 0, 0);
const is = (found, bytes) => assert.deepEqual([found.length, found.hash], [bytes.length, hash(bytes)]);

for (const [protocol, flags] of Object.entries({ "HTTP/1.1": [], "HTTP/2": ["--http2"] })) {
  inEachBrowser(`the contract over ${protocol}`, (run, browser) => {
    let origin, simple, url;
    before(async () => {
      const [here, there] = await Promise.all([Origin.start(DATA, "--cors", ...flags), Origin.start(DATA, "--cors-simple", ...flags)]);
      [origin, simple, url] = [here, there, here.url(PATH)];
      await Promise.all([here.put(PATH, body(1000)), here.put("/large.parquet", body(3_000_000)), there.put(PATH, body(1000))]);
    });
    after(() => [origin, simple].forEach((one) => one?.stop()));
    const all = (steps, on = origin) => run(exchanges, { control: on.control, steps: steps.map(({ path = PATH, ...step }) => ({ url: on.url(path), ...step })) }, null);
    /** An answer that stops midway. Firefox hands on nothing of the first few bytes, of which it guesses the type. */
    const SENT = 100_000, stalled = { path: "/large.parquet", script: [{ fault: { stall: SENT } }] };
    const gets = ({ log }) => log.filter(({ method }) => method !== "OPTIONS");

    it("every status is an answer, and is asked for once", async () => {
      const codes = [200, 203, 204, 206, 400, 401, 403, 404, 405, 410, 412, 416, 429, 500, 501, 502, 503, 504];
      const found = await all(codes.map((status) => ({ script: [{ fault: { status } }] })));
      assert.deepEqual(found.map(({ status }) => status), codes);
      assert.deepEqual(found.map(({ log }) => log.length), codes.map(() => 1));
      const [page] = await all([{ script: [{ fault: "html" }] }]);
      assert.ok(page.length > 10 && page.headers["content-type"].startsWith("text/html"));
    });

    it("bodies arrive whole, with a length or without", async () => {
      const large = { path: "/large.parquet" };
      for (const found of await all([large, { ...large, script: [{ fault: "chunked" }] }])) {
        is(found, body(3_000_000));
        assert.deepEqual([found.finalUrl, found.redirects], [origin.url("/large.parquet"), 0]);
      }
    });

    it("the head comes before the body, and chunks come as they arrive", async () => {
      const [head, part] = await all([{ ...stalled, chunks: 0 }, { ...stalled, chunks: 1 }]);
      assert.equal(head.status, 200);
      assert.ok(part.length > 0 && part.length <= SENT, `${part.length} bytes`);
      is(part, body(part.length));
      assert.deepEqual([...head.log, ...part.log].map(({ complete }) => complete), [false, false]);
    });

    it("ranges are passed exactly, without a preflight", async () => {
      const ranges = [["bytes=5-9", 5, 10], ["bytes=990-", 990, 1000], ["bytes=0-4999", 0, 1000]];
      for (const [index, found] of (await all(ranges.map(([range]) => ({ headers: [["range", range]] })))).entries()) {
        const [range, from, to] = ranges[index];
        assert.deepEqual(found.log.map(({ method, range }) => [method, range]), [["GET", range]]);
        assert.deepEqual([found.status, found.headers["content-range"]], [206, `bytes ${from}-${to - 1}/1000`]);
        is(found, body(1000).slice(from, to));
      }
      const [behind] = await all([{ headers: [["range", "bytes=1000-1999"]] }]);
      assert.equal(behind.status, 416);
    });

    it("a header that is not exposed is absent", async () => {
      const [found] = await all([{ headers: [["range", "bytes=5-9"]] }], simple);
      assert.deepEqual([found.status, found.headers["content-range"], found.headers.etag], [206, undefined, undefined]);
      assert.equal(found.headers["content-length"], "5");
      is(found, body(1000).slice(5, 10));
    });

    it("URLs and methods are passed exactly", async () => {
      const exact = "/type=a%2Fb/100%25/x.parquet?sig=a%2Fb%3D&empty=&plus=1+2";
      const [asked, head] = await all([{ url: origin.url(exact) }, { method: "HEAD" }]);
      assert.deepEqual(asked.log.map(({ path, query }) => `${path}?${query}`), [exact]);
      assert.deepEqual(head.log.map(({ method }) => method), ["HEAD"]);
      assert.deepEqual([head.status, head.headers["content-length"], head.length], [200, "1000", 0]);
    });

    it("answers are not judged", async () => {
      const headers = [["range", "bytes=100-199"]];
      const [whole, other] = await all(["ignore-range", "other-range"].map((fault) => ({ headers, script: [{ fault }] })));
      assert.equal(whole.status, 200);
      is(whole, body(1000));
      assert.equal(other.status, 206);
      is(other, body(1000).slice(99, 199));
    });

    it("modes of the cache are the browser's", async () => {
      // A browser keeps nothing that came under a certificate that it does not know.
      if (flags.length > 0) return;
      const cached = { path: "/cached.parquet" };
      await origin.put("/cached.parquet", body(500));
      const found = await all([
        { ...cached, cache: "no-cache" }, { ...cached, cache: "no-cache" }, { ...cached, cache: "reload" }, { ...cached, cache: "no-store" },
      ]);
      assert.deepEqual(found.map(({ status }) => status), [200, 200, 200, 200]);
      assert.deepEqual(found.map(({ log }) => log.map(({ status }) => status)), [[200], [304], [200], [200]]);
      for (const one of found) is(one, body(500));
    });

    it("dropping the future, or the body, ends the request", async () => {
      const [future, unread, begun] = await all([
        { script: [{ fault: "hang" }], cancel: 300 },
        { ...stalled, chunks: 0 },
        { ...stalled, chunks: 1 },
      ]);
      assert.equal(future.error, "cancelled");
      for (const { log } of [future, unread, begun]) {
        assert.deepEqual(log.map(({ complete }) => complete), [false]);
        assert.ok(log.every(({ end_ms }) => end_ms !== null), "the origin sees the end");
      }
    });

    it("broken bodies are interrupted", async () => {
      const faults = [{ cut: 100 }, { close: 100 }, ["chunked", { close: 100 }]];
      for (const { error, length, status, log } of await all(faults.map((fault) => ({ script: [{ fault }] })))) {
        assert.deepEqual([status, error], [200, "Interrupted"]);
        assert.ok(length <= 100 && log.length === 1);
      }
    });

    it("a closed port is no connection, and an answer without CORS is told as such", async () => {
      const gone = await Origin.start(DATA, ...flags);
      const [kept] = await all([{ url: gone.url("/") }]);
      gone.stop();
      const [closed] = await all([{ url: gone.url("/") }]);
      assert.deepEqual([kept.error, closed.error], ["Cors", "Connect"]);
    });

    it("redirects are followed, and the final URL is told", async () => {
      const steps = [301, 302, 303, 307, 308].flatMap((redirect) =>
        [PATH, "object.parquet", url].map((location) => ({
          url: origin.url("/moved"), headers: [["range", "bytes=10-19"]], script: [{ path: "/moved", fault: { redirect, location } }],
        })));
      for (const found of await all(steps)) {
        assert.deepEqual([found.status, found.finalUrl, found.redirects, gets(found).length], [206, url, 1, 2]);
        is(found, body(1000).slice(10, 20));
      }
    });

    it("loops are refused", async () => {
      const [loop] = await all([{ script: [{ fault: { redirect: 302, location: PATH } }] }]);
      assert.ok(loop.error && loop.status === undefined, loop.error);
      assert.ok(loop.log.length <= 64, `${loop.log.length} requests`);
    });

    it("a caller's headers go to their origin, with its permission, and to no other", async () => {
      const options = { headers: { [new URL(origin.base).origin]: { Authorization: "Bearer secret" } } };
      const far = [{ path: "/far", fault: { redirect: 302, location: simple.url(PATH) } }];
      await simple.clear();
      const [own, away] = await all([{ options }, { options, url: origin.url("/far"), script: far }]);
      assert.deepEqual(own.log.map(({ method }) => method), ["OPTIONS", "GET"]);
      assert.equal(own.log[1].headers.authorization, "Bearer secret");
      // The other origin would have to permit a header that it never gets, or the browser ends it there.
      assert.ok((await simple.log()).every(({ headers }) => headers.authorization === undefined));
      assert.ok(away.status === 200 || away.error, "followed or refused");
    });

    it("requests run side by side, as many as the browser has connections", async () => {
      const together = flags.length > 0 ? 40 : 6;
      const [found] = await all([{ together, script: [{ fault: { gather: together } }] }]);
      for (const one of found.all) is(one, body(1000));
      assert.equal(Math.max(...found.log.map(({ in_flight }) => in_flight)), together);
    });
  });
}
