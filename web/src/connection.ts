import { type Failure, FarquetError } from "./errors.js";
import { inWorker, onThisThread } from "./links.js";
import type { ConnectOptions, Parts, Progress } from "./options.js";
import type { Call, Link, Reply, Start } from "./protocol.js";
import type { Stats } from "./stats.js";

/** Who waits for the answers to one call. */
export interface Listener {
  part?(part: Uint8Array): void;
  progress?(progress: Progress): void;
  end(stats?: Stats): void;
  fail(error: FarquetError): void;
}

type Register = Extract<Call, { op: "register" }>;
type Unnumbered<C> = C extends Call ? Omit<C, "id"> : never;

/** A conversation with an engine, which is replaced when it is lost. */
export class Connection {
  readonly #parts: Parts;
  readonly #options: Record<string, unknown>;
  readonly #listeners = new Map<number, Listener>();
  /** What a new engine is told, so that it knows the same tables. */
  readonly #tables = new Map<string, Register>();
  #link: Link;
  #module: WebAssembly.Module | undefined;
  #outbox: Call[] = [];
  #last = 0;
  #failure: Failure | undefined;
  /** Engines so far; what belongs to an earlier one, such as a snapshot, is over. */
  generation = 0;

  private constructor(parts: Parts, options: ConnectOptions, ready: (failure?: Failure) => void) {
    this.#parts = parts;
    const { worker: _, ...rest } = options;
    this.#options = { base: globalThis.location?.href, ...rest };
    this.#link = this.#open(ready);
  }

  static async open(parts: Parts, options: ConnectOptions): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const connection: Connection = new Connection(parts, options, (failure) => {
        if (!failure) return resolve(connection);
        connection.close();
        reject(new FarquetError(failure));
      });
    });
  }

  #open(ready: (failure?: Failure) => void): Link {
    const { wasm, workerUrl } = this.#parts;
    const module = this.#module ?? (wasm instanceof WebAssembly.Module ? wasm : String(wasm));
    const start: Start = { wasm: module, options: this.#options };
    const generation = ++this.generation;
    const hear = (reply: Reply) => {
      if (generation !== this.generation) return;
      if (reply.kind === "ready") {
        this.#module = reply.module;
        ready();
      } else if (reply.kind === "unable") {
        this.#lose(reply.failure);
        ready(reply.failure);
      } else {
        this.#hear(reply);
      }
    };
    return workerUrl === undefined ? onThisThread(start, hear) : inWorker(workerUrl, start, hear);
  }

  #hear(reply: Exclude<Reply, { kind: "ready" | "unable" }>): void {
    if (reply.kind === "trap") return this.#replace(reply.message);
    const listener = this.#listeners.get(reply.id);
    if (!listener) return;
    switch (reply.kind) {
      case "part":
        return listener.part?.(reply.part);
      case "progress":
        return listener.progress?.(reply.progress);
      case "done":
        this.#listeners.delete(reply.id);
        return listener.end();
      case "end":
        this.#listeners.delete(reply.id);
        return listener.end(reply.stats);
      case "failed":
        this.#listeners.delete(reply.id);
        return listener.fail(new FarquetError(reply.failure));
    }
  }

  /** Ends what runs, and starts a new engine that knows the tables. */
  #replace(message: string): void {
    this.#link.close();
    const waiting = this.#outbox;
    this.#outbox = [];
    this.#fail({
      code: "trap",
      message: `the engine stopped (${message}) and was started anew`,
      hint: "a file that no decoder was made for, or too little memory; registered tables are there again, other tables and settings are not",
    });
    this.#link = this.#open(() => {});
    this.#link.send([...this.#tables.values()]);
    // What was not sent yet did not suffer.
    for (const call of waiting) if (this.#listeners.has(call.id)) this.#push(call);
  }

  #fail(failure: Failure): void {
    const listeners = [...this.#listeners.values()];
    this.#listeners.clear();
    for (const listener of listeners) listener.fail(new FarquetError(failure));
  }

  #lose(failure: Failure): void {
    this.#failure ??= failure;
    this.#fail(failure);
  }

  /** Sends a call, together with others of this turn, and returns its number. */
  call(call: Unnumbered<Call>, listener: Listener): number {
    const id = ++this.#last;
    const numbered = { ...call, id } as Call;
    if (this.#failure) {
      const failure = this.#failure;
      queueMicrotask(() => listener.fail(new FarquetError(failure)));
      return id;
    }
    this.#listeners.set(id, listener);
    this.#push(numbered);
    return id;
  }

  /** Says something about an earlier call, which is not answered by itself. */
  tell(call: Extract<Call, { op: "pull" | "cancel" | "release" }>): void {
    if (call.op === "cancel") this.#listeners.delete(call.id);
    if (!this.#failure) this.#push(call);
  }

  /** A call that is answered once. */
  ask(call: Unnumbered<Call>): Promise<number> {
    return new Promise((resolve, reject) => {
      const id: number = this.call(call, { end: () => resolve(id), fail: reject });
    });
  }

  async register(call: Omit<Register, "id" | "op">): Promise<void> {
    const id = await this.ask({ op: "register", ...call });
    this.#tables.set(call.name.toLowerCase(), { op: "register", id, ...call });
  }

  #push(call: Call): void {
    this.#outbox.push(call);
    if (this.#outbox.length > 1) return;
    queueMicrotask(() => {
      const calls = this.#outbox;
      this.#outbox = [];
      if (calls.length > 0 && !this.#failure) this.#link.send(calls);
    });
  }

  close(): void {
    this.#lose({ code: "closed", message: "the connection is closed" });
    this.generation++;
    this.#link?.close();
  }
}
