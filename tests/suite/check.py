"""Asks another engine, DuckDB, for the answers that the suite expects, and says where they differ.

    pip install duckdb==1.5.5 pyarrow==26.0.1
    python check.py

Statements that DuckDB writes in another way stand here in its own words, with plain values for functions that it does
not have. What it cannot be asked at all is marked "by_hand" in the suite, and listed.
"""

import json
import os
import sys
from datetime import datetime, timezone
from decimal import Decimal, InvalidOperation
from math import isfinite, isnan
from pathlib import Path

import duckdb
import pyarrow as pa

SUITE = Path(__file__).parent
SAFE = (1 << 53) - 1

# What a statement is in DuckDB.
INSTEAD = {
    "star": "SELECT * EXCLUDE (starts) FROM people ORDER BY id LIMIT 3",
    "like with escapes": r"SELECT id FROM people WHERE name LIKE '100\% \_x\_' ESCAPE '\' ORDER BY id",
    "regular expressions": "SELECT id FROM people WHERE regexp_matches(name, '^[A-E].*[a-e]$') OR regexp_matches(name, '^BOB$', 'i') ORDER BY id",
    "regexp functions": "SELECT regexp_replace('a1b22', '[0-9]+', '#', 'g'), regexp_matches('Farquet', '^far', 'i'), [regexp_extract('ts=12;n=7', 'n=([0-9]+)', 1)], len(regexp_extract_all('banana', 'an')), instr('banana', 'n')",
    "string functions": "SELECT upper('Zoë'), lower('ÇELIK'), length('李雷'), strlen('李雷'), reverse('abc'), repeat('ab', 3), trim('  x '), ltrim('  x '), rtrim(' x  '), trim('xxaxx', 'x')",
    "making strings": "SELECT 'a' || 'b' || 1, concat('a', NULL, 'b'), concat_ws('-', 'x', NULL, 'y'), lpad('7', 3, '0'), rpad('ab', 5, 'xy'), replace('banana', 'an', 'AN'), translate('12345', '143', 'ax'), 'Hello Wide World', chr(8364), ascii('A')",
    "digests": "SELECT md5('farquet'), sha256('abc'), rtrim(to_base64('abc'::blob), '='), from_base64('YWJj')",
    "binary": r"SELECT id, token, lower(hex(token)) FROM people WHERE token >= '\x61'::blob ORDER BY token DESC, id",
    "math": "SELECT abs(-3), ceil(1.2e0), floor(-1.2e0), round(2.5e0), round(-2.5e0), round(1.2345e0, 2), trunc(-1.9e0), sign(-2e0), sqrt(2e0), pow(2e0, 10e0), exp(1e0), ln(10e0), log10(1000e0), log2(8e0), pi()",
    "integers": "SELECT gcd(12, 18), lcm(4, 6), factorial(10), 5 & 3, 5 | 3, 5 << 2, 20 >> 2, format('{:x}', 255)",
    "floats that are no numbers": "SELECT CAST('NaN' AS double), CAST('inf' AS double), -CAST('inf' AS double), isnan(CAST('NaN' AS double)), 1e0",
    "division of decimals": "SELECT 0.333333, 1.50, 2.35",
    "date_bin": "SELECT time_bucket(INTERVAL '20 minutes', ts, TIMESTAMP '2024-01-01 00:05:00') AS bin, count(*), sum(value) FROM metrics GROUP BY bin ORDER BY bin LIMIT 5",
    "moments in zones": "SELECT strftime(seen AT TIME ZONE 'Europe/Berlin', '%Y-%m-%dT%H:%M:%S') || CASE id WHEN 3 THEN '.999+01:00' WHEN 9 THEN '+01:00' ELSE '+02:00' END, date_part('hour', seen AT TIME ZONE 'Europe/Berlin'), date_part('hour', seen AT TIME ZONE 'America/New_York'), date_part('hour', (seen AT TIME ZONE 'UTC') + INTERVAL '330 minutes') FROM people WHERE id IN (3, 4, 8, 9) ORDER BY id",
    "days in a zone": "SELECT date_trunc('day', seen AT TIME ZONE 'Europe/Berlin') AT TIME ZONE 'Europe/Berlin' AS day, count(*) FROM people WHERE seen IS NOT NULL GROUP BY day ORDER BY day LIMIT 3",
    "times of day": "SELECT CAST(starts AS varchar) AS start, count(*) FROM people WHERE starts < TIME '10:00:00' GROUP BY starts ORDER BY starts",
    "moments of text and numbers": "SELECT TIMESTAMP '2024-02-29 12:30:00', TIMESTAMP '1970-01-02 00:00:00', TIMESTAMP '1969-12-31 23:59:59.999', DATE '2024-12-31', DATE '2024-02-29', TIMESTAMP '2024-01-01 00:00:00', 86400",
    "rollup": "SELECT metric_name, date_trunc('hour', ts) AS hr, count(*), sum(value) FROM metrics WHERE host = 'db-1' AND ts < '2024-01-02T02:00:00' GROUP BY ROLLUP (metric_name, hr) ORDER BY metric_name NULLS FIRST, hr NULLS FIRST",
    "first and last": "SELECT host, first(value ORDER BY ts), last(value ORDER BY ts) FROM metrics WHERE ts >= '2024-01-02T05:50:00' GROUP BY host ORDER BY host",
    "approximate": "SELECT approx_quantile(value, 0.5) BETWEEN 35 AND 45, approx_quantile(value, 0.9) BETWEEN 75 AND 85 FROM metrics",
    "left semi join": "SELECT id FROM people SEMI JOIN orders ON people.id = orders.person ORDER BY id",
    "left anti join": "SELECT id FROM people ANTI JOIN orders ON people.id = orders.person ORDER BY id",
    "patterns of files": "SELECT count(*), min(ts), sum(value) FROM 'data/metrics-[1-3].parquet'",
    "names of files": "SELECT regexp_replace(filename, '^.*/', '') AS file, count(*), sum(value), max(n) FROM read_parquet('data/metrics-*.parquet', filename = true) GROUP BY file ORDER BY file",
    "a file alone of many": "SELECT count(*), min(n) FROM 'data/metrics-3.parquet'",
    "elements of lists": "SELECT id, tags[1], tags[-1], scores[2], len(tags), len(scores) FROM nested WHERE id IN (1, 3, 4, 6, 7) ORDER BY id",
    "functions of arrays": "SELECT [1, 2, 3], list_append([1], 2), list_prepend(0, [1]), list_concat([1], [2, 3]), list_contains(['a', 'b'], 'b'), list_position(['a', 'b'], 'b'), list_sort([3, 1, 2]), [1, 2], array_to_string(['a', 'b'], '-'), list_slice([1, 2, 3, 4], 2, 3), [2], flatten([[1], [2]])",
    "array literals and sets": "SELECT [1, 2] || [3], [2, 3], [1, 2, 3], [1], range(0, 6, 2), string_split('a,b,,c', ','), list_max([3, 9, 1]), ['x', 'x']",
    "making structs": "SELECT {c0: 1, c1: 'a'}, {x: 1, y: [1, 2]}, {x: 1, y: 'b'}, 1",
    "making maps": "SELECT map(['a', 'b'], [1, 2]), MAP {'x': 1.5e0}, [1]",
    "unnest of a struct": "SELECT point.x, point.y, point.label FROM nested WHERE id = 1",
    "unnest twice": "SELECT id, unnest(flatten(grid)) AS x FROM nested WHERE id IN (1, 7) ORDER BY 1, 2",
    "generate_series": "SELECT * FROM generate_series(1, 10, 3)",
    "a long series": "SELECT count(*), sum(generate_series), max(generate_series) FROM generate_series(1, 100000) WHERE generate_series % 7 = 0",
    "a series of moments": "SELECT unnest(generate_series(TIMESTAMP '2024-01-01 00:00:00', TIMESTAMP '2024-01-02 00:00:00', INTERVAL '8 hours'))",
    "gaps filled": "SELECT h.v, count(m.ts) FROM generate_series(0, 7) AS h(v) LEFT JOIN metrics m ON date_part('hour', m.ts) = h.v AND m.host = 'web-1' GROUP BY h.v ORDER BY h.v",
    "parameters of all types": "SELECT $1 + 1, $2 * 2e0, $3::varchar || '!', $4, $5 IS NULL",
    "several statements": "CREATE TABLE pair AS SELECT * FROM (VALUES (1), (2)) AS t(column1); INSERT INTO pair VALUES (40); SELECT sum(column1) FROM pair",
    "information_schema": "SELECT table_name, CASE WHEN table_name IN ('busy', 'busiest') THEN 'VIEW' ELSE 'BASE TABLE' END FROM information_schema.tables ORDER BY table_name",
    "prepare and execute": "PREPARE plus AS SELECT $1::bigint + $2::bigint AS sum; EXECUTE plus(20, 22)",
}


