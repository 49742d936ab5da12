// The page's own server: the engines' bundles and farquet's package.
import { build } from "esbuild";
import { createServer } from "node:http";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";

const TYPES = { ".js": "text/javascript", ".wasm": "application/wasm" };
const WEB = new URL("..", import.meta.url).pathname;

/** Bundles the engines `modules` and serves them. */
export async function serve(modules) {
  const outdir = mkdtempSync(join(tmpdir(), "farquet-bench-"));
  await build({
    entryPoints: modules.map((name) => new URL(`engines/${name}.mjs`, import.meta.url).pathname),
    bundle: true, minify: true, format: "esm", target: "es2022", outdir, publicPath: "/", legalComments: "none", logLevel: "warning",
    // What is fetched on its own stays a file; duckdb's worker is a script, not a part of its module.
    loader: { ".wasm": "file", ".worker.js": "file" },
    external: ["/dist/*"],
  });
  const read = (path) => readFileSync(join(path.startsWith("/dist/") ? WEB : outdir, path));
  const served = new Set();
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://page");
    // Nothing is kept, so that every start of an engine is a first one.
    response.setHeader("cache-control", "no-store");
    if (pathname === "/") return response.setHeader("content-type", "text/html").end("<!doctype html><title>bench</title>");
    try {
      const bytes = read(pathname);
      served.add(pathname);
      response.setHeader("content-type", TYPES[extname(pathname)] ?? "application/octet-stream").end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    read,
    /** The paths that have been served since this was asked last. */
    taken() {
      const paths = [...served];
      served.clear();
      return paths;
    },
    stop() {
      server.close();
      rmSync(outdir, { recursive: true, force: true });
    },
  };
}
