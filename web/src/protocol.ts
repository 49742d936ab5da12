import type { Failure } from "./errors.js";
import type { Parameter, Progress } from "./options.js";
import type { Stats } from "./stats.js";

/** What the engine needs to begin. */
export interface Start {
  wasm: string | WebAssembly.Module;
  options: Record<string, unknown>;
}

/** What is asked of the engine. Calls that were made in one turn of the page's event loop travel together and begin together. */
export type Call =
  | { op: "register"; id: number; name: string; locations: string; freshness?: string | undefined }
  | {
      op: "query";
      id: number;
      sql: string;
      params: readonly Parameter[];
      limits: { maxRequests?: number; maxBytes?: number };
      snapshot?: number | undefined;
      progress: boolean;
      /** Parts are sent when they are asked for, not as they come. */
      pulled: boolean;
    }
  | { op: "pull"; id: number }
  | { op: "cancel"; id: number }
  | { op: "snapshot"; id: number }
  | { op: "release"; id: number }
  | { op: "clear"; id: number };

/** What the engine says. */
export type Reply =
  | { kind: "ready"; module: WebAssembly.Module }
  | { kind: "unable"; failure: Failure }
  /** The instance is lost. */
  | { kind: "trap"; message: string }
  | { kind: "done"; id: number }
  | { kind: "part"; id: number; part: Uint8Array }
  | { kind: "end"; id: number; stats: Stats }
  | { kind: "failed"; id: number; failure: Failure; stats?: Stats | undefined }
  | { kind: "progress"; id: number; progress: Progress };

/** The two ends of a conversation with an engine, wherever that runs. */
export interface Link {
  send(calls: Call[]): void;
  close(): void;
}
