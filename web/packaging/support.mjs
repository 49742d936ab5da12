// The package as npm would install it, apps in folders of their own, and pages that show one answer.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { Origin } from "../tests/support/origin.mjs";

const WEB = new URL("..", import.meta.url).pathname;
const APPS = new URL("apps/", import.meta.url).pathname;
const DATA = new URL("../../tests/suite/data/", import.meta.url).pathname;
const TYPES = { ".js": "text/javascript", ".mjs": "text/javascript", ".html": "text/html", ".wasm": "application/wasm" };

/** A folder of packed apps; everything of it is gone after `stop`. */
export class Bench {
  #folder = mkdtempSync(join(tmpdir(), "farquet-packaging-"));
  #servers = [];

  static async start() {
    const bench = new Bench();
    const [packed] = JSON.parse(execFileSync("npm", ["pack", "--json", "--pack-destination", bench.#folder], { cwd: WEB, encoding: "utf8" }));
    bench.files = packed.files.map(({ path }) => path);
    bench.package = join(bench.#folder, "package");
    execFileSync("tar", ["-xzf", join(bench.#folder, packed.filename), "-C", bench.#folder]);
    bench.origin = await Origin.start(DATA, "--cors-simple");
    bench.file = bench.origin.url("/metrics-3.parquet");
    return bench;
  }

  /** A copy of the app `name` with the package among its modules. */
  app(name) {
    const folder = mkdtempSync(join(this.#folder, `${name}-`));
    cpSync(join(APPS, name), folder, { recursive: true });
    mkdirSync(join(folder, "node_modules"));
    cpSync(this.package, join(folder, "node_modules/farquet"), { recursive: true });
    return folder;
  }

  /** Serves `mounts`, folders by the prefix of their paths, with `headers` on every answer. */
  async serve(mounts, headers = {}) {
    const server = createServer((request, response) => {
      const { pathname } = new URL(request.url, "http://page");
      const path = pathname === "/" ? "/index.html" : pathname;
      if (path === "/favicon.ico") return response.writeHead(204).end();
      const prefix = Object.keys(mounts).find((prefix) => path.startsWith(prefix));
      try {
        const bytes = readFileSync(join(mounts[prefix], path.slice(prefix.length)));
        response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream", ...headers }).end(bytes);
      } catch {
        response.writeHead(404).end();
      }
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.#servers.push(server);
    return `http://127.0.0.1:${server.address().port}/`;
  }

  stop() {
    this.origin.stop();
    for (const server of this.#servers) {
      server.close();
      server.closeAllConnections();
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** What the page at `url` shows in the end, what its console said, and how many workers it has. */
export async function shown(browser, url, parameters) {
  const page = await browser.blank("about:blank");
  try {
    const said = [];
    page.on("console", (message) => message.type() === "error" && said.push(message.text()));
    page.on("pageerror", (error) => said.push(String(error)));
    await page.goto(`${url}?${new URLSearchParams(parameters)}`);
    const output = await page.waitForFunction(() => document.querySelector("output").textContent, { timeout: 60_000 }).catch(() => undefined);
    return { text: await output?.jsonValue(), said, workers: page.workers().length };
  } finally {
    await page.close();
  }
}
