/** One request; times in milliseconds since the query began. */
export interface RequestLog {
  start: number;
  firstByte?: number | null;
  end: number;
  method: string;
  /** Without its query string. */
  url: string;
  range?: string | null;
  status?: number | null;
  /** Body bytes that were handed to farquet, by the network or by the browser's cache. */
  bytes: number;
  cause: "footer" | "body" | "page_index" | "data" | "validation";
  /** Its step of dependence, from 1. */
  hop: number;
}

/**
 * What a query cost, as far as a page can see: a browser does not tell whether an answer came from its own cache, so that a 304
 * on the wire counts here as a 200 with its bytes.
 */
export interface Stats {
  /** Requests by method. */
  requests: Record<string, number>;
  /** Answers by status. */
  status: Record<string, number>;
  bytesReceived: number;
  /** The longest chain of requests that needed one another. */
  hops: number;
  /** The longest row of requests of which each began after the last one had ended. */
  waves: number;
  retries: number;
  /** How often the query began anew because a file had changed. */
  restarts: number;
  files: number;
  rowGroups: { total: number; read: number };
  cache: { hits: number; revalidated: number; misses: number; bypasses: number; evictions: number };
  footerBytes: number;
  /** How well the files' versions can be told apart: the worst among them. */
  validators?: "strong" | "weak" | "last-modified" | "none" | null;
  /** Every request. */
  log: RequestLog[];
}
