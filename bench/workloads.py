"""The workloads: a fixture of the test origin, and a query over all of its files."""

WORKLOADS = {
    "count": ("many120", "SELECT count(*) FROM {t}"),
    "group-small": ("minutes60-small", "SELECT metric_name, host, avg(value), count(*) FROM {t} "
                    "WHERE metric_name = 'system.cpu.utilization' GROUP BY 1, 2 ORDER BY 1, 2"),
    "group-mixed": ("minutes60", "SELECT metric_name, host, avg(value), count(*) FROM {t} "
                    "WHERE metric_name = 'system.cpu.utilization' GROUP BY 1, 2 ORDER BY 1, 2"),
    "top-errors": ("logs", "SELECT body_message, count(*) AS n FROM {t} WHERE severity_text = 'ERROR' "
                   "GROUP BY 1 ORDER BY n DESC, body_message LIMIT 20"),
    "point": ("logs", "SELECT p_timestamp, severity_text, body_message FROM {t} WHERE p_timestamp >= {ts}'2024-06-01 05:15:00' "
              "AND p_timestamp < {ts}'2024-06-01 05:15:20' ORDER BY 1"),
    "limit": ("many120", "SELECT * FROM {t} LIMIT 10"),
    "top-k": ("many120", "SELECT * FROM {t} ORDER BY ts DESC LIMIT 10"),
    "needle": ("needle", "SELECT text FROM {t} WHERE key = 7321"),
}
# What the floor asks for in its first round: the last so many bytes, or whole files.
FIRST = {"count": 8 << 10, "group-small": None, "group-mixed": None}
