// hyparquet with its decompressors, under the SQL of squirreling.
import { asyncBufferFromUrl, parquetMetadataAsync, parquetReadObjects, parquetSchema } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { asyncRow, collect, executeSql } from "squirreling";

// In any other mode Chromium sends the ranges of one URL one after another.
const requestInit = { cache: "no-store" };

export async function start() {
  await collect(executeSql({ tables: { one: [{ a: 1 }] }, query: "SELECT a FROM one" }));
  return async ({ sql }, urls) => ({ rows: await collect(executeSql({ tables: { t: await source(urls) }, query: sql })) });
}

/** All files at once; what squirreling wants of them is read from all at once as well. */
async function source(urls) {
  const files = await Promise.all(urls.map(open));
  const all = parquetSchema(files[0].metadata).children.map(({ element }) => element.name);
  return {
    numRows: files.reduce((sum, { metadata }) => sum + Number(metadata.num_rows), 0),
    columns: all,
    scan({ columns = all, where }) {
      const filter = where && filterOf(where);
      // Not strict, since literals are numbers where 64-bit columns are BigInts.
      const reads = files.map((file) => parquetReadObjects({ ...file, columns, filter, filterStrict: false, compressors }));
      return {
        async *rows() {
          for (const rows of await Promise.all(reads)) for (const row of rows) yield asyncRow(row, columns);
        },
        appliedWhere: filter !== undefined,
        appliedLimitOffset: false,
      };
    },
  };
}

async function open(url) {
  const file = await asyncBufferFromUrl({ url, requestInit });
  return { file, metadata: await parquetMetadataAsync(file) };
}

const OPERATORS = { "=": "$eq", "<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte" };

/** The condition in hyparquet's terms, or nothing where it has none; it skips row groups by it. */
function filterOf({ type, op, left, right }) {
  if (type !== "binary") return undefined;
  if (op === "AND") {
    const both = [filterOf(left), filterOf(right)];
    return both.every(Boolean) ? { $and: both } : undefined;
  }
  const comparison = OPERATORS[op];
  if (!comparison || left.type !== "identifier" || right.type !== "literal") return undefined;
  return { [left.name]: { [comparison]: right.value } };
}
