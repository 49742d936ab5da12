import init, { __wbg_reset_state, Engine, type Query, type Shared } from "../wasm/farquet_web.js";
import { failureOf, isTrap } from "./errors.js";
import type { Call, Reply, Start } from "./protocol.js";
import type { Stats } from "./stats.js";

/** How often progress is told, in milliseconds. */
const PROGRESS = 100;

/** Loads the module and compiles it while it comes. */
async function compile(wasm: string | WebAssembly.Module): Promise<WebAssembly.Module> {
  if (typeof wasm !== "string") return wasm;
  if (wasm.startsWith("file:")) {
    // Node, which does not fetch files.
    const { readFile } = process.getBuiltinModule("node:fs/promises");
    return WebAssembly.compile(await readFile(new URL(wasm)));
  }
  const response = await fetch(wasm);
  if (!response.ok) throw new Error(`${wasm}: the server answered ${response.status}`);
  const streams = response.headers.get("content-type")?.startsWith("application/wasm");
  return streams ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

/** The bindings hold one instance at a time, which several engines of one thread share. */
let instance = { ready: undefined as Promise<unknown> | undefined, lost: false };

function instantiate(module: WebAssembly.Module): Promise<unknown> {
  // The package's build makes this reset asynchronous.
  if (instance.lost) instance = { ready: __wbg_reset_state() as unknown as Promise<void>, lost: false };
  const one = instance;
  return (one.ready ??= init({ module_or_path: module }).catch((error: unknown) => {
    // The next connection tries again.
    one.ready = undefined;
    throw error;
  }));
}

/** Most of the module is compiled when it first runs: better while a page waits for its first answers. */
const WARM_UP =
  "SELECT a % 2 AS b, count(*), sum(a), min(c) FROM (VALUES (1, 'x'), (2, 'y')) AS t (a, c) WHERE a > 0 AND c <> 'z' GROUP BY 1 ORDER BY 2";

/** An engine and the queries that run in it: on a worker, or on the calling thread. */
export class Host {
  readonly #engine: Engine;
  readonly #reply: (reply: Reply, transfer?: Transferable[]) => void;
  readonly #queries = new Map<number, Query>();
  readonly #snapshots = new Map<number, Shared>();
  readonly #instance = instance;
  #lost = false;

  private constructor(engine: Engine, reply: Host["reply"]) {
    this.#engine = engine;
    this.#reply = reply;
  }

  /** Starts an engine and tells when it is ready; nothing if it cannot be had. */
  static async start({ wasm, options }: Start, reply: Host["reply"]): Promise<Host | undefined> {
    try {
      const module = await compile(wasm);
      await instantiate(module);
      const host = new Host(new Engine(options), reply);
      reply({ kind: "ready", module });
      // After the calls that wait already: their first requests are then under way.
      setTimeout(() => host.#warmUp());
      return host;
    } catch (thrown) {
      const failure = failureOf(thrown);
      if (failure.code === "other") {
        failure.code = "load";
        failure.message = `the engine cannot be loaded: ${failure.message}`;
        failure.hint = "farquet.wasm and worker.js have to be where the package looks for them; farquet/slim takes their URLs";
      }
      reply({ kind: "unable", failure });
      return undefined;
    }
  }

  get reply(): (reply: Reply, transfer?: Transferable[]) => void {
    return this.#reply;
  }

  /** Begins all `calls` before anything of them is waited for. */
  handle(calls: Call[]): void {
    for (const call of calls) {
      if (this.#lost) return;
      try {
        this.#begin(call);
      } catch (thrown) {
        this.#failed(call.id, thrown);
      }
    }
  }

  /** The instance is lost: nothing more comes of it. */
  trapped(thrown: unknown): void {
    if (this.#lost) return;
    this.#lost = true;
    this.#instance.lost = true;
    this.#reply({ kind: "trap", message: thrown instanceof Error ? thrown.message : String(thrown) });
  }

  #begin(call: Call): void {
    switch (call.op) {
      case "register":
        this.#engine.register(call.name, call.locations, call.freshness);
        return this.#reply({ kind: "done", id: call.id });
      case "query": {
        const on = call.snapshot === undefined ? this.#engine : this.#snapshots.get(call.snapshot);
        if (!on) throw { code: "closed", message: "the snapshot is over" };
        const query = on.query(call.sql, call.params as unknown[], call.limits);
        this.#queries.set(call.id, query);
        if (call.progress) this.#watch(call.id, query);
        if (!call.pulled) void this.#run(call.id, query);
        return;
      }
      case "pull": {
        const query = this.#queries.get(call.id);
        if (query) void this.#pull(call.id, query);
        return;
      }
      case "cancel":
        return this.#end(call.id);
      case "snapshot":
        this.#snapshots.set(call.id, this.#engine.snapshot());
        return this.#reply({ kind: "done", id: call.id });
      case "release":
        this.#snapshots.get(call.id)?.free();
        this.#snapshots.delete(call.id);
        return;
      case "clear":
        this.#engine.clearCaches();
        return this.#reply({ kind: "done", id: call.id });
    }
  }

  async #warmUp(): Promise<void> {
    if (this.#lost) return;
    const query = this.#engine.query(WARM_UP, [], undefined);
    while (await query.next());
    query.free();
  }

  async #run(id: number, query: Query): Promise<void> {
    while (await this.#pull(id, query));
  }

  /** Sends the next part; whether there may be more. */
  async #pull(id: number, query: Query): Promise<boolean> {
    try {
      const part = await query.next();
      if (this.#queries.get(id) !== query) {
        query.free();
        return false;
      }
      if (part) {
        this.#reply({ kind: "part", id, part }, [part.buffer as ArrayBuffer]);
        return true;
      }
      const stats = query.stats() as Stats;
      this.#end(id);
      this.#reply({ kind: "end", id, stats });
    } catch (thrown) {
      this.#failed(id, thrown);
    }
    return false;
  }

  #failed(id: number, thrown: unknown): void {
    if (isTrap(thrown)) return this.trapped(thrown);
    const query = this.#queries.get(id);
    const stats = query?.stats() as Stats | undefined;
    this.#end(id);
    this.#reply({ kind: "failed", id, failure: failureOf(thrown), stats });
  }

  /** Cancels a query unless it has ended. What still waits for a part of it finds the entry missing. */
  #end(id: number): void {
    this.#queries.get(id)?.cancel();
    this.#queries.delete(id);
  }

  #watch(id: number, query: Query): void {
    const timer = setInterval(() => {
      if (this.#lost || this.#queries.get(id) !== query) return clearInterval(timer);
      const [files = 0, bytesReceived = 0, requestsInFlight = 0] = query.progress();
      this.#reply({ kind: "progress", id, progress: { files, bytesReceived, requestsInFlight } });
    }, PROGRESS);
  }
}
