"""Runs every engine on every workload: peers.py BINARIES [--latency 20,150] [--workloads NAME,…] [--runs 3]

Each run is a fresh process against the test kit's origin, whose request log is counted. Printed are medians in milliseconds, what each is of
farquet's, and the requests; farquet's own line also has its time as a part of the floor's, where there is a floor.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

from engines import ENGINES
from workloads import FIRST, WORKLOADS

HERE = pathlib.Path(__file__).resolve().parent
GIVE_UP = 120


def origin(binaries, fixture, latency, log):
    process = subprocess.Popen([binaries / "farquet-origin", "--fixture", fixture, "--latency", str(latency), "--log"],
                               stdout=subprocess.PIPE, stderr=log, text=True)
    base = process.stdout.readline().strip()
    if not base:
        raise SystemExit("the origin did not start")
    urls = []
    while len(urls) < FILES[fixture]:
        urls.append(process.stdout.readline().strip())
    return process, urls


FILES = {"many120": 120, "minutes60": 60, "minutes60-small": 60, "logs": 4, "needle": 1}


def farquet(binaries, workload, urls):
    sql = WORKLOADS[workload][1].format(t="t", ts="TIMESTAMP ")
    run = subprocess.run([binaries / "farquet", "--stats=json", "--table", "t=" + ",".join(urls), sql],
                         capture_output=True, text=True, timeout=GIVE_UP, check=True)
    stats = json.loads(run.stderr.strip().splitlines()[-1])
    return {"ms": stats["wall_ms"], "rows": stats["rows"]}


def peer(engine, workload, urls):
    run = subprocess.run([sys.executable, HERE / "engines.py", engine, workload, *urls],
                         capture_output=True, text=True, timeout=GIVE_UP)
    if run.returncode:
        return {"error": (run.stderr.strip().splitlines() or ["failed"])[-1][:80]}
    return json.loads(run.stdout.splitlines()[-1])


def measure(engine, binaries, workload, urls, log, runs):
    results = []
    for _ in range(runs):
        before = sum(1 for _ in open(log.name))
        try:
            result = farquet(binaries, workload, urls) if engine == "farquet" else peer(engine, workload, urls)
        except subprocess.TimeoutExpired:
            result = {"error": f"more than {GIVE_UP} s"}
        if "error" in result:
            return result
        result["requests"] = sum(1 for _ in open(log.name)) - before
        results.append(result)
    return {"ms": statistics.median(r["ms"] for r in results), "rows": results[0]["rows"], "requests": results[-1]["requests"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--latency", default="20,150")
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    print(f"{'workload':<12} {'latency':>7}  {'engine':<13} {'median ms':>9} {'x farquet':>9} {'requests':>8}")
    for latency in map(int, options.latency.split(",")):
        for workload in options.workloads.split(","):
            with tempfile.NamedTemporaryFile("w") as log:
                server, urls = origin(options.binaries, WORKLOADS[workload][0], latency, log)
                try:
                    ours = measure("farquet", options.binaries, workload, urls, log, options.runs)
                    engines = [e for e in ENGINES if e != "floor" or workload in FIRST]
                    others = {e: measure(e, options.binaries, workload, urls, log, options.runs) for e in engines}
                finally:
                    server.terminate()
                    server.wait()
            for engine, result in {"farquet": ours, **others}.items():
                line = f"{workload:<12} {latency:>4} ms  {engine:<13} "
                if "error" in result:
                    print(line + result["error"])
                    continue
                print(line + f"{result['ms']:>9.0f} {result['ms'] / ours['ms']:>9.2f} {result['requests']:>8}", flush=True)
                if engine != "floor" and result["rows"] != ours["rows"]:
                    print(f"  {engine} has {result['rows']} rows, farquet {ours['rows']}")


if __name__ == "__main__":
    main()
