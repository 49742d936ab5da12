// The requests of a load: a bar each, from being sent over its first byte to its end, and the steps of dependence behind them.
import * as Plot from "@observablehq/plot";
import { table, widthOf } from "./charts.js";

const CAUSES = { body: "whole file", footer: "footer", page_index: "page index", data: "columns", validation: "still the same?" };
const COLORS = ["var(--accent)", "var(--violet)", "var(--green)", "var(--warm)", "var(--quiet)"];

export function waterfall(log, into, list) {
  const requests = log.map((request, index) => ({ ...request, index, first: request.firstByte ?? request.end, cause: CAUSES[request.cause], file: request.url.split("/").at(-1) }));
  list.replaceChildren(...table(requests.map(({ file, method, range, status, bytes, hop, cause, start, end }) => ({ file, method, range: range ?? "all", status, bytes, hop, for: cause, "sent, ms": start, "ended, ms": end }))));
  if (requests.length === 0) {
    into.textContent = "No request was needed.";
    return;
  }
  const hops = [...new Set(requests.map(({ hop }) => hop))].map((hop) => {
    const all = requests.filter((request) => request.hop === hop);
    return { hop, start: Math.min(...all.map(({ start }) => start)), end: Math.max(...all.map(({ end }) => end)) };
  });
  const present = [...new Set(requests.map(({ cause }) => cause))];
  const chart = Plot.plot({
    width: widthOf(into), height: Math.max(120, requests.length * 6 + 60), marginLeft: 12, marginRight: 24, marginTop: 24,
    style: { background: "none", fontFamily: "inherit" },
    x: { label: "milliseconds →", grid: true, zero: true }, y: { axis: null, type: "band", domain: requests.map(({ index }) => index) },
    color: { legend: true, domain: present, range: present.map((cause) => COLORS[Object.values(CAUSES).indexOf(cause)]) },
    marks: [
      Plot.ruleX(hops, { x: "start", stroke: "currentColor", strokeDasharray: "3 3" }),
      Plot.text(hops, { x: "start", frameAnchor: "top", text: ({ hop }) => `hop ${hop}`, dx: 5, dy: -14, textAnchor: "start", fill: "currentColor", fontWeight: 600 }),
      Plot.barX(requests, { x1: "start", x2: "first", y: "index", fill: "cause", fillOpacity: 0.3, inset: 0.5 }),
      Plot.barX(requests, { x1: "first", x2: "end", y: "index", fill: "cause", inset: 0.5, title: ({ file, method, range, bytes, status }) => `${method} ${file}\n${range ?? "all of it"}\n${status}, ${bytes} bytes` }),
    ],
  });
  chart.setAttribute("aria-label", `${requests.length} requests in ${hops.length} steps`);
  into.replaceChildren(chart);
}
