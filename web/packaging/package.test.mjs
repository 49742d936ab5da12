// What the packed package holds, and what TypeScript makes of it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Bench } from "./support.mjs";

const TSC = new URL("../node_modules/.bin/tsc", import.meta.url).pathname;

describe("the package's content", () => {
  let bench;
  before(async () => {
    bench = await Bench.start();
  });
  after(() => bench?.stop());
  const text = (path) => readFileSync(join(bench.package, path), "utf8");

  it("is what is needed and nothing else", () => {
    const declarations = ["database", "errors", "index", "options", "result", "slim", "stats"].map((name) => `dist/${name}.d.ts`);
    const scripts = ["dist/host.js", "dist/index.js", "dist/slim.js", "dist/worker.js"];
    const chunks = bench.files.filter((path) => /^dist\/farquet-\w+\.js$/.test(path));
    assert.equal(chunks.length, 1);
    assert.deepEqual([...bench.files].sort(), ["LICENSE", "README.md", "package.json", "dist/farquet.wasm", ...chunks, ...declarations, ...scripts].sort());
  });

  it("names no place of the machine that built it", () => {
    for (const path of bench.files) {
      const [home] = /\/(root|home|Users|work)\/[\w./-]*/.exec(readFileSync(join(bench.package, path), "latin1")) ?? [];
      assert.equal(home, undefined, path);
    }
  });

  it("has types first, modules only, and no dependency at run time", () => {
    const manifest = JSON.parse(text("package.json"));
    assert.deepEqual([manifest.type, manifest.dependencies, manifest.peerDependencies], ["module", undefined, undefined]);
    for (const entry of [".", "./slim"]) {
      const conditions = manifest.exports[entry];
      assert.equal(Object.keys(conditions)[0], "types");
      for (const path of Object.values(conditions)) assert.ok(bench.files.includes(path.replace("./", "")), path);
    }
  });

  for (const [moduleResolution, module] of [["bundler", "esnext"], ["nodenext", "nodenext"]]) {
    it(`compiles in a strict project with ${moduleResolution}`, () => {
      const root = bench.app("types");
      const compilerOptions = {
        module, moduleResolution, target: "es2022", lib: ["es2022", "dom", "dom.iterable", "dom.asynciterable", "esnext.disposable"], types: [],
        strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false, noEmit: true,
      };
      writeFileSync(join(root, "package.json"), '{ "type": "module" }');
      writeFileSync(join(root, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["consumer.ts"] }));
      try {
        execFileSync(TSC, ["-p", root], { encoding: "utf8" });
      } catch ({ stdout }) {
        assert.fail(stdout);
      }
    });
  }
});
