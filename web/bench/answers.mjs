/** Rows in a form in which those of different engines can be compared: columns by name, rows in the order of their text. */
export function canonical(rows) {
  return rows.map((row) => Object.fromEntries(Object.entries(row).sort()))
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

/** Where two answers differ, or nothing. Counts and texts are equal; sums of floats depend on their order. */
function difference(a, b) {
  if (a.length !== b.length) return `${a.length} rows, ${b.length} rows`;
  for (const [index, row] of a.entries()) {
    const other = b[index];
    const alike = Object.keys({ ...row, ...other }).every((key) => same(row[key], other[key]));
    if (!alike) return `row ${index}: ${JSON.stringify(row)}, ${JSON.stringify(other)}`;
  }
  return undefined;
}

function same(a, b) {
  if (a === b) return true;
  const floats = [a, b].every((value) => typeof value === "number") && !(Number.isInteger(a) && Number.isInteger(b));
  return floats && Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b));
}

/** What differs from the first answer to the same workload, as lines of text. */
export function mismatches(runs) {
  const first = new Map();
  const lines = [];
  for (const run of runs) {
    if (!run.rows) continue;
    const other = first.get(run.workload) ?? run;
    first.set(run.workload, other);
    const found = difference(other.rows, run.rows);
    if (found) lines.push(`${run.workload}, ${other.engine} and ${run.engine} (${run.protocol}, ${run.latency} ms): ${found}`);
  }
  return lines;
}
