"""Answers of another engine, for the tests to compare with.

Reads one JSON document from standard input, a list of worlds:

    [{"table": {"name": "t", "reader": "duckdb", "files": ["/a.parquet"]}, "queries": ["SELECT * FROM t"]}]

DuckDB answers the queries. It reads the files into a table itself, or is given what pyarrow read ("reader": "pyarrow").
Writes one JSON line for each query, in order: {"columns": […], "rows": [[…]]} or {"error": "…"}.

Values are written as `canon.rs` writes them.
"""

import json
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def digits(text):
    return text.rstrip("0").rstrip(".") if "." in text else text


def interval(months, days, nanoseconds):
    return f"interval {months} {days} {nanoseconds}"


def canon(value):
    kind = value.type
    if isinstance(value, pa.ExtensionScalar):
        return canon(value.value)
    if not value.is_valid:
        return None
    if pa.types.is_dictionary(kind):
        return canon(value.dictionary[value.index.as_py()])
    if pa.types.is_boolean(kind):
        return value.as_py()
    if pa.types.is_integer(kind):
        return str(value.as_py())
    if pa.types.is_floating(kind):
        return "~" + repr(float(value.as_py()))
    if pa.types.is_decimal(kind):
        return digits(format(value.as_py(), "f"))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view():
        return "'" + value.as_py()
    if (
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or kind == pa.binary_view()
    ):
        return "x" + value.as_py().hex()
    if pa.types.is_date32(kind):
        return f"date {value.value}"
    if pa.types.is_timestamp(kind):
        zone = "" if kind.tz is None else "Z"
        return f"time {value.value * NANOSECONDS[kind.unit]}{zone}"
    if pa.types.is_time(kind):
        return f"clock {value.value * NANOSECONDS[kind.unit]}"
    if pa.types.is_duration(kind):
        return interval(0, 0, value.value * NANOSECONDS[kind.unit])
    if pa.types.is_interval(kind):
        return interval(*value.as_py())
    if pa.types.is_map(kind):
        return [[canon(entry["key"]), canon(entry["value"])] for entry in value.values]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return [canon(item) for item in value.values]
    if pa.types.is_struct(kind):
        return {name: canon(item) for name, item in value.items()}
    raise TypeError(f"no canonical form of {kind}")


def read_by_pyarrow(files):
    table = pa.concat_tables(pq.read_table(file) for file in files)
    # DuckDB has no halves.
    fields = [field.with_type(pa.float32()) if field.type == pa.float16() else field for field in table.schema]
    return table.cast(pa.schema(fields))


def create(connection, name, reader, files):
    if reader == "pyarrow":
        source = connection.from_arrow(read_by_pyarrow(files))
    else:
        source = connection.read_parquet(files, union_by_name=True)
    columns = []
    for column, kind in zip(source.columns, source.types):
        quoted = '"' + column.replace('"', '""') + '"'
        columns.append(f"ST_AsWKB({quoted}) AS {quoted}" if str(kind).startswith("GEOMETRY") else quoted)
    # A table, so that nothing is answered from the statistics of files.
    source.project(", ".join(columns)).create(name)


def answer(connection, query):
    try:
        table = connection.sql(query).to_arrow_table()
        columns = [[canon(value) for value in column] for column in table.columns]
        rows = list(zip(*columns)) if columns else [[]] * table.num_rows
        return {"columns": table.column_names, "rows": rows}
    except Exception as error:  # whatever it is, the test shows it
        return {"error": f"{type(error).__name__}: {error}"}


def main():
    for world in json.load(sys.stdin):
        connection = duckdb.connect(config={"threads": 1})
        failure = None
        try:
            create(connection, **world["table"])
        except Exception as error:
            failure = {"error": f"{type(error).__name__}: {error}"}
        for query in world["queries"]:
            json.dump(failure or answer(connection, query), sys.stdout)
            sys.stdout.write("\n")
        connection.close()


main()
