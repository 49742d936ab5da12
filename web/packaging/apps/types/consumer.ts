// What a TypeScript project may write. It is compiled, not run.
import { connect, type Database, FarquetError, type Parameter, type Queryable, type Result, type Stats } from "farquet";
import { connect as connectSlim } from "farquet/slim";

interface Tile {
  sql: string;
  params: Parameter[];
}

export async function main(tiles: Tile[], signal: AbortSignal): Promise<Stats | undefined> {
  const db: Database = await connect({ freshness: "http", headers: { "https://host.example": { Authorization: "Bearer x" } } });
  await db.register("metrics", ["https://host.example/a.parquet", new URL("https://host.example/b.parquet")], { immutable: true });
  try {
    const result: Result = await db.query("SELECT host, n FROM metrics WHERE n > $1", {
      params: [1n, new Date(), new Uint8Array(), null],
      signal,
      onProgress: ({ files, bytesReceived, requestsInFlight }) => console.log(files + bytesReceived + requestsInFlight),
    });
    for (const { host, n } of result.rows<{ host: string; n: number | bigint }>()) console.log(host.length, n);
    const column: ArrayLike<unknown> | undefined = result.columns()["n"];
    const bytes: Uint8Array = result.toArrowIPC();
    for await (const batch of db.stream("SELECT * FROM metrics")) console.log(batch.numRows, batch.fields[0]?.type);
    const all = await db.snapshot(async (snapshot: Queryable) => Promise.all(tiles.map((tile) => snapshot.query(tile.sql, { params: tile.params }))));
    console.log(column?.length, bytes.length, all.length, await db.explain("SELECT 1", { analyze: true }), (await db.schema("metrics"))[0]?.nullable);
    return result.stats;
  } catch (error) {
    if (error instanceof FarquetError && error.code === "cors") console.error(error.url, error.hint, error.status);
    return undefined;
  } finally {
    db.close();
  }
}

export const slim = () => connectSlim({ wasm: "/farquet.wasm", workerUrl: () => new Worker("/worker.js", { type: "module" }) });

// @ts-expect-error: a rule that does not exist
void connect({ freshness: "sometimes" });
