"""Asks every engine for a dashboard: dashboard.py BINARIES [--latency 20,150] [--runs 3]

Each run is a fresh process against the test kit's origin, whose request log is counted. Printed are medians in milliseconds, what each is of
farquet's, and the requests and bytes of bodies.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from peers import origin
from tiles import ENGINES

HERE = pathlib.Path(__file__).resolve().parent
GIVE_UP = 300
# One session asks for each tile; takes a snapshot for each load; is told that files are never rewritten.
OURS = {"farquet": "validate", "farquet snapshot": "snapshot", "farquet immutable *": "immutable"}
# How many tiles at once, and what the loads in one process are called.
WAYS = {25: ["25 together", "reload"], 4: ["4 at a time"], 1: ["one by one"]}


def command(engine, binaries, at_once, urls):
    if engine in OURS:
        return [binaries / "examples" / "dashboard", OURS[engine], str(at_once), *urls]
    return [sys.executable, HERE / "tiles.py", engine, str(at_once), *urls]


def measure(command, loads, log):
    """What each of so many loads costs in one process, or why there are fewer."""
    results = []
    with (tempfile.TemporaryFile("w+") as errors,
          subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True) as process):
        timer = threading.Timer(GIVE_UP, process.kill)
        timer.start()
        for _ in range(loads):
            log.seek(0, os.SEEK_END)
            process.stdin.write("\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if not line:
                errors.seek(0)
                error = (errors.read().strip().splitlines() or [f"more than {GIVE_UP} s"])[-1][:80]
                results.append({"error": error})
                break
            time.sleep(0.1)  # requests that were given up are logged late
            entries = [json.loads(entry) for entry in log]
            results.append({**json.loads(line), "requests": len(entries), "bytes": sum(entry["bytes"] for entry in entries)})
        timer.cancel()
    return results


def table(latency, load, results):
    ours = statistics.median(result["ms"] for result in results["farquet"])
    for engine, runs in results.items():
        line = f"{latency:>4} ms  {load:<12} {engine:<19} "
        error = next((result["error"] for result in runs if "error" in result), None)
        if error:
            print(line + error)
            continue
        ms, requests, size = (statistics.median(result[key] for result in runs) for key in ("ms", "requests", "bytes"))
        print(line + f"{ms:>9.0f} {ms / ours:>9.2f} {requests:>8.0f} {size / 2**20:>6.1f}")
        if engine != "floor" and runs[0]["rows"] != results["farquet"][0]["rows"]:
            print(f"  {engine} has other rows than farquet: {runs[0]['rows']}, {results['farquet'][0]['rows']}")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--latency", default="20,150")
    parser.add_argument("--runs", type=int, default=3, help="of what is asked one by one, a single one is made")
    options = parser.parse_args()
    print(f"{'latency':>7}  {'load':<12} {'engine':<19} {'median ms':>9} {'x farquet':>9} {'requests':>8} {'MiB':>6}")
    for latency in map(int, options.latency.split(",")):
        with tempfile.NamedTemporaryFile("w") as written, open(written.name) as log:
            server, urls = origin(options.binaries, "minutes60-small", latency, written)
            try:
                for at_once, loads in WAYS.items():
                    engines = [*OURS, *(e for e in ENGINES if e != "floor" or at_once == 25)]
                    results = {load: {engine: [] for engine in engines} for load in loads}
                    for _ in range(options.runs if at_once > 1 else 1):
                        for engine in engines:
                            costs = measure(command(engine, options.binaries, at_once, urls), len(loads), log)
                            for load, cost in zip(loads, costs):
                                results[load][engine].append(cost)
                    for load in loads:
                        table(latency, load, results[load])
            finally:
                server.terminate()
                server.wait()
    print("* does not notice that a file has changed")


if __name__ == "__main__":
    main()
