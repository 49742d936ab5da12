// Builds dist/ from the TypeScript and the bindings in wasm/.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, rmSync } from "node:fs";

if (!existsSync("wasm/farquet_web_bg.wasm")) {
  console.error("wasm/ is empty: run 'just wasm' or scripts/wasm first");
  process.exit(1);
}
rmSync("dist", { recursive: true, force: true });
/**
 * A page may instantiate a module of this size only asynchronously, but the bindings reset theirs at once.
 */
const resetLater = {
  name: "reset-later",
  setup: ({ onLoad }) =>
    onLoad({ filter: /farquet_web\.js$/ }, ({ path }) => {
      let contents = readFileSync(path, "utf8");
      for (const [from, to] of [
        ["export function __wbg_reset_state ()", "export async function __wbg_reset_state ()"],
        ["new WebAssembly.Instance(wasmModule, __wbg_get_imports());\n    wasm = wasmInstance.exports;\n    wasm.__wbindgen_start();\n}", "await WebAssembly.instantiate(wasmModule, __wbg_get_imports());\n    wasm = wasmInstance.exports;\n    wasm.__wbindgen_start();\n}"],
      ]) {
        if (!contents.includes(from)) throw new Error(`the bindings have changed: no '${from}'`);
        contents = contents.replace(from, to);
      }
      return { contents };
    }),
};
const common = { bundle: true, format: "esm", target: "es2022", outdir: "dist", minify: true, legalComments: "none", logLevel: "warning" };
// The module's own guess where it lies is never used, and would have bundlers look for a file that is not there.
const define = { "import.meta.url": "undefined" };
await build({ ...common, entryPoints: ["src/worker.ts"], define, plugins: [resetLater] });
await build({ ...common, entryPoints: ["src/host.ts"], define, plugins: [resetLater] });
copyFileSync("wasm/farquet_web_bg.wasm", "dist/farquet.wasm");
copyFileSync("../LICENSE", "LICENSE");
await build({ ...common, entryPoints: ["src/index.ts", "src/slim.ts"], splitting: true, external: ["./host.js"], chunkNames: "farquet-[hash]" });
execFileSync("npx", ["tsc", "--noEmit", "false", "--emitDeclarationOnly", "--declaration", "--stripInternal", "--outDir", "dist"], { stdio: "inherit" });
for (const inner of ["host", "worker", "links", "connection", "protocol", "values"]) rmSync(`dist/${inner}.d.ts`, { force: true });
