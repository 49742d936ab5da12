import type { Connection } from "./connection.js";
import { FarquetError } from "./errors.js";
import type { QueryOptions, TableOptions } from "./options.js";
import { Batch, type Field, Result } from "./result.js";

/** What answers SQL: a database, or one state of it. */
export interface Queryable {
  /** Runs `sql`, which may be several statements; the rows of the last are the result. */
  query(sql: string, options?: QueryOptions): Promise<Result>;
  /** As `query`, one batch after another. Leaving the loop ends the query. */
  stream(sql: string, options?: QueryOptions): AsyncGenerator<Batch, void, void>;
}

/** SQL over Parquet files on HTTP servers. */
export class Database implements Queryable {
  readonly #connection: Connection;

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Registers `name` for the files at `urls`. Nothing is fetched before a query uses it. Numbers in braces stand for several files:
   * `https://host/{0..9}.parquet`.
   */
  async register(name: string, urls: string | URL | readonly (string | URL)[], options: TableOptions = {}): Promise<void> {
    const list = Array.isArray(urls) ? urls : [urls];
    // Commas separate locations, and mean nothing in a URL that they do not mean encoded.
    const locations = list.map((url) => String(url).replaceAll(",", list.length > 1 ? "%2C" : ",")).join(",");
    const freshness = options.freshness ?? (options.immutable ? "immutable" : undefined);
    await this.#connection.register({ name, locations, freshness });
  }

  query(sql: string, options: QueryOptions = {}): Promise<Result> {
    return collect(this.#connection, sql, options);
  }

  stream(sql: string, options: QueryOptions = {}): AsyncGenerator<Batch, void, void> {
    return stream(this.#connection, sql, options);
  }

  /** Runs `use` on one state of all files: its queries share every request that proves a file current. */
  async snapshot<T>(use: (snapshot: Queryable) => Promise<T> | T): Promise<T> {
    const connection = this.#connection;
    const generation = connection.generation;
    const id = await connection.ask({ op: "snapshot" });
    try {
      return await use({
        query: (sql, options = {}) => collect(connection, sql, options, id),
        stream: (sql, options = {}) => stream(connection, sql, options, id),
      });
    } finally {
      if (connection.generation === generation) connection.tell({ op: "release", id });
    }
  }

  /** The plan of `sql`; with `analyze` it is run, and what it cost stands with the plan. */
  async explain(sql: string, { analyze = false, ...options }: QueryOptions & { analyze?: boolean } = {}): Promise<string> {
    const result = await this.query(`EXPLAIN ${analyze ? "ANALYZE " : ""}${sql}`, options);
    return result.rows<{ plan_type: string; plan: string }>().map((row) => `${row.plan_type}\n${row.plan}`).join("\n");
  }

  /** The columns of a table, or of the file at a URL. */
  async schema(nameOrUrl: string | URL, options: QueryOptions = {}): Promise<Field[]> {
    const text = String(nameOrUrl);
    const quote = /[/:.]/.test(text) ? "'" : '"';
    const from = quote + text.replaceAll(quote, quote + quote) + quote;
    return (await this.query(`SELECT * FROM ${from} LIMIT 0`, options)).fields;
  }

  /** Forgets all files, so that the next query reads them anew. */
  async clearCaches(): Promise<void> {
    await this.#connection.ask({ op: "clear" });
  }

  /** Ends all queries and the engine. */
  close(): void {
    this.#connection.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

function collect(connection: Connection, sql: string, options: QueryOptions, snapshot?: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const { signal } = options;
    if (signal?.aborted) return reject(signal.reason);
    const parts: Uint8Array[] = [];
    const abort = () => {
      connection.tell({ op: "cancel", id });
      reject(signal?.reason);
    };
    const id = connection.call(call(sql, options, snapshot, false), {
      part: (part) => void parts.push(part),
      ...watch(options),
      end: (stats) => {
        signal?.removeEventListener("abort", abort);
        resolve(new Result(parts, stats!));
      },
      fail: (error) => {
        signal?.removeEventListener("abort", abort);
        reject(error);
      },
    });
    signal?.addEventListener("abort", abort, { once: true });
  });
}

async function* stream(
  connection: Connection,
  sql: string,
  options: QueryOptions,
  snapshot?: number,
): AsyncGenerator<Batch, void, void> {
  const { signal } = options;
  signal?.throwIfAborted();
  let settle: { resolve(part: Uint8Array | undefined): void; reject(reason: unknown): void } | undefined;
  let over: FarquetError | "end" | undefined;
  const id = connection.call(call(sql, options, snapshot, true), {
    part: (part) => settle?.resolve(part),
    ...watch(options),
    end: () => {
      over = "end";
      settle?.resolve(undefined);
    },
    fail: (error) => {
      over = error;
      settle?.reject(error);
    },
  });
  const abort = () => settle?.reject(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  let schema: Uint8Array | undefined;
  try {
    for (;;) {
      signal?.throwIfAborted();
      if (over instanceof FarquetError) throw over;
      const part = await new Promise<Uint8Array | undefined>((resolve, reject) => {
        settle = { resolve, reject };
        connection.tell({ op: "pull", id });
      });
      if (!part) return;
      // The first part begins with the schema, which every batch needs to be read by itself.
      const head: Uint8Array = (schema ??= schemaOf(part));
      const rest = head === schema && part.length === head.length ? [] : [part];
      if (rest.length > 0 && part.length > END) yield new Batch(startsWith(part, head) ? [part] : [head, part]);
    }
  } finally {
    signal?.removeEventListener("abort", abort);
    if (over === undefined) connection.tell({ op: "cancel", id });
  }
}

/** The mark of a stream's end: four bytes of ones, four of zeros. */
const END = 8;

/** The first message of an IPC stream: marker, length, metadata. A schema has no body. */
function schemaOf(part: Uint8Array): Uint8Array {
  const length = new DataView(part.buffer, part.byteOffset).getInt32(4, true);
  return part.slice(0, 8 + length);
}

function startsWith(part: Uint8Array, head: Uint8Array): boolean {
  return part.length >= head.length && head.every((byte, index) => part[index] === byte);
}

function call(sql: string, options: QueryOptions, snapshot: number | undefined, pulled: boolean) {
  const { params = [], maxRequests, maxBytes, onProgress } = options;
  const limits = { ...(maxRequests !== undefined && { maxRequests }), ...(maxBytes !== undefined && { maxBytes }) };
  return { op: "query" as const, sql, params, limits, snapshot, progress: onProgress !== undefined, pulled };
}

function watch({ onProgress }: QueryOptions) {
  return onProgress ? { progress: onProgress } : {};
}
