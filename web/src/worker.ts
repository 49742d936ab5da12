/** The engine in a worker. */
import { isTrap } from "./errors.js";
import { Host } from "./host.js";
import type { Call, Reply, Start } from "./protocol.js";

/** What a worker has that a page has not; TypeScript knows the globals of one of them at a time. */
const scope = self as unknown as Pick<Worker, "postMessage" | "onmessage"> & Pick<Window, "addEventListener">;
const reply = (message: Reply, transfer: Transferable[] = []) => scope.postMessage(message, transfer);

let host: Promise<Host | undefined> | undefined;

scope.onmessage = (event: MessageEvent<Start | Call[]>) => {
  const message = event.data;
  if (Array.isArray(message)) {
    void host?.then((host) => host?.handle(message));
  } else {
    host = Host.start(message, reply);
  }
};

// A trap shows in whatever JavaScript happened to run the engine just then.
const lost = (thrown: unknown, event: Event) => {
  if (!isTrap(thrown)) return;
  event.preventDefault();
  void host?.then((host) => host?.trapped(thrown));
};
scope.addEventListener("error", (event) => lost(event.error, event));
scope.addEventListener("unhandledrejection", (event) => lost(event.reason, event));
