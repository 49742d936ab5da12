import { connect } from "farquet";

const db = await connect();
const result = await db.query(`SELECT count(*) AS n FROM '${process.argv[2]}' WHERE n > $1`, { params: [0] });
console.log(JSON.stringify(result.rows()));
db.close();
