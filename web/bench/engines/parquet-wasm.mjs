// parquet-wasm, which has neither SQL nor filters: columns as Arrow, and a loop.
import { tableFromIPC } from "@uwdata/flechette";
import init, { ParquetFile } from "parquet-wasm/esm/parquet_wasm.js";
import wasm from "parquet-wasm/esm/parquet_wasm_bg.wasm";

export async function start() {
  await init({ module_or_path: wasm });
  return async ({ name }, urls) => ({ rows: await QUERIES[name](await Promise.all(urls.map((url) => ParquetFile.fromUrl(url)))) });
}

const QUERIES = {
  "count-small": count,
  "count-larger": count,
  async "group-small"(files) {
    const groups = new Map();
    await eachBatch(files, ["host", "metric_name", "value"], (length, [hosts, metrics, values]) => {
      for (let i = 0; i < length; i++) {
        if (!(values[i] > 100) || metrics[i] !== "system.cpu.utilization") continue;
        let group = groups.get(hosts[i]);
        if (!group) groups.set(hosts[i], (group = { host: hosts[i], n: 0, sum: 0 }));
        group.n++;
        group.sum += values[i];
      }
    });
    return [...groups.values()].map(({ host, n, sum }) => ({ host, n, a: sum / n }));
  },
  "prune-wide": (files) => sumWhere(files, "id", (id) => id >= 50000 && id <= 51000),
  "scan-wide": (files) => sumWhere(files, "d03", (value) => value === 7),
};

function count(files) {
  const n = files.reduce((sum, file) => sum + file.metadata().fileMetadata().numRows(), 0);
  files.forEach((file) => file.free());
  return [{ n }];
}

async function sumWhere(files, column, matches) {
  let n = 0, s = 0;
  await eachBatch(files, ["amount", column], (length, [amounts, values]) => {
    for (let i = 0; i < length; i++) {
      if (!matches(values[i])) continue;
      n++;
      s += amounts[i];
    }
  });
  return [{ n, s }];
}

/**
 * Reads `names` from all files at once, and hands their values to `visit` in that order. Of one file it reads one row group after
 * another; so does `stream`, whatever its `concurrency`.
 */
async function eachBatch(files, names, visit) {
  await Promise.all(files.map(async (file) => {
    const table = tableFromIPC((await file.read({ columns: names })).intoIPCStream());
    visit(table.numRows, names.map((name) => table.getChild(name).toArray()));
    file.free();
  }));
}
