/** SQL over public Parquet files, in as few round trips as possible. */
import { connect as connectTo, type ConnectOptions, type Database } from "./slim.js";

export * from "./slim.js";

/** Starts an engine, by default in a worker of its own. */
export function connect(options: ConnectOptions = {}): Promise<Database> {
  // Both forms are what bundlers look for.
  const wasm = new URL("./farquet.wasm", import.meta.url);
  const sameOrigin = wasm.origin === globalThis.location?.origin;
  const workerUrl = sameOrigin
    ? () => new Worker(new URL("./worker.js", import.meta.url), { type: "module" })
    : new URL("./worker.js", import.meta.url);
  return connectTo({ ...options, wasm, workerUrl });
}
