// The app of every bundler: what a developer writes after `npm install farquet`.
import { connect, FarquetError } from "farquet";

const show = (text) => (document.querySelector("output").textContent = text);

try {
  const db = await connect();
  await db.register("metrics", [new URLSearchParams(location.search).get("file")]);
  const result = await db.query("SELECT count(*) AS n FROM metrics WHERE n > $1", { params: [0] });
  show(JSON.stringify(result.rows()));
} catch (error) {
  show(error instanceof FarquetError ? `${error.code}: ${error.message}` : String(error));
}
