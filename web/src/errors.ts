/** What a caller can act on. */
export type ErrorCode =
  | "location"
  | "network"
  | "cors"
  | "not-found"
  | "access"
  | "rate-limited"
  | "status"
  | "bad-response"
  | "range-ignored"
  | "not-parquet"
  | "malformed"
  | "unsupported"
  | "schema"
  | "source-changed"
  | "budget"
  | "query"
  | "memory"
  | "decoder"
  | "other"
  /** The engine stopped; the package has started a new one with the registered tables. */
  | "trap"
  /** The engine could not be loaded. */
  | "load"
  /** The connection was closed. */
  | "closed";

/** An error as it travels between the engine and the page. */
export interface Failure {
  code: ErrorCode;
  message: string;
  url?: string | undefined;
  hint?: string | undefined;
  status?: number | undefined;
}

/** An error of farquet's. */
export class FarquetError extends Error {
  override readonly name = "FarquetError";
  readonly code: ErrorCode;
  /** The file's URL, without its query string. */
  readonly url: string | undefined;
  /** What can be done about it. */
  readonly hint: string | undefined;
  /** The HTTP status, where the error is an answer of the server. */
  readonly status: number | undefined;

  constructor(failure: Failure) {
    super(failure.hint ? `${failure.message} (${failure.hint})` : failure.message);
    this.code = failure.code;
    this.url = failure.url;
    this.hint = failure.hint;
    this.status = failure.status;
  }
}

/** What the engine threw, in a form that can be sent. */
export function failureOf(thrown: unknown): Failure {
  if (typeof thrown === "object" && thrown !== null && "code" in thrown && "message" in thrown) {
    const { code, message, url, hint, status } = thrown as Failure;
    return { code, message, url, hint, status };
  }
  return { code: "other", message: String(thrown) };
}

/** Whether `thrown` means that the instance is lost: a trap, or a stack or memory at its end within the module. */
export function isTrap(thrown: unknown): boolean {
  if (thrown instanceof WebAssembly.RuntimeError) return true;
  if (!(thrown instanceof Error)) return false;
  return (thrown instanceof RangeError || thrown.name === "InternalError") && /wasm/.test(thrown.stack ?? "");
}
