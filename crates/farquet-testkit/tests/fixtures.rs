//! Sizes and shapes of the fixtures.

use bytes::Bytes;
use farquet_testkit::fixture::{self, FileSet, NEEDLE_KEY, SizeClass};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};

fn metadata(file: &Bytes) -> ParquetMetaData {
    let mut reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Optional);
    reader.try_parse(file).expect("a Parquet file");
    reader.finish().expect("its metadata")
}

/// The bytes of the footer, without its length and the magic number.
fn footer_len(file: &Bytes) -> u32 {
    let at = file.len() - 8;
    u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"))
}

fn columns(metadata: &ParquetMetaData) -> usize {
    metadata.file_metadata().schema_descr().num_columns()
}

fn rows(metadata: &ParquetMetaData) -> i64 {
    metadata.file_metadata().num_rows()
}

fn single(set: &FileSet) -> Bytes {
    set.generate().into_iter().next().expect("a file").1
}

#[test]
fn trips() {
    let files = fixture::trips(3, 50_000).generate();
    let mut last = i64::MIN;
    for (name, file) in &files {
        assert!((1_000_000..2_000_000).contains(&file.len()), "{name}: {}", file.len());
        let metadata = metadata(file);
        assert_eq!((metadata.num_row_groups(), rows(&metadata), columns(&metadata)), (2, 50_000, 5));
        assert!(metadata.row_group(0).column(0).column_index_offset().is_none());
        for group in metadata.row_groups() {
            assert_eq!(group.num_rows(), 25_000);
            let statistics = group.column(0).statistics().expect("statistics");
            let bound = |bytes: Option<&[u8]>| i64::from_le_bytes(bytes.expect("a bound").try_into().expect("8 bytes"));
            let min = bound(statistics.min_bytes_opt());
            assert!(min > last, "{name}: time ranges overlap");
            last = bound(statistics.max_bytes_opt());
        }
    }
    assert_eq!(files[2].0, "trips_002.parquet");
    // The same arguments give the same bytes.
    assert!(single(&fixture::trips(1, 50_000)) == files[0].1);
}

#[test]
fn minutes() {
    for (class, largest) in [(SizeClass::Small, 60 * 1024), (SizeClass::Mixed, 150 * 1024)] {
        let files = fixture::minutes(60, class).generate();
        for (name, file) in &files {
            assert!((20 * 1024..=largest).contains(&file.len()), "{name}: {}", file.len());
        }
        let metadata = metadata(&files[0].1);
        assert_eq!((metadata.num_row_groups(), columns(&metadata)), (1, 20));
        let group = metadata.row_group(0);
        assert_eq!(group.sorting_columns().map(Vec::len), Some(1));
        assert!(group.column(1).bloom_filter_offset().is_some());
        let pages = metadata.offset_index().expect("an offset index")[0][0].page_locations();
        assert!(pages.len() > 1 && rows(&metadata) / i64::try_from(pages.len()).expect("few") <= 1000);
    }
}

#[test]
fn larger() {
    let set = FileSet::named("larger").expect("a known name");
    assert_eq!(set.file_names().count(), 20);
    let file = single(&fixture::larger(1, 125_000));
    let metadata = metadata(&file);
    assert_eq!((metadata.num_row_groups(), rows(&metadata), columns(&metadata)), (1, 125_000, 7));
    assert!((1_400_000..1_600_000).contains(&file.len()), "{}", file.len());
}

#[test]
fn wide_in_short() {
    let file = single(&fixture::wide_of(2, 20_500));
    let metadata = metadata(&file);
    assert_eq!((metadata.num_row_groups(), rows(&metadata), columns(&metadata)), (2, 41_000, 100));
    assert!(metadata.row_groups().iter().all(|group| group.column(0).offset_index_offset().is_none()));
    // A fifteenth of the whole one.
    assert!((3_900_000..4_200_000).contains(&file.len()), "{}", file.len());
}

#[test]
fn logs_in_short() {
    let file = single(&fixture::logs_of(1, 2, 31_000));
    let metadata = metadata(&file);
    assert_eq!((metadata.num_row_groups(), rows(&metadata), columns(&metadata)), (2, 62_000, 100));
    assert!((5_000_000..7_000_000).contains(&file.len()), "{}", file.len());
}

#[test]
#[ignore = "takes half a minute without optimisation"]
fn logs() {
    let file = single(&fixture::logs(1));
    let metadata = metadata(&file);
    assert_eq!((metadata.num_row_groups(), rows(&metadata)), (20, 620_000));
    assert!((55_000_000..62_000_000).contains(&file.len()), "{}", file.len());
    assert!((240_000..280_000).contains(&footer_len(&file)), "{}", footer_len(&file));
}

#[test]
fn needle() {
    let file = single(&fixture::needle_of(200_000));
    let metadata = metadata(&file);
    assert_eq!((metadata.num_row_groups(), rows(&metadata)), (2, 200_000));
    let text: i64 = metadata.row_groups().iter().map(|group| group.column(4).compressed_size()).sum();
    // A fifth of the whole one, which has 40 MB.
    assert!((7_500_000..8_500_000).contains(&text), "{text}");
    let pages = metadata.offset_index().expect("an offset index")[0][4].page_locations();
    assert_eq!(pages.len(), 100);
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("a Parquet file").build().expect("a reader");
    let matches = reader.map(|batch| {
        let batch = batch.expect("a batch");
        let keys = batch.column(2).as_any().downcast_ref::<arrow::array::Int64Array>().expect("numbers");
        keys.iter().filter(|key| *key == Some(NEEDLE_KEY)).count()
    });
    assert_eq!(matches.sum::<usize>(), 20);
}

#[test]
fn small() {
    let files = fixture::small(3, 280).generate();
    assert!(files.iter().all(|(_, file)| (9_000..11_000).contains(&file.len())));
}

#[test]
fn taxi() {
    let file = single(&fixture::taxi(1));
    let metadata = metadata(&file);
    assert_eq!(metadata.num_row_groups(), 24);
    assert!((8_500_000..11_500_000).contains(&file.len()), "{}", file.len());
}

#[test]
fn no_float_is_not_a_number() {
    use arrow::array::{AsArray, types::Float64Type};
    for set in [fixture::trips(1, 1000), fixture::minutes(1, SizeClass::Small), fixture::taxi_of(1, 1, 1000)] {
        let reader = ParquetRecordBatchReaderBuilder::try_new(single(&set)).expect("a Parquet file");
        for batch in reader.build().expect("a reader") {
            let batch = batch.expect("a batch");
            let floats = batch.columns().iter().filter_map(|column| column.as_primitive_opt::<Float64Type>());
            assert!(floats.flat_map(|column| column.iter().flatten()).all(f64::is_finite));
        }
    }
}

#[test]
fn sets_by_name() {
    for name in fixture::NAMES {
        let set = FileSet::named(name).expect("a known name");
        assert!(set.file_names().count() > 0);
    }
    assert!(FileSet::named("no-such-set").is_none());
}
