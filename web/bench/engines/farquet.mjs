// farquet as its package is built.
import { connect } from "/dist/index.js";

export async function start() {
  const db = await connect();
  await db.query("SELECT 1");
  return async ({ sql }, urls) => {
    await db.register("t", urls);
    const result = await db.query(sql);
    return { rows: result.rows(), log: result.stats.log };
  };
}
