// What the dashboard shows: each tile is a query over the chosen time range, and a way to draw its rows.
import { bars, cells, number, series, table } from "./charts.js";

/** The rows of the time range, as `r`. */
const IN_RANGE = "WITH r AS (SELECT * FROM metrics WHERE p_timestamp >= $1::timestamp AND p_timestamp < $2::timestamp) ";
const MINUTE = "date_trunc('minute', p_timestamp) AS t";
const CPU = "metric_name = 'system.cpu.utilization'";

const by_minute = (value, where = "true") => `SELECT ${MINUTE}, ${value} FROM r WHERE ${where} GROUP BY 1 ORDER BY 1`;

export const TILES = [
  { title: "Events", kind: "number", sql: by_minute("count(*) AS v"), draw: number({ total: "sum" }) },
  { title: "Hosts reporting", kind: "number", sql: by_minute("count(DISTINCT host) AS v"), draw: number({ total: "max" }) },
  { title: "CPU, mean", kind: "number", sql: by_minute("avg(value) AS v", CPU), draw: number({ total: "mean", unit: "%" }) },
  { title: "Network errors", kind: "number", sql: by_minute("sum(count) AS v", "metric_name = 'system.network.errors'"), draw: number({ total: "sum" }) },
  { title: "Events a minute", kind: "series", sql: by_minute("count(*) AS v"), draw: series({ y: "events", area: true, zero: true }) },
  {
    title: "CPU utilization: median, and the middle 80 %", kind: "series",
    sql: by_minute("approx_percentile_cont(value, 0.1) AS low, approx_median(value) AS v, approx_percentile_cont(value, 0.9) AS high", CPU),
    draw: series({ y: "%", band: true, zero: true }),
  },
  {
    title: "Load of the three busiest hosts", kind: "series",
    sql: `, busy AS (SELECT host FROM r WHERE metric_name = 'system.load.1m' GROUP BY host ORDER BY avg(value) DESC LIMIT 3)
      SELECT ${MINUTE}, host, avg(value) AS v FROM r JOIN busy USING (host) WHERE metric_name = 'system.load.1m' GROUP BY 1, 2 ORDER BY 1, 2`,
    draw: series({ y: "load", by: "host" }),
  },
  {
    title: "Disk operations, cumulated", kind: "series",
    sql: `SELECT t, sum(v) OVER (ORDER BY t) AS v FROM (${by_minute("sum(count) AS v", "metric_name = 'system.disk.ops'")}) ORDER BY t`,
    draw: series({ y: "operations", area: true, zero: true }),
  },
  { title: "Events by metric", kind: "bars", sql: "SELECT replace(metric_name, 'system.', '') AS name, count(*) AS v FROM r GROUP BY 1 ORDER BY v DESC LIMIT 8", draw: bars({ x: "events" }) },
  { title: "Memory utilization by host", kind: "bars", sql: "SELECT host AS name, avg(value) AS v FROM r WHERE metric_name = 'system.memory.utilization' GROUP BY 1 ORDER BY v DESC LIMIT 8", draw: bars({ x: "%", color: "var(--green)" }) },
  { title: "Bytes by source", kind: "bars", sql: "SELECT p_src_ip AS name, sum(count) AS v FROM r WHERE metric_name = 'system.network.io' GROUP BY 1 ORDER BY v DESC LIMIT 8", draw: bars({ x: "bytes", color: "var(--violet)" }) },
  { title: "CPU by host and minute: the stronger, the higher", kind: "cells", sql: `SELECT ${MINUTE}, host AS name, avg(value) AS v FROM r WHERE ${CPU} GROUP BY 1, 2 ORDER BY 1, 2`, draw: cells({ unit: "%" }) },
  { title: "Slowest tenth: 90th percentile by metric", kind: "bars", sql: "SELECT replace(metric_name, 'system.', '') AS name, approx_percentile_cont(value, 0.9) AS v FROM r GROUP BY 1 ORDER BY v DESC LIMIT 8", draw: bars({ x: "value", color: "var(--warm)" }) },
  {
    title: "Peaks: each host's highest value", kind: "table",
    sql: `SELECT host, metric_name AS metric, value, p_timestamp AS at, p_src_ip AS source FROM (
      SELECT *, row_number() OVER (PARTITION BY host ORDER BY value DESC) AS place FROM r) WHERE place = 1 ORDER BY value DESC`,
    draw: table,
  },
].map((tile) => ({ ...tile, sql: IN_RANGE.trimEnd() + (tile.sql.startsWith(",") ? "" : " ") + tile.sql }));
