import { isTrap } from "./errors.js";
import type { Parts } from "./options.js";
import type { Call, Link, Reply, Start } from "./protocol.js";

/** An engine in a worker. */
export function inWorker(make: NonNullable<Parts["workerUrl"]>, start: Start, hear: (reply: Reply) => void): Link {
  const worker = typeof make === "function" ? make() : spawn(make);
  worker.onmessage = (event: MessageEvent<Reply>) => hear(event.data);
  worker.onerror = (event) => {
    // Only a script that cannot be loaded has nothing to say for itself.
    event.preventDefault();
    const message = `the worker failed: ${event.message || "its script cannot be loaded"}`;
    hear({ kind: "unable", failure: { code: "load", message, hint: "is worker.js where the package looks for it?" } });
  };
  worker.postMessage(start);
  return { send: (calls) => worker.postMessage(calls), close: () => worker.terminate() };
}

/** A worker whose script may come from another origin, as from a CDN. */
function spawn(url: string | URL): Worker {
  const { href, origin } = new URL(url, globalThis.location?.href);
  if (origin === globalThis.location?.origin) return new Worker(href, { type: "module" });
  const script = new Blob([`import ${JSON.stringify(href)};`], { type: "text/javascript" });
  const blob = URL.createObjectURL(script);
  const worker = new Worker(blob, { type: "module" });
  // Once it runs, the script has been read.
  worker.addEventListener("message", () => URL.revokeObjectURL(blob), { once: true });
  return worker;
}

/** An engine on the calling thread. */
export function onThisThread(start: Start, hear: (reply: Reply) => void): Link {
  const host = import("./host.js").then(({ Host }) => Host.start(start, hear));
  const lost = (thrown: unknown, event: Event) => {
    if (!isTrap(thrown)) return;
    event.preventDefault();
    void host.then((host) => host?.trapped(thrown));
  };
  const onError = (event: ErrorEvent) => lost(event.error, event);
  const onRejection = (event: PromiseRejectionEvent) => lost(event.reason, event);
  globalThis.addEventListener?.("error", onError);
  globalThis.addEventListener?.("unhandledrejection", onRejection);
  return {
    send: (calls: Call[]) => void host.then((host) => host?.handle(calls)),
    close: () => {
      globalThis.removeEventListener?.("error", onError);
      globalThis.removeEventListener?.("unhandledrejection", onRejection);
    },
  };
}
