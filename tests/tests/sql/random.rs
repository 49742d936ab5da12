//! Queries made up at random, the same ones every time.

/// A small generator of numbers.
pub(crate) struct Random(u64);

/// A table and what can be asked of it.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// Columns with few values.
    keys: &'static [&'static str],
    /// Columns of numbers.
    numbers: &'static [&'static str],
    /// Conditions.
    tests: &'static [&'static str],
    /// Columns that order all rows, or nearly.
    order: &'static str,
}

pub(crate) const MINUTES: Table = Table {
    name: "minutes",
    keys: &["host", "metric_name", "attributes_00", "attributes_03", "p_src_ip", "date_trunc('minute', p_timestamp)"],
    numbers: &["value", "count", "length(attributes_07)", "count % 7", "value * 2 - count"],
    tests: &[
        "host = 'node-03'",
        "host IN ('node-01', 'node-07', 'nobody')",
        "metric_name LIKE 'system.cpu%'",
        "metric_name <> 'system.disk.io'",
        "p_timestamp >= TIMESTAMP '2024-06-01 00:03:20'",
        "p_timestamp < TIMESTAMP '2024-06-01 00:01:40.5'",
        "p_timestamp BETWEEN TIMESTAMP '2024-06-01 00:02:10' AND TIMESTAMP '2024-06-01 00:02:50'",
        "value > 60.5",
        "value <= 3.125",
        "value BETWEEN 10 AND 20",
        "count > 3900",
        "count < 10",
        "count % 11 = 3",
        "attributes_00 IS NULL",
        "attributes_03 IS NOT NULL",
        "trace IS NOT NULL",
        "trace IS NULL AND attributes_01 = 'attr1-value2'",
        "attributes_02 IS DISTINCT FROM 'attr2-value1'",
        "NOT (host = 'node-01' OR attributes_04 = 'attr4-value3')",
        "coalesce(attributes_05, 'none') = 'none'",
        "attributes_12 > 'attr12-value3'",
        "CASE WHEN count > 2000 THEN value > 50 ELSE value < 2 END",
        "trace < '2'",
    ],
    order: "p_timestamp, host, metric_name, value, count",
};

pub(crate) const RIDES: Table = Table {
    name: "rides",
    keys: &["vendor_id", "passengers", "payment", "pickup_zone", "date_trunc('day', pickup_at)"],
    numbers: &["fare", "tip", "total", "distance_miles", "passengers", "total - fare"],
    tests: &[
        "payment = 'cash'",
        "payment IN ('dispute', 'no charge')",
        "pickup_zone = 132",
        "pickup_zone BETWEEN 100 AND 110",
        "dropoff_zone > 250 OR dropoff_zone < 5",
        "pickup_at >= TIMESTAMP '2024-02-10 00:00:00'",
        "pickup_at BETWEEN TIMESTAMP '2024-01-05 12:00:00' AND TIMESTAMP '2024-01-06 12:00:00'",
        "pickup_at < TIMESTAMP '2024-01-02' OR pickup_at > TIMESTAMP '2024-02-28'",
        "tip = 0",
        "tip > fare * 0.19",
        "distance_miles > 12.5",
        "passengers <> 1",
        "passengers IN (2, 5)",
        "dropoff_at > pickup_at",
        "vendor_id = 1 AND NOT payment LIKE 'c%'",
        "pickup_zone = dropoff_zone",
        "fare + tip > 60",
    ],
    order: "pickup_at, dropoff_at, pickup_zone, dropoff_zone, total",
};

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len())]
    }

    fn some(&mut self, from: &[&'static str], most: usize) -> Vec<&'static str> {
        let mut picked: Vec<_> = (0..=self.below(most)).map(|_| self.pick(from)).collect();
        picked.sort_unstable();
        picked.dedup();
        picked
    }

    fn condition(&mut self, table: &Table) -> String {
        match self.below(5) {
            0 => "true".to_owned(),
            1 | 2 => self.pick(table.tests).to_owned(),
            3 => format!("({}) AND ({})", self.pick(table.tests), self.pick(table.tests)),
            _ => format!("({}) OR ({})", self.pick(table.tests), self.pick(table.tests)),
        }
    }

    fn aggregate(&mut self, table: &Table) -> String {
        let number = self.pick(table.numbers);
        match self.below(8) {
            0 => "count(*)".to_owned(),
            1 => format!("count({})", self.pick(table.keys)),
            2 => format!("count(DISTINCT {})", self.pick(table.keys)),
            3 => format!("sum({number})"),
            4 => format!("avg({number})"),
            5 => format!("min({number})"),
            6 => format!("max({number})"),
            _ => format!("sum({number}) FILTER (WHERE {})", self.pick(table.tests)),
        }
    }

    /// A query, and whether its rows come in an order.
    pub(crate) fn query(&mut self, table: &Table) -> (String, bool) {
        let (name, order) = (table.name, table.order);
        let condition = self.condition(table);
        let list = |items: Vec<String>| items.join(", ");
        match self.below(6) {
            0 | 1 => {
                let keys = self.some(table.keys, 2);
                let named = keys.iter().enumerate().map(|(n, key)| format!("{key} AS k{n}")).collect();
                let numbers = list((1..=keys.len()).map(|n| n.to_string()).collect());
                let sorted = list((1..=keys.len()).map(|n| format!("{n} NULLS FIRST")).collect());
                let aggregates =
                    list((0..=self.below(3)).map(|n| format!("{} AS a{n}", self.aggregate(table))).collect());
                let having = if self.below(3) == 0 { " HAVING count(*) > 3" } else { "" };
                let named = list(named);
                (
                    format!(
                        "SELECT {named}, {aggregates} FROM {name} WHERE {condition} GROUP BY {numbers}{having} \
                         ORDER BY {sorted}"
                    ),
                    true,
                )
            }
            2 => {
                let aggregates = list((0..5).map(|n| format!("{} AS a{n}", self.aggregate(table))).collect());
                (format!("SELECT {aggregates} FROM {name} WHERE {condition}"), true)
            }
            3 => {
                let direction = self.pick(&["ASC", "DESC"]);
                let sorted = order.split(", ").map(|column| format!("{column} {direction} NULLS LAST")).collect();
                let (limit, offset) = (1 + self.below(40), self.pick(&["", " OFFSET 7", " OFFSET 100000"]));
                let sorted = list(sorted);
                (format!("SELECT {order} FROM {name} WHERE {condition} ORDER BY {sorted} LIMIT {limit}{offset}"), true)
            }
            4 => {
                let other = self.pick(table.tests);
                let set = self.pick(&["UNION ALL", "UNION", "INTERSECT", "EXCEPT"]);
                let keys = self.some(table.keys, 2).join(", ");
                (
                    format!(
                        "SELECT {keys} FROM {name} WHERE {condition} {set} SELECT {keys} FROM {name} WHERE {other}"
                    ),
                    false,
                )
            }
            _ => {
                let (key, number) = (self.pick(table.keys), self.pick(table.numbers));
                let ranked = format!(
                    "SELECT {key} AS k, {number} AS v, row_number() OVER \
                     (PARTITION BY {key} ORDER BY {number} DESC NULLS LAST, {order}) AS r FROM {name} WHERE {condition}"
                );
                (format!("SELECT k, v, r FROM ({ranked}) WHERE r <= 3"), false)
            }
        }
    }
}
