// Tables in Markdown.

const table = (head, rows) => [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const METHODS = ["OPTIONS", "HEAD", "GET"];
const text = (requests) => METHODS.filter((method) => requests[method]).map((method) => `${requests[method]} ${method}`).join(", ");

/** The median of one workload and engine at each setting, where there is one. */
function cellsOf(runs, settings) {
  return settings.map(({ protocol, latency }) => {
    const here = runs.filter((run) => run.protocol === protocol && run.latency === latency && !run.error);
    return here.length ? median(here.map(({ ms }) => ms)) : undefined;
  });
}

const milliseconds = (value) => value?.toFixed() ?? "failed";
const ratio = (a, b) => (a === undefined || b === undefined ? "" : (a / b).toFixed(2));

/** Medians, requests and ratios, workload by workload. */
export function results(runs, { workloads, engines, settings }) {
  const names = settings.map(({ protocol, latency }) => `${protocol} ${latency} ms`);
  const medians = [], ratios = [];
  for (const workload of workloads) {
    const of = (engine) => runs.filter((run) => run.workload === workload.name && run.engine === engine.name);
    const farquet = cellsOf(of({ name: "farquet" }), settings);
    for (const engine of engines) {
      const cells = cellsOf(of(engine), settings);
      const requests = [...new Set(of(engine).map((run) => text(run.requests)))].join(" or ");
      const megabytes = median(of(engine).map(({ bytes }) => bytes / 1e6)).toFixed(2);
      medians.push([workload.name, engine.name, ...cells.map(milliseconds), requests, megabytes]);
      if (!engine.name.startsWith("farquet")) ratios.push([workload.name, engine.name, ...farquet.map((value, index) => ratio(value, cells[index]))]);
    }
  }
  const parts = [
    "Medians in milliseconds; requests, and megabytes sent (also of answers that were broken off), as the origin counted them:",
    table(["workload", "engine", ...names, "requests", "MB"], medians),
  ];
  // Without farquet there is nothing to divide.
  if (ratios.some((row) => row.slice(2).some(Boolean))) {
    parts.push("farquet's time over the other's, so that less than 1 is faster:", table(["workload", "other", ...names], ratios));
  }
  return parts.join("\n\n");
}

/** Time from asking for the script to the first answer, and what came for it. */
export function starts(all, engines, sizes) {
  const rows = engines.map(({ name, module }) => {
    const ms = median(all.filter(({ engine }) => engine === name).map(({ ms }) => ms)).toFixed();
    const size = sizes?.[module];
    return [name, ms, ...(size ? [size.raw, size.gzip, size.brotli] : [])];
  });
  return table(["engine", "start, ms", ...(sizes ? ["bytes", "gzip 9", "brotli 11"] : [])], rows);
}
