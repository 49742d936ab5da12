/** When an earlier answer is good enough: asked again, by HTTP's own rules, or always. */
export type Freshness = "validate" | "http" | "immutable";

/** Options of a connection. Sizes are in bytes, times in milliseconds. */
export interface ConnectOptions {
  /** Run the engine in a Web Worker, which is the default wherever there are workers. */
  worker?: boolean;
  /** When an earlier answer is good enough, unless a table has a rule of its own. Default: `validate`. */
  freshness?: Freshness;
  /** Memory for small files that are kept across queries; 0 keeps none. Default: 64 MiB. */
  cacheSize?: number;
  /** Memory for footers that are kept across queries; 0 keeps none. Default: 50 MiB. */
  footerCacheSize?: number;
  /** What the operators of all queries may hold; a query that needs more fails. Default: 1 GiB. */
  memoryLimit?: number;
  /** How often one request is sent again at most. Default: 4. */
  retries?: number;
  /** How long nothing may arrive before a request counts as lost. Default: 20,000. */
  idleTimeout?: number;
  /** Requests in flight to one origin. Default: 6 without TLS, else 64. */
  requestsPerOrigin?: number;
  /** Headers for origins: `{ "https://host": { Authorization: "Bearer …" } }`. The server has to allow them (CORS preflight). */
  headers?: Record<string, Record<string, string>>;
  /** What relative URLs are relative to. Default: the page's own URL. */
  base?: string;
}

/** Where `farquet/slim` finds its parts. */
export interface Parts {
  /** URL of `farquet.wasm`, or the compiled module. */
  wasm: string | URL | WebAssembly.Module;
  /** URL of `worker.js`, or how to make the worker. Without it the engine runs on the calling thread. */
  workerUrl?: string | URL | (() => Worker);
}

/** Options of a table. */
export interface TableOptions {
  /** These files never change: what is cached of them is used without asking. */
  immutable?: boolean;
  /** As in {@link ConnectOptions}, for this table alone. */
  freshness?: Freshness;
}

/** A value of `$1`, `$2` and so on. Numbers without a fraction are integers, dates are timestamps in UTC. */
export type Parameter = string | number | bigint | boolean | Date | Uint8Array | null | undefined;

/** How far a query has come. */
export interface Progress {
  files: number;
  bytesReceived: number;
  requestsInFlight: number;
}

/** Options of a query. */
export interface QueryOptions {
  params?: readonly Parameter[];
  /** Ends the query, its requests and its work. */
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
  /** The query fails before it sends more requests. */
  maxRequests?: number;
  /** The query fails before it asks for more bytes. */
  maxBytes?: number;
}
