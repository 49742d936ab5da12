// Rows as charts. Colours are the page's own variables, so that a change of theme needs no new drawing.
import * as Plot from "@observablehq/plot";

const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const PLAIN = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: "UTC" });
const SECOND = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZone: "UTC" });
const COLORS = ["var(--accent)", "var(--warm)", "var(--green)"];

/** The width that a chart may have in `element`. */
export const widthOf = (element) => Math.max(240, element.clientWidth);

const base = (element, height) => ({ width: widthOf(element), height, style: { background: "none", fontFamily: "inherit" } });
const times = (width) => ({ type: "utc", label: null, ticks: Math.floor(width / 90), tickFormat: (t) => TIME.format(t) });
const values = (label, zero) => ({ label: `↑ ${label}`, grid: true, zero, ticks: 4, tickFormat: (v) => COMPACT.format(v) });

export function element(name, { text, ...attributes } = {}, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

const TOTALS = {
  sum: (all) => all.reduce((sum, v) => sum + v, 0),
  max: (all) => Math.max(...all),
  mean: (all) => all.reduce((sum, v) => sum + v, 0) / all.length,
};

/** One number with its course. */
export const number = ({ total, unit }) => (rows, into) => {
  const value = element("div", { className: "value", text: PLAIN.format(TOTALS[total](rows.map(({ v }) => v))) });
  if (unit) value.append(element("small", { text: unit }));
  const line = Plot.plot({
    ...base(into, 40), margin: 2, axis: null, x: { type: "utc" }, y: { zero: false },
    marks: [Plot.lineY(rows, { x: "t", y: "v", stroke: "var(--accent)", strokeWidth: 1.5 })],
  });
  line.setAttribute("aria-hidden", "true");
  return [value, line];
};

/** Values over time: one line, lines by `by`, or a band around the middle. */
export const series = ({ y, by, area, band, zero = false }) => (rows, into) => {
  const options = base(into, 220);
  return [Plot.plot({
    ...options, marginLeft: 44, marginRight: 12, x: times(options.width), y: values(y, zero),
    color: by && { legend: true, range: COLORS },
    marks: [
      area && Plot.areaY(rows, { x: "t", y: "v", fill: "var(--accent)", fillOpacity: 0.14 }),
      band && Plot.areaY(rows, { x: "t", y1: "low", y2: "high", fill: "var(--accent)", fillOpacity: 0.16 }),
      Plot.lineY(rows, { x: "t", y: "v", stroke: by ?? "var(--accent)", strokeWidth: 1.75 }),
      Plot.tip(rows, Plot.pointerX({ x: "t", y: "v", stroke: "var(--line)", fill: "var(--card)", title: (row) => [by && row[by], TIME.format(row.t), `${PLAIN.format(row.v)} ${y}`].filter(Boolean).join("\n") })),
    ].filter(Boolean),
  })];
};

/** A bar for each name. */
export const bars = ({ x, color = "var(--accent)" }) => (rows, into) => [Plot.plot({
  ...base(into, 220), marginLeft: 118, marginRight: 44, marginTop: 4,
  x: { label: `${x} →`, ticks: 3, tickFormat: (v) => COMPACT.format(v), grid: true }, y: { label: null, tickSize: 0 },
  marks: [
    Plot.barX(rows, { x: "v", y: "name", sort: { y: "-x" }, fill: color, fillOpacity: 0.85, rx: 2 }),
    Plot.text(rows, { x: "v", y: "name", text: ({ v }) => COMPACT.format(v), textAnchor: "start", dx: 5, fill: "currentColor" }),
  ],
})];

/** A cell for each name and minute. */
export const cells = ({ unit }) => (rows, into) => {
  const options = base(into, 262);
  const minutes = [...new Set(rows.map(({ t }) => +t))];
  const every = Math.max(1, Math.ceil(minutes.length / Math.floor(options.width / 80)));
  return [Plot.plot({
    ...options, marginLeft: 58, marginRight: 4, marginTop: 4,
    x: { label: null, type: "band", tickSize: 0, ticks: minutes.filter((_, index) => index % every === 0), tickFormat: (t) => TIME.format(t) },
    y: { label: null, tickSize: 0 },
    color: { type: "linear", range: ["var(--accent-soft)", "var(--accent)"], interpolate: mix },
    marks: [Plot.cell(rows, { x: ({ t }) => +t, y: "name", fill: "v", inset: 0.5, rx: 1.5, title: ({ t, name, v }) => `${name}, ${TIME.format(t)}: ${PLAIN.format(v)} ${unit}` })],
  })];
};

const mix = (from, to) => (share) => `color-mix(in oklab, ${to} ${(share * 100).toFixed(1)}%, ${from})`;

const shown = (value) => {
  if (value === null || value === undefined) return "–";
  if (value instanceof Date) return SECOND.format(value);
  if (typeof value === "number") return PLAIN.format(value);
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (value instanceof Map) return JSON.stringify([...value]);
  return typeof value === "object" ? JSON.stringify(value, (_, item) => (typeof item === "bigint" ? String(item) : item)) : String(value);
};

/** Rows as a table. */
export const table = (rows) => {
  if (rows.length === 0) return [element("p", { className: "empty", text: "No rows." })];
  const names = Object.keys(rows[0]);
  const right = (value) => (typeof value === "number" || typeof value === "bigint" ? "right" : "");
  const head = names.map((name) => element("th", { text: name, scope: "col", className: right(rows[0][name]) }));
  const lines = rows.map((row) => element("tr", {}, ...names.map((name) => element("td", { text: shown(row[name]), className: right(row[name]) }))));
  const made = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...lines));
  return [element("div", { className: "scroll" }, made)];
};
