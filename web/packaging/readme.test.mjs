// The README's examples as they stand there: components in apps of Vite's, the page without a build step, and Node.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import vue from "@vitejs/plugin-vue";
import { build } from "vite";
import { launch } from "../tests/support/pages.mjs";
import { Bench, shown } from "./support.mjs";

const README = readFileSync(new URL("../README.md", import.meta.url), "utf8");

/** The first block of `language` below the heading `title`. */
function example(title, language) {
  const section = README.split(/^### /m).find((section) => section.startsWith(`${title}\n`));
  const [, code] = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "ms").exec(section);
  return code;
}

/** How an app of each kind is started in `main.js`, with the file as `url`; `output` is what the tests wait for. */
const APPS = {
  "Vite and React": {
    language: "jsx", file: "App.jsx", plugins: [],
    main: `import { createElement } from "react"; import { createRoot } from "react-dom/client"; import { Hosts } from "./App.jsx";
      createRoot(document.querySelector("main")).render(createElement(Hosts, { url }));`,
  },
  Vue: {
    language: "vue", file: "App.vue", plugins: [vue()],
    main: `import { createApp } from "vue"; import App from "./App.vue"; createApp(App, { url }).mount("main");`,
  },
  Svelte: {
    language: "svelte", file: "App.svelte", plugins: [svelte({ configFile: false })],
    main: `import { mount } from "svelte"; import App from "./App.svelte"; mount(App, { target: document.querySelector("main"), props: { url } });`,
  },
};
/** Copies what is shown into the output, once all hosts are there. */
const WATCH = `const url = new URLSearchParams(location.search).get("file");
  new MutationObserver(() => {
    const text = document.querySelector("main").innerText.split(/\\s*\\n\\s*/).filter(Boolean).sort();
    if (text.length > 3) document.querySelector("output").textContent = text.join(", ");
  }).observe(document.querySelector("main"), { childList: true, subtree: true, characterData: true });`;

describe("the README's example", { concurrency: false }, () => {
  let bench, browser, hosts;
  before(async () => {
    bench = await Bench.start();
    browser = await launch("chromium");
    const { connect } = await import(join(bench.package, "dist/index.js"));
    const db = await connect();
    hosts = (await db.query(`SELECT host, count(*) AS n FROM '${bench.file}' GROUP BY host`)).rows().map(({ host, n }) => `${host ?? ""}: ${n}`).sort().join(", ");
    db.close();
  });
  after(async () => {
    await browser?.stop();
    bench?.stop();
  });

  for (const [title, { language, file, plugins, main }] of Object.entries(APPS)) {
    it(`for ${title}`, async () => {
      const root = bench.app("bundled");
      writeFileSync(join(root, file), example(title, language));
      const imports = main.match(/import [^;]*;/g).join("\n");
      writeFileSync(join(root, "main.js"), `${imports}\n${WATCH}\n${main.replace(/import [^;]*;/g, "")}`);
      writeFileSync(join(root, "index.html"), readFileSync(join(root, "index.html"), "utf8").replace("<output>", "<main></main><output>"));
      // Frameworks come from this folder, which the app is not below.
      const modules = new URL("node_modules/", import.meta.url).pathname;
      for (const name of ["react", "react-dom", "vue", "svelte"]) symlinkSync(join(modules, name), join(root, "node_modules", name));
      await build({ root, logLevel: "error", configFile: false, plugins, build: { target: "es2022" } });
      const found = await shown(browser, await bench.serve({ "/": join(root, "dist") }), { file: bench.file });
      assert.deepEqual(found, { text: hosts, said: [], workers: 1 });
    });
  }

  it("in plain HTML", async () => {
    const elsewhere = await bench.serve({ "/farquet@0.1.0/": bench.package }, { "access-control-allow-origin": "*" });
    const root = bench.app("cdn");
    const html = example("Plain HTML", "html").replace("https://cdn.example/", elsewhere).replace("https://data.example/a.parquet", bench.file);
    writeFileSync(join(root, "index.html"), `<!doctype html>${html}`);
    assert.deepEqual(await shown(browser, await bench.serve({ "/": root })), { text: "120", said: [], workers: 1 });
  });

  it("in Node", () => {
    const root = bench.app("node");
    writeFileSync(join(root, "main.mjs"), example("Node", "js"));
    const output = execFileSync(process.execPath, ["main.mjs", bench.file], { cwd: root, encoding: "utf8", timeout: 60_000 });
    assert.equal(output.trim(), "[ { n: 120 } ]");
  });
});
