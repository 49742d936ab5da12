"""One engine, one dashboard, one fresh process: tiles.py ENGINE AT_ONCE URL…

Each line of standard input begins a load; its milliseconds and the rows of each tile are a line of standard output.
"""

import asyncio
import concurrent.futures
import json
import os
import pathlib
import sys
import time

from engines import duckdb, polars

SQL = pathlib.Path(__file__).with_name("dashboard.sql").read_text()
TILES = [tile.rstrip(";").replace("FROM t", "FROM {t}") for tile in SQL.splitlines()]
# What it keeps of metadata by these, it uses without asking whether the file is still the same. (enable_object_cache does nothing any more.)
KEPT = {"parquet_metadata_cache": "true", "enable_http_metadata_cache": "true"}
ALL = {**KEPT, "validate_external_file_cache": "NO_VALIDATION", "httpfs_connection_caching": "true"}


def tiles(run, at_once, urls):
    pool = concurrent.futures.ThreadPoolExecutor(at_once)
    return lambda: list(pool.map(lambda tile: run(tile, urls), TILES))


def floor(_, urls):
    """Every file whole, on 64 connections, and again whether it has changed, by a client that decodes nothing."""
    import aiohttp
    loop, tags = asyncio.new_event_loop(), {}

    async def connect():
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=64, limit_per_host=64))
    session = loop.run_until_complete(connect())

    async def get(url):
        async with session.get(url, headers={"If-None-Match": tags[url]} if url in tags else {}) as response:
            await response.read()
            tags[url] = response.headers["ETag"]

    async def load():
        await asyncio.gather(*map(get, urls))
    return lambda: loop.run_until_complete(load())


# A star: files that have changed go unnoticed.
ENGINES = {
    "duckdb t16": lambda *how: tiles(duckdb(16), *how),
    "duckdb t16 meta *": lambda *how: tiles(duckdb(16, **KEPT), *how),
    "duckdb t120": lambda *how: tiles(duckdb(120), *how),
    "duckdb t120 meta *": lambda *how: tiles(duckdb(120, **KEPT), *how),
    "duckdb t120 all *": lambda *how: tiles(duckdb(120, **ALL), *how),
    "polars tuned": lambda *how: tiles(polars(), *how),
    "floor": floor,
}


def main():
    engine, at_once, *urls = sys.argv[1:]
    load = ENGINES[engine](int(at_once), urls)
    for _ in sys.stdin:
        began = time.perf_counter()
        rows = load()
        print(json.dumps({"ms": (time.perf_counter() - began) * 1000, "rows": rows}), flush=True)
    os._exit(0)  # some hang or complain at exit


if __name__ == "__main__":
    main()
