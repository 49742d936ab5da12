// A loopback origin as another process, driven through its control listener.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const TARGET = process.env.CARGO_TARGET_DIR ?? new URL("../../../target", import.meta.url).pathname;
const BINARY = process.env.FARQUET_ORIGIN ?? `${TARGET}/release/farquet-origin`;

export class Origin {
  #process;

  constructor(process, base, control, urls) {
    this.#process = process;
    this.base = base;
    this.control = control;
    this.urls = urls;
  }

  /** Starts `farquet-origin` with `flags`; `files` of its fixture set are named in its output. */
  static async start(...flags) {
    const child = spawn(BINARY, [...flags, "--control"], { stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async () => (await lines.next()).value;
    const base = await next();
    if (!base) throw new Error(`${BINARY} did not start: ${await once(child, "exit")}`);
    const control = (await next()).replace("control ", "");
    const origin = new Origin(child, base, control, []);
    void (async () => {
      for (let url = await next(); url; url = await next()) origin.urls.push(url);
    })();
    // They are all written at once.
    for (let seen = -1; seen < origin.urls.length; await new Promise((resolve) => setTimeout(resolve, 50))) seen = origin.urls.length;
    return origin;
  }

  async #command(method, path, body) {
    const answer = await fetch(new URL(path, this.control), { method, body });
    const value = await answer.json();
    if (!answer.ok) throw new Error(`${method} ${path}: ${value.error}`);
    return value;
  }

  log = () => this.#command("GET", "log");
  summary = () => this.#command("GET", "summary");
  clear = () => this.#command("POST", "clear");
  put = (path, bytes, tags = {}) =>
    this.#command("PUT", `file?${new URLSearchParams({ path, ...tags })}`, bytes);
  remove = (path) => this.#command("DELETE", `file?${new URLSearchParams({ path })}`);
  script = (rules) => this.#command("POST", "script", JSON.stringify(rules));
  unscript = () => this.#command("DELETE", "script");

  /** What was sent to it since the log was cleared: `{ GET: 60 }`, by method, without what the body says. */
  async methods() {
    return (await this.summary()).by_method;
  }

  url(path) {
    return new URL(path, this.base).href;
  }

  stop() {
    this.#process.kill("SIGKILL");
  }
}
