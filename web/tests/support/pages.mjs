// Pages in real browsers, from a server of their own: whatever they fetch from an origin is cross-origin.
import { createServer } from "node:http";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import puppeteer from "puppeteer-core";

const TYPES = { ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm", ".html": "text/html" };
const ROOT = new URL("../../", import.meta.url).pathname;

/** Serves web/ on loopback. */
export async function serve() {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://page");
    if (pathname === "/") return response.setHeader("content-type", "text/html").end("<!doctype html><title>test</title>");
    try {
      const bytes = readFileSync(join(ROOT, pathname));
      response.setHeader("content-type", TYPES[extname(pathname)] ?? "application/octet-stream").end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, stop: () => server.close() };
}

const CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--ignore-certificate-errors"];

export const BROWSERS = (process.env.FARQUET_BROWSERS ?? "chromium,firefox").split(",");

/** Starts `name` with a profile of its own. */
export async function launch(name) {
  const profile = mkdtempSync(join(tmpdir(), "farquet-browser-"));
  const chromium = name === "chromium";
  const browser = await puppeteer.launch({
    browser: chromium ? "chrome" : "firefox",
    executablePath: chromium ? (process.env.FARQUET_CHROMIUM ?? "/usr/bin/chromium") : (process.env.FARQUET_FIREFOX ?? "/usr/bin/firefox-esr"),
    userDataDir: profile,
    headless: true,
    acceptInsecureCerts: true,
    args: chromium ? CHROMIUM : [],
    protocolTimeout: 120_000,
  });
  return {
    name,
    /** A fresh page. */
    async blank(url) {
      const page = await browser.newPage();
      await page.goto(url);
      return page;
    },
    /** A fresh page with `connect` in its global scope. */
    async page(base) {
      const page = await this.blank(base);
      await page.evaluate(async () => {
        globalThis.farquet = await import("/dist/index.js");
      });
      return page;
    },
    async stop() {
      await browser.close();
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/**
 * Runs `body` in a page of its own, with a connection as `db` where `options` are not null: `body(db, args)`. What it returns comes
 * as JSON, with BigInts as text.
 */
export async function inPage(browser, base, body, args = {}, options = {}) {
  const page = await browser.page(base);
  try {
    const text = await page.evaluate(
      async (source, args, options) => {
        const run = (0, eval)(`(${source})`);
        const db = options && (await globalThis.farquet.connect(options));
        try {
          const value = await run(db, args);
          return JSON.stringify(value ?? null, (_, item) => (typeof item === "bigint" ? String(item) : item));
        } finally {
          db?.close();
        }
      },
      String(body),
      args,
      options,
    );
    return JSON.parse(text);
  } finally {
    await page.close();
  }
}
