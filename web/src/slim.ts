/** As `farquet`, for pages that say where its parts are: a strict content security policy, files of one's own. */
import { Connection } from "./connection.js";
import { Database } from "./database.js";
import type { ConnectOptions, Parts } from "./options.js";

export { Database, type Queryable } from "./database.js";
export { type ErrorCode, FarquetError } from "./errors.js";
export type { ConnectOptions, Freshness, Parameter, Parts, Progress, QueryOptions, TableOptions } from "./options.js";
export { Batch, type Field, Result, type Row, type RowOptions } from "./result.js";
export type { RequestLog, Stats } from "./stats.js";

/** Starts an engine from the given parts. */
export async function connect(options: ConnectOptions & Parts): Promise<Database> {
  const { wasm, workerUrl, worker = true, ...rest } = options;
  const there = worker && workerUrl !== undefined && typeof Worker === "function";
  const parts: Parts = { wasm: typeof wasm === "string" ? absolute(wasm) : wasm, ...(there && { workerUrl }) };
  return new Database(await Connection.open(parts, rest));
}

/** A worker has another base than the page. */
function absolute(url: string): string {
  return new URL(url, globalThis.location?.href).href;
}
