/** What is compared: a module of this directory, and what the origin lets a page read of its answers. */
export const ENGINES = [
  { name: "farquet", module: "farquet", cors: "--cors" },
  { name: "farquet, simple CORS", module: "farquet", cors: "--cors-simple" },
  { name: "hyparquet", module: "hyparquet", cors: "--cors" },
  { name: "parquet-wasm", module: "parquet-wasm", cors: "--cors" },
  { name: "duckdb", module: "duckdb", cors: "--cors" },
  // After farquet, whose log it follows.
  { name: "floor", module: "floor", cors: "--cors" },
];
