// Serves the dashboard, and its data from an origin on another port: node demo/serve.mjs [--port N] [--latency MS]
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { Origin } from "../tests/support/origin.mjs";

const TYPES = { ".js": "text/javascript", ".css": "text/css", ".html": "text/html; charset=utf-8", ".wasm": "application/wasm", ".json": "application/json" };
const DEMO = new URL(".", import.meta.url).pathname;
const DIST = new URL("../dist/", import.meta.url).pathname;

/** Starts both servers. */
export async function serve({ port = 0, latency = 30 } = {}) {
  const { outputFiles } = await build({
    entryPoints: [join(DEMO, "src/main.js")], bundle: true, format: "esm", target: "es2022", minify: true, write: false, legalComments: "none",
    // The package is served as it is published.
    external: ["farquet"],
  });
  const origin = await Origin.start("--fixture", "minutes60", "--cors-simple", "--latency", String(latency));
  const made = { "/main.js": outputFiles[0].contents, "/files.json": JSON.stringify(origin.urls) };
  const read = (path) => made[path] ?? readFileSync(path.startsWith("/farquet/") ? join(DIST, path.slice(9)) : join(DEMO, path));
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://page");
    const path = pathname === "/" ? "/index.html" : pathname;
    try {
      const bytes = read(path);
      response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream", "cache-control": "no-cache" }).end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    origin,
    stop() {
      origin.stop();
      server.close();
      server.closeAllConnections();
    },
  };
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const { values } = parseArgs({ options: { port: { type: "string", default: "8080" }, latency: { type: "string", default: "30" } } });
  const { url, origin, stop } = await serve({ port: Number(values.port), latency: Number(values.latency) });
  console.log(`the dashboard: ${url}\nits ${origin.urls.length} files: ${origin.base}, ${values.latency} ms away\nCtrl-C ends both`);
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => (stop(), process.exit()));
}
