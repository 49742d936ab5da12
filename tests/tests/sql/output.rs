//! `COPY … TO` a local file.

use farquet_tests::World;

use crate::data::Shop;

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_copied_to_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let base = farquet_core::Url::from_directory_path(folder.path()).expect("a URL");
    let shop = Shop::with(&World { base: Some(base), ..World::default() }).await;
    let path = |name: &str| folder.path().join(name).to_str().expect("a path in UTF-8").to_owned();
    let parquet = path("o.parquet");
    let copied = shop.rows(&format!("COPY (SELECT * FROM orders WHERE id > 2) TO '{parquet}'")).await;
    assert_eq!(copied, ["6"], "how many rows");
    let sql = format!("SELECT count(*), sum(amount), max(day) FROM '{parquet}'");
    assert_eq!(shop.rows(&sql).await, ["6|113|2024-02-04"]);
    let csv = path("people.csv");
    let url = shop.url("/people.parquet?signature=hidden");
    shop.rows(&format!("COPY (SELECT id, name FROM '{url}' ORDER BY id) TO '{csv}' STORED AS CSV")).await;
    let text = std::fs::read_to_string(&csv).expect("a file");
    assert_eq!(text, "id,name\n1,Ada\n2,Bob\n3,Cy\n4,\n5,Eve\n");
    let json = path("depts.json");
    shop.rows(&format!("COPY depts TO '{json}'")).await;
    assert_eq!(std::fs::read_to_string(&json).expect("a file").lines().count(), 4);
}
