"""Writes the Parquet files of the suite into `data`, the same bytes every time.

    pip install pyarrow==26.0.1
    python make.py

Small as they are, the files have many row groups and pages, every codec and most encodings.
"""

from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

DATA = Path(__file__).parent / "data"
HOSTS = ["db-1", "web-1", "web-2", None, "web-10"]
METRICS = ["cpu", "mem", "disk", "net", "cpu", "mem"]

# How each of the metrics files is written.
LAYOUTS = [
    {"compression": "zstd", "write_page_index": True, "row_group_size": 40},
    {"compression": "snappy", "write_page_index": False, "row_group_size": 50, "use_dictionary": False},
    {"compression": "gzip", "write_page_index": True, "row_group_size": 120, "data_page_version": "2.0"},
    {"compression": "lz4", "write_page_index": False, "row_group_size": 25},
    {
        "compression": "brotli",
        "write_page_index": True,
        "row_group_size": 60,
        "use_dictionary": False,
        "column_encoding": {
            "ts": "DELTA_BINARY_PACKED",
            "n": "DELTA_BINARY_PACKED",
            "value": "BYTE_STREAM_SPLIT",
            "host": "DELTA_BYTE_ARRAY",
            "metric_name": "DELTA_LENGTH_BYTE_ARRAY",
        },
    },
    {"compression": "none", "write_page_index": False, "row_group_size": 120, "write_statistics": False},
]


def write(name, table, **layout):
    layout = {"compression": "zstd", "data_page_size": 128, "write_batch_size": 16} | layout
    pq.write_table(table, DATA / f"{name}.parquet", **layout)


def metrics(file):
    """An hour, a row each 30 s. Values are quarters, so that their sums are exact in any order."""
    rows = range(file * 120, file * 120 + 120)
    start = datetime(2024, 1, 2)
    return pa.table(
        {
            "ts": pa.array([start + timedelta(seconds=30 * i) for i in rows], pa.timestamp("us")),
            "host": pa.array([HOSTS[i * 7 % 11 % 5] for i in rows], pa.string()),
            "metric_name": pa.array([METRICS[i % 6] for i in rows], pa.string()),
            "value": pa.array([None if i % 13 == 5 else (i * 37 % 401) / 4 - 10 for i in rows], pa.float64()),
            # Half of what 64 bits hold in every fiftieth row: far beyond what a float can tell apart.
            "n": pa.array(
                [None if i % 17 == 3 else (1 << 62) + i if i % 50 == 49 else i - 300 for i in rows], pa.int64()
            ),
        }
    )


def people():
    decimals = lambda texts: [None if text is None else Decimal(text) for text in texts]
    moment = lambda text: None if text is None else datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
    born = [(1815, 12, 10), (1969, 7, 20), None, (2000, 2, 29), (1970, 1, 1), (1969, 12, 31)]
    born += [(1990, 6, 15), None, (1985, 11, 5), (2024, 2, 29), (1900, 1, 1), (1990, 6, 15)]
    seen = ["2024-01-02T03:04:05", None, "2024-03-31T00:59:59.999", "2024-03-31T01:00:00", "1969-12-31T23:59:59.500"]
    seen += ["2024-01-02T03:04:05", None, "2024-10-27T00:30:00", "2024-10-27T01:30:00", "2100-02-28T12:00:00"]
    seen += ["2024-12-31T23:59:59.999", "2024-01-01T00:00:00"]
    return pa.table(
        {
            "id": pa.array(range(1, 13), pa.int32()),
            "name": pa.array(
                ["Ada", "Bob", "Çelik", None, "Eve", "", "Zoë", "O'Hara", "李雷", "bob", "Ann Lee", "100% _x_"], pa.string()
            ),
            "active": pa.array([True, False, None, True, True, False, None, True, False, False, True, True], pa.bool_()),
            "born": pa.array([None if day is None else date(*day) for day in born], pa.date32()),
            "starts": pa.array(
                [time(8), time(9, 30), None, time(0), time(23, 59, 59), time(8), None, time(12), time(8), None]
                + [time(6, 15), time(8)],
                pa.time64("us"),
            ),
            "balance": pa.array(
                decimals(
                    ["1234.50", "-0.01", None, "99999999.99", "-99999999.99", "0.00"]
                    + ["10.10", "0.30", None, "7.00", "19.99", "20.01"]
                ),
                pa.decimal128(10, 2),
            ),
            "wealth": pa.array(
                decimals(
                    ["1234567890123456789012345678.0123456789", "-1234567890123456789012345678.0123456789", None]
                    + ["0.0000000001", "1", "2.5", None, "-3.25", "100", "0", "9007199254740993", "0.1"]
                ),
                pa.decimal128(38, 10),
            ),
            "token": pa.array(
                [b"\x00\xff", b"", None, b"abc", b"\xde\xad\xbe\xef", b"abd", b"a", b"b", None, b"\x80", b"z", b"\x00"],
                pa.binary(),
            ),
            "age": pa.array([127, -128, None, 0, 1, -1, 33, 45, 33, None, 60, 33], pa.int8()),
            "salary": pa.array([32767, -32768, 0, None, 100, 100, 250, 250, 250, None, 500, 1], pa.int16()),
            "level": pa.array([255, 0, 1, 2, None, 3, 128, 127, 1, None, 2, 3], pa.uint8()),
            "points": pa.array(
                [(1 << 64) - 1, (1 << 63), (1 << 53) + 1, None, 0, 1, 2, 3, None, 10, 100, 1000], pa.uint64()
            ),
            "score": pa.array(
                [0.5, -1.25, None, 3.0, 0.1, 1e-30, 16777216.0, 2.75, None, -0.75, 1e30, 0.0], pa.float32()
            ),
            "city": pa.array(
                ["Oslo", "Rome", None, "Oslo", "Rome", "Paris", "Oslo", None, "Paris", "Rome", "Oslo", "Paris"]
            ).dictionary_encode(),
            "seen": pa.array([moment(text) for text in seen], pa.timestamp("ns", "UTC")),
            "boss": pa.array([None, 1, 1, 2, 2, 3, 5, 5, 42, None, 10, 11], pa.int32()),
        }
    )


