// Small apps from the packed package, as its README says to build them; each runs a query in Chromium.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { build as esbuild } from "esbuild";
import { build as vite, createServer } from "vite";
import webpack from "webpack";
import { launch } from "../tests/support/pages.mjs";
import { Bench, shown } from "./support.mjs";

/** Of the file's 120 rows every fifteenth has no value there. */
const ANSWER = JSON.stringify([{ n: 112 }]);

/** Vite's own client has to know the port beforehand. */
const freePort = () =>
  new Promise((resolve) => {
    const server = createTcpServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

describe("the packed package", { concurrency: false }, () => {
  let bench, browser;
  before(async () => {
    bench = await Bench.start();
    browser = await launch("chromium");
  });
  after(async () => {
    await browser?.stop();
    bench?.stop();
  });

  /** The page gives the answer, from a worker and without a word of complaint. */
  const answers = async (url, parameters = {}) => {
    const found = await shown(browser, url, { file: bench.file, ...parameters });
    assert.deepEqual(found, { text: ANSWER, said: [], workers: 1 });
  };

  it("with Vite, built", async () => {
    const root = bench.app("bundled");
    await vite({ root, logLevel: "error", configFile: false, build: { target: "es2022" } });
    await answers(await bench.serve({ "/": join(root, "dist") }));
  });

  it("with Vite's development server, where the package is left alone", async () => {
    const root = bench.app("bundled");
    const server = await createServer({ root, logLevel: "error", configFile: false, server: { host: "127.0.0.1", port: await freePort() }, optimizeDeps: { exclude: ["farquet"] } });
    try {
      await server.listen();
      const { port } = server.httpServer.address();
      await answers(`http://127.0.0.1:${port}/`);
    } finally {
      await server.close();
    }
  });

  it("with webpack", async () => {
    const root = bench.app("bundled");
    const compiler = webpack({ context: root, mode: "production", entry: "./main.js", output: { path: join(root, "dist"), filename: "main.js", module: true }, experiments: { outputModule: true }, performance: { hints: false } });
    const stats = await new Promise((resolve, reject) => compiler.run((error, stats) => (error ? reject(error) : resolve(stats))));
    assert.deepEqual(stats.toJson({ errors: true, warnings: true }).errors, []);
    assert.deepEqual(stats.toJson({ warnings: true }).warnings, []);
    copyFileSync(join(root, "index.html"), join(root, "dist/index.html"));
    await answers(await bench.serve({ "/": join(root, "dist") }));
  });

  it("with esbuild, and its two other files beside the bundle", async () => {
    const root = bench.app("bundled");
    await esbuild({ absWorkingDir: root, entryPoints: ["main.js"], bundle: true, format: "esm", outdir: "dist", logLevel: "error" });
    for (const name of ["farquet.wasm", "worker.js"]) copyFileSync(join(root, "node_modules/farquet/dist", name), join(root, "dist", name));
    copyFileSync(join(root, "index.html"), join(root, "dist/index.html"));
    await answers(await bench.serve({ "/": join(root, "dist") }));
  });

  it("by a script tag, from another origin", async () => {
    const elsewhere = await bench.serve({ "/farquet/": join(bench.package, "dist") }, { "access-control-allow-origin": "*" });
    const page = await bench.serve({ "/": bench.app("cdn") });
    await answers(page, { package: `${elsewhere}farquet/index.js` });
  });

  it("under a strict content security policy, with farquet/slim", async () => {
    const policy = `default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self' ${new URL(bench.origin.base).origin}`;
    const page = await bench.serve({ "/farquet/": join(bench.package, "dist"), "/": bench.app("csp") }, { "content-security-policy": policy });
    await answers(page);
  });

  it("in Node", () => {
    const root = bench.app("node");
    const output = execFileSync(process.execPath, ["main.mjs", bench.file], { cwd: root, encoding: "utf8", timeout: 60_000 });
    assert.equal(output.trim(), ANSWER);
  });
});
