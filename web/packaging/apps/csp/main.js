import { connect } from "/farquet/slim.js";

const db = await connect({ wasm: "/farquet/farquet.wasm", workerUrl: "/farquet/worker.js" });
const file = new URLSearchParams(location.search).get("file");
const result = await db.query(`SELECT count(*) AS n FROM '${file}' WHERE n > 0`);
document.querySelector("output").textContent = JSON.stringify(result.rows());
