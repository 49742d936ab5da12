//! Whole files.

use farquet_tests::canon::{EXACT, difference, rows};
use farquet_tests::reference::{self, Reader};
use farquet_tests::{batches, session};

use crate::folder::{files, folder, serve};

#[tokio::test(flavor = "multi_thread")]
async fn every_file_reads_as_elsewhere() {
    let Some(folder) = folder("data") else { return };
    let origin = serve(&folder).await;
    let session = session();
    let mut worlds = Vec::new();
    let mut read = Vec::new();
    for file in files(&folder) {
        if file.contains("large_string") {
            continue;
        }
        let sql = format!("SELECT * FROM '{}'", origin.url(&format!("/c/{file}")));
        match batches(&session, &sql).await {
            Ok((batches, _)) => {
                let mut world = reference::World::of(Reader::DuckDb, &[folder.join(&file)]);
                world.ask("SELECT * FROM t");
                let mut py = reference::World::of(Reader::PyArrow, &[folder.join(&file)]);
                py.ask("SELECT * FROM t");
                let names: Vec<String> = batches
                    .first()
                    .map(|b| b.schema().fields().iter().map(|f| f.name().clone()).collect())
                    .unwrap_or_default();
                worlds.push(world);
                worlds.push(py);
                read.push((file, names, rows(&batches)));
            }
            Err(error) => println!("{file}: {error:?}"),
        }
    }
    for (index, (file, names, ours)) in read.into_iter().enumerate() {
        let r = reference::ask(&worlds[index * 2..index * 2 + 2]);
        for reply in r {
            match reply[0].clone() {
                Err(error) => println!("{file}: REF {error}"),
                Ok((columns, theirs)) => {
                    if columns != names {
                        println!("{file}: NAMES {names:?} {columns:?}");
                    }
                    if let Some(difference) = difference(ours.clone(), theirs, EXACT) {
                        println!("{file}: {difference}");
                    }
                }
            }
        }
    }
}
