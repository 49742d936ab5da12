// farquet beside other engines and the bare requests, in one Chromium: node bench/run.mjs --help
import { cpus } from "node:os";
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { launch } from "../tests/support/pages.mjs";
import { mismatches } from "./answers.mjs";
import { ENGINES } from "./engines/index.mjs";
import { measure, PROTOCOLS } from "./measure.mjs";
import { results, starts } from "./report.mjs";
import { serve } from "./site.mjs";
import { sizesOf } from "./sizes.mjs";
import { WORKLOADS } from "./workloads.mjs";

const named = (list) => [...new Set(list)].join(", ");

const HELP = `usage: node bench/run.mjs [options]

Lists are separated by commas; without an option it is all of them.
  --latency MS      milliseconds before each answer of the origin (20,100)
  --protocol NAME   ${named(Object.keys(PROTOCOLS))}: plain HTTP/1.1, HTTP/2 over TLS
  --engine NAME     ${named(ENGINES.map(({ module }) => module))}; floor brings farquet along
  --workload NAME   ${named(WORKLOADS.map(({ name }) => name))}
  --runs N          runs of which the median is taken (3); one where it takes more than 15 s
  --no-sizes        do not compress what the engines download, which takes a minute or two
  --json FILE       write everything that was measured
It needs web/dist, 'npm ci' in web/ and in web/bench/, Chromium, and farquet-origin (or FARQUET_ORIGIN).
`;

const { values } = parseArgs({
  options: {
    latency: { type: "string", default: "20,100" },
    protocol: { type: "string", default: Object.keys(PROTOCOLS).join() },
    engine: { type: "string" },
    workload: { type: "string" },
    runs: { type: "string", default: "3" },
    "no-sizes": { type: "boolean" },
    json: { type: "string" },
    help: { type: "boolean", short: "h" },
  },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit();
}

/** Those of `list` whose `property` is in the option `text`; a name that is not there ends the program. */
function chosen(list, property, text) {
  if (text === undefined) return list;
  const names = text.split(",");
  const unknown = names.find((name) => !list.some((item) => item[property] === name));
  if (unknown !== undefined) throw new Error(`'${unknown}' is none of ${named(list.map((item) => item[property]))}`);
  return list.filter((item) => names.includes(item[property]));
}

async function versionOf(browser) {
  const page = await browser.page(site.url);
  const version = await page.browser().version();
  await page.close();
  return version;
}

/** The number that `text` is, which has to be whole. */
function whole(text, least) {
  const number = Number(text);
  if (!Number.isInteger(number) || number < least) throw new Error(`'${text}' is not a number of at least ${least}`);
  return number;
}

const workloads = chosen(WORKLOADS, "name", values.workload);
const wanted = chosen(ENGINES, "module", values.engine);
// The floor follows farquet's log.
const engines = ENGINES.filter((engine) => wanted.includes(engine) || (engine === ENGINES[0] && wanted.some(({ module }) => module === "floor")));
const protocols = chosen(Object.keys(PROTOCOLS).map((name) => ({ name })), "name", values.protocol).map(({ name }) => name);
const latencies = values.latency.split(",").map((text) => whole(text, 0));
const settings = protocols.flatMap((protocol) => latencies.map((latency) => ({ protocol, latency })));
const repeats = whole(values.runs, 1);
const say = (line) => process.stderr.write(`${line}\n`);

const started = engines.filter(({ module }) => module !== "floor");
const site = await serve([...new Set(engines.map(({ module }) => module))]);
const browser = await launch("chromium");
const found = { starts: [], runs: [] };
let version, sizes;
try {
  version = await versionOf(browser);
  for (const setting of settings) {
    const { starts, runs } = await measure({ browser, site, engines, workloads, repeats, ...setting, say });
    found.starts.push(...starts);
    found.runs.push(...runs);
  }
  if (!values["no-sizes"]) {
    say("compressing the downloads");
    sizes = {};
    for (const { name, module } of started) {
      sizes[module] ??= await sizesOf(found.starts.find(({ engine }) => engine === name).files.map(site.read));
    }
  }
} finally {
  await browser.stop();
  site.stop();
}

const failures = found.runs.filter(({ error }) => error).map((run) => `${run.workload}, ${run.engine} (${run.protocol}, ${run.latency} ms): ${run.error}`);
const wrong = mismatches(found.runs);

console.log(`${version}, ${cpus().length} cores, page and origins on loopback, median of ${repeats}. Every engine is started and has
answered a first query without files; every run is on URLs of its own, so that nothing is cached. The origin exposes all headers,
which others need; with simple CORS it exposes none. The floor follows farquet's log.

${results(found.runs, { workloads, engines, settings })}

From asking for the script to the first answer, local files, nothing cached or compiled before:

${starts(found.starts, started, sizes)}
${[...failures.map((line) => `\nFailed: ${line}`), ...wrong.map((line) => `\nAnswers differ: ${line}`)].join("")}`);
if (values.json) {
  writeFileSync(values.json, `${JSON.stringify({ date: new Date(), version, cores: cpus().length, repeats, sizes, ...found })}\n`);
}
if (failures.length || wrong.length) process.exitCode = 1;