def moment(milliseconds):
    seconds, rest = divmod(milliseconds, 1000)
    return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%S}.{rest:03}Z"


def value(scalar):
    """A value of Arrow in the suite's form."""
    kind = scalar.type
    if isinstance(scalar, pa.ExtensionScalar):
        return value(scalar.value)
    if not scalar.is_valid:
        return None
    if pa.types.is_dictionary(kind):
        return value(scalar.dictionary[scalar.index.as_py()])
    if pa.types.is_integer(kind):
        integer = scalar.as_py()
        return integer if abs(integer) <= SAFE else str(integer)
    if pa.types.is_floating(kind):
        number = float(scalar.as_py())
        return number if isfinite(number) else "NaN" if isnan(number) else "Infinity" if number > 0 else "-Infinity"
    if pa.types.is_decimal(kind):
        return format(scalar.as_py(), "f")
    if pa.types.is_date(kind):
        return scalar.as_py().isoformat() + "T00:00:00.000Z"
    if pa.types.is_timestamp(kind):
        unit = {"s": 1000, "ms": 1}.get(kind.unit)
        return moment(scalar.value * unit if unit else scalar.value // {"us": 1000, "ns": 1_000_000}[kind.unit])
    if pa.types.is_map(kind):
        return [[value(entry["key"]), value(entry["value"])] for entry in scalar.values]
    if pa.types.is_nested(kind) and not pa.types.is_struct(kind):
        return [value(item) for item in scalar.values]
    if pa.types.is_struct(kind):
        return {name: value(item) for name, item in scalar.items()}
    plain = scalar.as_py()
    if isinstance(plain, bytes):
        return "0x" + plain.hex()
    if plain is None or isinstance(plain, (bool, str)):
        return plain
    raise TypeError(f"the suite has no form for {kind}")


def rows(table):
    columns = [[value(scalar) for scalar in column] for column in table.columns]
    return [list(row) for row in zip(*columns)]


def number(text):
    try:
        return None if isinstance(text, bool) else Decimal(text)
    except (InvalidOperation, TypeError, ValueError):
        return None


def same(expected, found):
    """Whether two values are one. DuckDB has other types of numbers than the suite, so digits of text count as numbers too."""
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(map(same, expected, found))
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() == found.keys() and all(same(item, found[name]) for name, item in expected.items())
    if type(expected) is type(found) and expected == found:
        return True
    if isinstance(expected, str) and isinstance(found, str) and "." not in expected + found:
        return False
    a, b = number(expected), number(found)
    if a is None or b is None or not (a.is_finite() and b.is_finite()):
        return False
    exact = not isinstance(expected, float) and not isinstance(found, float)
    return a == b if exact else abs(a - b) <= Decimal("1e-9") * max(abs(a), abs(b))


def difference(statement, found):
    expected = statement["rows"]
    if len(expected) != len(found):
        return f"{len(found)} rows instead of {len(expected)}: {found[:5]}"
    if statement.get("unordered"):
        rest = list(found)
        for row in expected:
            match = next((at for at, other in enumerate(rest) if same(row, other)), None)
            if match is None:
                return f"no row {row} in {rest}"
            rest.pop(match)
        return None
    pairs = zip(expected, found)
    return next((f"{b} instead of {a}" for a, b in pairs if not same(a, b)), None)


def open_tables(tables):
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET integer_division = true")
    connection.execute("SET default_null_order = 'nulls_last_on_asc_first_on_desc'")
    for name, files in tables.items():
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({files}, union_by_name = true)")
    return connection


def ask(connection, statement):
    """What DuckDB says to a statement: what is wrong, if anything is."""
    sql = INSTEAD.get(statement["name"], statement["sql"])
    try:
        result = connection.execute(sql, statement.get("params") or None)
        found = rows(result.to_arrow_table())
    except duckdb.Error as error:
        return None if "error" in statement else f"{type(error).__name__}: {error}"
    if "error" in statement:
        return f"{found} where an error was expected"
    # What only acts has no rows here, and a count there.
    return None if statement["sql"].startswith(("CREATE", "DROP")) and not statement["rows"] else difference(statement, found)


def main():
    os.chdir(SUITE)
    suite = json.loads((SUITE / "suite.json").read_text())
    connection = open_tables(suite["tables"])
    asked, by_hand, wrong = 0, [], []
    for statement in suite["statements"]:
        if statement.get("by_hand") or "contains" in statement:
            by_hand.append(statement["name"])
            continue
        asked += 1
        if (what := ask(connection, statement)) is not None:
            wrong.append(f"{statement['name']}: {what}")
    print(f"{asked} statements asked, not asked {len(by_hand)}: {', '.join(by_hand)}")
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
