// Cold time to a first answer, with the package's download at 2 MB/s: node bench/start.mjs [--rate BYTES] [--runs N]
import { createServer } from "node:http";
import { readFileSync, readdirSync } from "node:fs";
import { extname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { brotliCompressSync, constants } from "node:zlib";
import { Origin } from "../tests/support/origin.mjs";
import { BROWSERS, launch } from "../tests/support/pages.mjs";

const { values } = parseArgs({ options: { rate: { type: "string", default: "2000000" }, runs: { type: "string", default: "3" } } });
const [rate, runs] = [Number(values.rate), Number(values.runs)];
const DIST = new URL("../dist/", import.meta.url);
const TYPES = { ".js": "text/javascript", ".wasm": "application/wasm" };
/** A tick of the link, in milliseconds. */
const TICK = 10;

const { BROTLI_PARAM_QUALITY: QUALITY, BROTLI_PARAM_LGWIN: WINDOW } = constants;
const files = new Map(
  readdirSync(DIST).filter((name) => TYPES[extname(name)]).map((name) => [`/${name}`, brotliCompressSync(readFileSync(new URL(name, DIST)), { params: { [QUALITY]: 11, [WINDOW]: 22 } })]),
);

/** What is left of the link's capacity is shared by whatever is sent, so that all of it together keeps to the rate. */
let free = performance.now();
let sent = 0;
async function send(response, bytes) {
  const step = Math.ceil((rate * TICK) / 1000);
  for (let at = 0; at < bytes.length; at += step) {
    const part = bytes.subarray(at, at + step);
    free = Math.max(free, performance.now()) + (part.length / rate) * 1000;
    sent += part.length;
    response.write(part);
    await wait(Math.max(0, free - performance.now()));
  }
  response.end();
}

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url, "http://page");
  if (pathname === "/") return response.setHeader("content-type", "text/html").end("<!doctype html><title>start</title>");
  const bytes = files.get(pathname);
  if (!bytes) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": TYPES[extname(pathname)], "content-encoding": "br", "cache-control": "no-store" });
  void send(response, bytes);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const site = `http://127.0.0.1:${server.address().port}/`;
const origin = await Origin.start("--fixture", "minutes60", "--cors-simple");
const median = (all) => all.sort((a, b) => a - b)[all.length >> 1];

try {
  for (const name of BROWSERS) {
    const found = [];
    for (let run = 0; run < runs; run++) {
      // A profile of its own for each run: nothing is cached, and nothing has been compiled before.
      const browser = await launch(name);
      const page = await browser.blank(site);
      sent = 0;
      found.push(await page.evaluate(async (url) => {
        const began = performance.now();
        const { connect } = await import("/index.js");
        const db = await connect();
        const ready = performance.now() - began;
        const rows = (await db.query(`SELECT host, count(*) AS n FROM '${url}' GROUP BY host ORDER BY n DESC LIMIT 3`)).rows();
        return { ready, answer: performance.now() - began, rows: rows.length };
      }, origin.urls[0]));
      if (found.at(-1).rows === 0) throw new Error(`${name}: no rows`);
      await browser.stop();
    }
    const [ready, answer] = ["ready", "answer"].map((key) => median(found.map((one) => one[key])).toFixed());
    console.log(`${name}: ${sent} bytes at ${rate} bytes/s (${((sent / rate) * 1000).toFixed()} ms); ready after ${ready} ms, first answer after ${answer} ms; median of ${runs}`);
  }
} finally {
  origin.stop();
  server.close();
  server.closeAllConnections();
}
