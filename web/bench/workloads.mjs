/**
 * What is measured: the files of a fixture of the origin and a query over them as the table `t`. `floor` is what no reader can do
 * without: the whole file where it is small, else its size, its tail and, where there is something to decode, the data.
 */
const GROUP = `SELECT host, count(*) AS n, avg(value) AS a FROM t
  WHERE metric_name = 'system.cpu.utilization' AND value > 100 GROUP BY host`;
const PRUNE = "SELECT count(*) AS n, sum(amount) AS s FROM t WHERE id BETWEEN 50000 AND 51000";
const SCAN = "SELECT count(*) AS n, sum(amount) AS s FROM t WHERE d03 = 7";
const COUNT = "SELECT count(*) AS n FROM t";

export const WORKLOADS = [
  { name: "count-small", fixture: "minutes60", files: 60, sql: COUNT, floor: "whole" },
  { name: "group-small", fixture: "minutes60", files: 60, sql: GROUP, floor: "whole" },
  { name: "count-larger", fixture: "larger", files: 20, sql: COUNT, floor: "ranges" },
  { name: "prune-wide", fixture: "wide", files: 1, sql: PRUNE, floor: "ranges" },
  { name: "scan-wide", fixture: "wide", files: 1, sql: SCAN, floor: "ranges" },
];
