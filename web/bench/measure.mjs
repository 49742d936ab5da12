// Runs every engine over every workload at one protocol and one latency.
import { Origin } from "../tests/support/origin.mjs";
import { canonical } from "./answers.mjs";

export const PROTOCOLS = { h1: [], h2: ["--http2"] };
/** Above it, in milliseconds, one run is enough. */
const LONG = 15_000;
/** Makes every URL new, to the browser's cache and to the engines'. */
let runs = 0;

/** Everything that was measured: `{ starts, runs }`. */
export async function measure({ browser, site, engines, workloads, repeats, protocol, latency, say }) {
  const origins = new Map();
  const pages = [];
  const found = { starts: [], runs: [] };
  try {
    await openOrigins(origins, engines, workloads, [...PROTOCOLS[protocol], "--latency", String(latency)]);
    for (const engine of engines) {
      const { page, ms, files } = await startEngine(browser, site, engine);
      pages.push(page);
      found.starts.push({ protocol, latency, engine: engine.name, ms, files });
      say(`${engine.name}: started in ${ms.toFixed()} ms`);
    }
    for (const origin of origins.values()) await greet(pages[0], origin);
    for (const workload of workloads) {
      const skipped = new Set();
      let log;
      // In turns, so that what else the machine does falls upon all alike.
      for (let turn = 0; turn < repeats; turn++) {
        for (const [index, engine] of engines.entries()) {
          if (skipped.has(engine)) continue;
          const origin = origins.get(key(workload, engine));
          const run = { protocol, latency, workload: workload.name, engine: engine.name, ...(await once(pages[index], origin, workload, log)) };
          if (engine.name === "farquet") log = run.log;
          if (run.error || run.ms > LONG) skipped.add(engine);
          found.runs.push(run);
          say(`${protocol} ${latency} ms, ${workload.name}, ${engine.name}: ${run.error ?? `${run.ms.toFixed()} ms`}`);
        }
      }
    }
  } finally {
    await Promise.all(pages.map((page) => page.close()));
    for (const origin of origins.values()) origin.stop();
  }
  return found;
}

const key = ({ fixture }, { cors }) => `${fixture} ${cors}`;

/** Starts an origin for each fixture and kind of answer, into `origins`. */
async function openOrigins(origins, engines, workloads, flags) {
  for (const workload of workloads) {
    for (const engine of engines) {
      if (origins.has(key(workload, engine))) continue;
      const origin = await Origin.start("--fixture", workload.fixture, engine.cors, ...flags);
      origins.set(key(workload, engine), origin);
      // It names its files one by one.
      while (origin.urls.length < workload.files) await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** A page with a started engine: from asking for its script to its first answer. */
async function startEngine(browser, site, { module }) {
  const page = await browser.page(site.url);
  // Once more, since the harness has loaded farquet into it.
  await page.goto(site.url);
  site.taken();
  const ms = await page.evaluate(async (script) => {
    const began = performance.now();
    globalThis.run = await (await import(script)).start();
    return performance.now() - began;
  }, `/${module}.js`);
  return { page, ms, files: site.taken() };
}

/** A first connection, which no engine shall be the one to pay for. */
async function greet(page, origin) {
  await page.evaluate((url) => fetch(url, { mode: "no-cors", cache: "no-store" }).then((answer) => answer.text(), () => {}), origin.url("hello"));
}

/** One run on URLs that were never asked for. */
async function once(page, origin, workload, log) {
  const urls = origin.urls.map((url) => `${url}?run=${runs}`);
  runs++;
  await origin.clear();
  const result = await page.evaluate(async (workload, urls, log) => {
    const began = performance.now();
    try {
      const { rows, log: told } = await globalThis.run(workload, urls, log);
      const ms = performance.now() - began;
      return { ms, log: told, rows: rows && JSON.stringify(rows, (_, value) => (typeof value === "bigint" ? Number(value) : value)) };
    } catch (error) {
      return { error: String(error?.message ?? error) };
    }
  }, workload, urls, log);
  const { by_method: requests, body_bytes: bytes } = await origin.summary();
  return { ...result, requests, bytes, rows: result.rows && canonical(JSON.parse(result.rows)) };
}