def nested():
    point = pa.struct([("x", pa.float64()), ("y", pa.float64()), ("label", pa.string())])
    item = pa.struct([("sku", pa.string()), ("qty", pa.int32())])
    return pa.table(
        {
            "id": pa.array(range(1, 9), pa.int64()),
            "tags": pa.array(
                [["a", "b"], [], None, ["c", None, "a"], ["b"], [None], ["a", "a", "d"], ["e"]], pa.list_(pa.string())
            ),
            "scores": pa.array(
                [[1, 2, 3], None, [], [5], [None, 7], [9, 8], [4, 4, 4, 4], [-1]], pa.list_(pa.int32())
            ),
            "point": pa.array(
                [
                    {"x": 1.5, "y": -2.0, "label": "p"},
                    None,
                    {"x": None, "y": 0.25, "label": None},
                    {"x": 0.0, "y": 0.0, "label": ""},
                    {"x": 1.5, "y": 8.0, "label": "q"},
                    {"x": None, "y": None, "label": None},
                    None,
                    {"x": -4.0, "y": 3.0, "label": "p"},
                ],
                point,
            ),
            "attrs": pa.array(
                [[("k1", 1), ("k2", 2)], [], None, [("k1", None)], [("k3", 3)], [("k2", 20), ("k1", 10)], None, [("k1", 7)]],
                pa.map_(pa.string(), pa.int32()),
            ),
            "items": pa.array(
                [
                    [{"sku": "s1", "qty": 2}, {"sku": "s2", "qty": None}],
                    [],
                    None,
                    [None, {"sku": None, "qty": 1}],
                    [{"sku": "s1", "qty": 5}],
                    [{"sku": "s3", "qty": 0}],
                    [{"sku": "s2", "qty": 4}, {"sku": "s2", "qty": 6}],
                    None,
                ],
                pa.list_(item),
            ),
            "grid": pa.array(
                [[[1, 2], [3]], None, [], [[]], [None, [4]], [[5, None]], [[6], [7], [8]], [[9]]],
                pa.list_(pa.list_(pa.int32())),
            ),
        }
    )


def orders():
    people = [1, 1, 2, 3, 5, 5, 5, 8, None, 77, 12, 2, 9, 9, None, 1, 4, 6, 11, 2]
    items = ["pen", "ink", "pen", None, "book", "pen", "lamp", "ink", "pen", "book"] * 2
    amounts = ["1.50", "12.00", "1.50", "0.99", None, "3.00", "45.25", "12.00", "1.50", "20.00"]
    amounts += ["1.75", "12.00", "2.50", None, "100.00", "4.50", "45.25", "12.00", "0.01", "19.99"]
    placed = [datetime(2024, 1, 1) + timedelta(days=9 * i, hours=5 * i % 24, seconds=i) for i in range(20)]
    return pa.table(
        {
            "order_id": pa.array(range(100, 120), pa.int64()),
            "person": pa.array(people, pa.int32()),
            "item": pa.array(items, pa.large_string()),
            "amount": pa.array([None if text is None else Decimal(text) for text in amounts], pa.decimal128(10, 2)),
            "qty": pa.array([1, 2, 3, None, 1, 10, 1, 2, 5, 1, 1, 2, None, 4, 1, 3, 1, 2, 9, 1], pa.int32()),
            "placed": pa.array(placed, pa.timestamp("ms")),
        }
    )


def main():
    DATA.mkdir(exist_ok=True)
    for file, layout in enumerate(LAYOUTS):
        write(f"metrics-{file}", metrics(file), **layout)
    write("people", people(), compression="brotli", row_group_size=5, write_page_index=True)
    write("nested", nested(), compression="snappy", row_group_size=3)
    write("orders", orders(), compression="gzip", row_group_size=8, data_page_version="2.0")
    write("empty", people().select(["id", "name", "born"]).slice(0, 0))
    # Files of one table whose schemas grew.
    write("grown-0", pa.table({"a": pa.array([1, 2, None], pa.int32()), "b": ["x", None, "z"]}), compression="lz4")
    write("grown-1", pa.table({"c": [0.5, None], "a": pa.array([1 << 40, 2], pa.int64())}), compression="snappy")


if __name__ == "__main__":
    main()
