// duckdb-wasm, in the last version that has Parquet built in: later ones fetch it as an extension from a host of the vendor.
import { AsyncDuckDB, VoidLogger } from "@duckdb/duckdb-wasm";
import wasm from "@duckdb/duckdb-wasm/dist/duckdb-eh.wasm";
import script from "@duckdb/duckdb-wasm/dist/duckdb-browser-eh.worker.js";

export async function start() {
  // Script and worker have to be of one version.
  const db = new AsyncDuckDB(new VoidLogger(), new Worker(script));
  await db.instantiate(new URL(wasm, location.href).href);
  const connection = await db.connect();
  await connection.query("SELECT 1");
  return async ({ sql }, urls) => {
    // In the query itself, since a view would open the files once more.
    const files = urls.map((url) => `'${url}'`).join();
    const table = await connection.query(sql.replace("FROM t", `FROM read_parquet([${files}])`));
    return { rows: table.toArray().map((row) => row.toJSON()) };
  };
}
