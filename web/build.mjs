// Builds dist/ from the TypeScript and the bindings in wasm/.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, rmSync } from "node:fs";

if (!existsSync("wasm/farquet_web_bg.wasm")) {
  console.error("wasm/ is empty: run 'just wasm' or scripts/wasm first");
  process.exit(1);
}
rmSync("dist", { recursive: true, force: true });
const common = { bundle: true, format: "esm", target: "es2022", outdir: "dist", minify: true, legalComments: "none", logLevel: "warning" };
// The module's own guess where it lies is never used, and would have bundlers look for a file that is not there.
const define = { "import.meta.url": "undefined" };
await build({ ...common, entryPoints: ["src/worker.ts"], define });
await build({ ...common, entryPoints: ["src/host.ts"], define });
await build({ ...common, entryPoints: ["src/index.ts", "src/slim.ts"], splitting: true, external: ["./host.js"], chunkNames: "farquet-[hash]" });
execFileSync("npx", ["tsc", "--noEmit", "false", "--emitDeclarationOnly", "--declaration", "--stripInternal", "--outDir", "dist"], { stdio: "inherit" });
for (const inner of ["host", "worker", "links", "connection", "protocol", "values"]) rmSync(`dist/${inner}.d.ts`, { force: true });
copyFileSync("wasm/farquet_web_bg.wasm", "dist/farquet.wasm");
