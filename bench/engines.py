"""One engine, one query, one fresh process: engines.py ENGINE WORKLOAD URL… prints milliseconds and rows as JSON."""

import asyncio
import json
import os
import pathlib
import sys
import time

from workloads import FIRST, WORKLOADS

# Polars opens no more files at once than it has threads, unless told by these undocumented variables.
TUNED = {"POLARS_MAX_CONCURRENT_SCANS": "120", "POLARS_NUM_READERS_PRE_INIT": "120",
         "POLARS_RESOLVE_SAMPLE_LIMIT": "1", "POLARS_MAX_CACHED_METADATA_SCANS": "200"}

BIN = "date_bin(INTERVAL '5 minutes', p_timestamp) AS b"


def duckdb(threads, **settings):
    import duckdb
    import duckdb_extension_httpfs
    connection = duckdb.connect()
    extension = next(pathlib.Path(duckdb_extension_httpfs.__file__).parent.rglob("httpfs.duckdb_extension"))
    connection.execute(f"LOAD '{extension}'")
    for name, value in {"threads": threads, **settings}.items():
        connection.execute(f"SET {name} = '{value}'")

    def run(sql, urls):
        sql = sql.replace("date_bin(", "time_bucket(").format(t=f"read_parquet({urls})", ts="TIMESTAMP ")
        return len(connection.cursor().execute(sql).fetchall())
    return run


def polars():
    os.environ |= TUNED
    import polars as pl

    def run(sql, urls):
        frame = pl.scan_parquet(urls)
        if "{ts}" in sql:  # its SQL has no TIMESTAMP literal
            when = lambda text: pl.lit(text).str.to_datetime(time_unit="ms")
            column = pl.col("p_timestamp")
            frame = frame.filter((column >= when("2024-06-01 05:15:00")) & (column < when("2024-06-01 05:15:20")))
            return len(frame.select("p_timestamp", "severity_text", "body_message").sort("p_timestamp").collect())
        if BIN in sql:  # nor date_bin
            frame, sql = frame.with_columns(b=pl.col("p_timestamp").dt.truncate("5m")), sql.replace(BIN, "b")
        return len(pl.SQLContext(t=frame).execute(sql.format(t="t", ts="")).collect())
    return run


def floor(workload):
    """The fewest requests, on 64 connections, by a client that decodes nothing."""
    import aiohttp

    async def fetch(urls):
        first = FIRST[workload]
        headers = {"Range": f"bytes=-{first}"} if first else {}
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=64, limit_per_host=64)) as session:
            async def get(url):
                async with session.get(url, headers=headers) as response:
                    await response.read()
            await asyncio.gather(*map(get, urls))
        return 0
    return lambda sql, urls: asyncio.run(fetch(urls))


ENGINES = {"duckdb t16": lambda w: duckdb(16), "duckdb t120": lambda w: duckdb(120), "polars tuned": lambda w: polars(),
           "floor": floor}


def main():
    engine, workload, *urls = sys.argv[1:]
    run = ENGINES[engine](workload)
    began = time.perf_counter()
    rows = run(WORKLOADS[workload][1], urls)
    print(json.dumps({"ms": (time.perf_counter() - began) * 1000, "rows": rows}))


if __name__ == "__main__":
    main()
