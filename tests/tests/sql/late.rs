//! Filters that are read before the other columns: the same rows, fewer bytes.

use farquet_testkit::Origin;
use farquet_testkit::fixture::taxi_of;
use farquet_tests::{World, answer};

/// Over a slow link the second hop pays.
#[tokio::test(flavor = "multi_thread")]
async fn filters_first_gives_the_same_rows() {
    let set = taxi_of(1, 3, 22_000);
    let folder = set.on_disk().expect("fixtures on disk");
    let origin = Origin::builder().bandwidth(3_000_000).directory("/d/", folder).start().await;
    let url = origin.url(&format!("/d/{}", set.file_names().next().expect("a file")));
    let columns = "pickup_at, dropoff_at, distance_miles, fare, tip, total";
    let cases = [
        "pickup_zone = 7 AND dropoff_zone = 12",
        "pickup_zone = 7 AND dropoff_zone = 12 AND passengers = 2",
        "pickup_zone IN (3, 260) AND dropoff_zone = 200",
        "(pickup_zone = 5 OR pickup_zone = 6) AND dropoff_zone IN (6, 7)",
    ];
    for partitions in [1, 4] {
        let late = World { partitions, ..World::default() }.session();
        let plain = World { pruning: false, ..World::default() }.session();
        answer(&late, &format!("SELECT count(vendor_id) FROM '{url}' WHERE vendor_id > 0")).await;
        for case in cases {
            let sql = format!("SELECT {columns} FROM '{url}' WHERE {case} ORDER BY {columns}");
            let plan = answer(&late, &format!("EXPLAIN {sql}")).await.rows.join("\n");
            assert!(plan.contains("filter_first=1"), "{case}: {plan}");
            let (first, whole) = (answer(&late, &sql).await, answer(&plain, &sql).await);
            assert_eq!(first.rows, whole.rows, "{case}");
            let (few, all) = (first.report.bytes_received, whole.report.bytes_received);
            assert!(few < all, "{case}: {few} bytes of {all}");
        }
    }
}
