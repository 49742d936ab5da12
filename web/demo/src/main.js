// The page: queries all tiles on one state of the files, draws them, and tells what that cost.
import { connect } from "farquet";
import { element, table } from "./charts.js";
import { TILES } from "./tiles.js";
import { waterfall } from "./waterfall.js";

const $ = (id) => document.getElementById(id);
const END = Date.UTC(2024, 5, 1, 1);
const BYTES = new Intl.NumberFormat("en", { style: "unit", unit: "megabyte", maximumFractionDigits: 2 });
const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

const tiles = TILES.map(({ title, kind }) => {
  const body = element("div", { className: "body" });
  const card = element("article", { className: `card tile ${kind}` }, element("h2", { text: title }), body);
  card.setAttribute("aria-busy", "true");
  $("tiles").append(card);
  return { card, body };
});

function say(text, bad = false) {
  $("status").textContent = text;
  $("status").classList.toggle("bad", bad);
}

const explain = (error) => `${error.message}${error.url && !error.message.includes(error.url) ? ` (${error.url})` : ""}`;

let running = new AbortController();
/** The last load, to be drawn again when the page changes its width. */
let last;

async function load(db) {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const minutes = Number(document.querySelector("[name=minutes]:checked").value);
  const params = [new Date(END - minutes * 60_000).toISOString().slice(0, -1), new Date(END).toISOString().slice(0, -1)];
  for (const { card } of tiles) card.setAttribute("aria-busy", "true");
  say("Loading…");
  const began = performance.now();
  try {
    const results = await db.snapshot((state) =>
      Promise.all(TILES.map(async ({ sql }, index) => {
        const result = await state.query(sql, { params, signal });
        draw(index, result.rows());
        return result;
      })));
    const ms = performance.now() - began;
    const sum = (of) => results.reduce((sum, { stats }) => sum + of(stats), 0);
    const log = results.flatMap(({ stats }) => stats.log).sort((a, b) => a.start - b.start);
    const hops = Math.max(...results.map(({ stats }) => stats.hops));
    last = { log, rows: results.map((result) => result.rows()) };
    waterfall(log, $("waterfall"), $("requests"));
    $("summary").textContent = `${plural(log.length, "request")} · ${plural(hops, "hop")} · ${BYTES.format(sum((stats) => stats.bytesReceived) / 1e6)} · versions by ${results[0].stats.validators}`;
    say(`${TILES.length} queries in ${Math.round(ms)} ms: ${plural(log.length, "request")}, ${plural(hops, "hop")}.`);
    document.body.dataset.loads = Number(document.body.dataset.loads ?? 0) + 1;
  } catch (error) {
    if (!signal.aborted) say(explain(error), true);
  }
}

function draw(index, rows) {
  const { card, body } = tiles[index];
  body.replaceChildren(...(rows.length > 0 ? TILES[index].draw(rows, body) : [element("p", { className: "empty", text: "Nothing in this time range." })]));
  card.setAttribute("aria-busy", "false");
}

async function own(db, form) {
  const into = $("own-result");
  const { url, sql } = Object.fromEntries(new FormData(form));
  into.replaceChildren(element("p", { text: "Asking…" }));
  try {
    await db.register("file", url);
    const [result, { columns, rows }] = await db.snapshot((state) => Promise.all([
      state.query(sql),
      state.query("SELECT * FROM file LIMIT 0").then(async ({ fields }) => ({ columns: fields, rows: (await state.query("SELECT count(*) AS n FROM file")).rows()[0].n })),
    ]));
    const about = `${plural(rows, "row")}, ${plural(columns.length, "column")}: ${columns.map(({ name, type }) => `${name} ${type}`).join(", ")}`;
    into.replaceChildren(
      element("p", { text: about.length > 600 ? `${about.slice(0, 600)}…` : about, className: "empty" }),
      element("p", { text: `${plural(result.numRows, "row")} of the query, ${plural(result.stats.log.length, "request")}, ${plural(result.stats.hops, "hop")}.` }),
      ...table(result.rows().slice(0, 200)),
    );
  } catch (error) {
    into.replaceChildren(element("p", { className: "bad", text: `${error.code}: ${explain(error)}` }));
  }
}

$("theme").addEventListener("click", () => {
  const { dataset } = document.documentElement;
  const dark = dataset.theme ? dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  dataset.theme = dark ? "light" : "dark";
});

let width = innerWidth;
addEventListener("resize", () => {
  if (!last || innerWidth === width) return;
  width = innerWidth;
  last.rows.forEach((rows, index) => draw(index, rows));
  waterfall(last.log, $("waterfall"), $("requests"));
});

try {
  const [db, files] = await Promise.all([connect(), fetch("files.json").then((answer) => answer.json())]);
  await db.register("metrics", files);
  $("own").elements.url.value = files[0];
  $("range").addEventListener("change", () => load(db));
  $("reload").addEventListener("click", () => load(db));
  $("own").addEventListener("submit", (event) => {
    event.preventDefault();
    void own(db, event.target);
  });
  await load(db);
} catch (error) {
  say(explain(error), true);
}
