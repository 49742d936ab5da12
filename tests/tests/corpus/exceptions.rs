//! The files that are not compared as all others are, each with the reason.

use farquet_core::ErrorKind;
use farquet_tests::reference::Reader;

/// What cannot be read here: the name or how it begins, the error, and why. The engine's own reader cannot either.
pub(crate) const UNREADABLE: &[(&str, ErrorKind, &str)] = &[
    ("aes256/encrypt_columns_plaintext_footer.", ErrorKind::Malformed, "encrypted columns, though the footer is not"),
    ("aes256/", ErrorKind::Unsupported, "encrypted footer, which needs a key"),
    (
        "dict-page-offset-zero.",
        ErrorKind::Malformed,
        "a writer's own field in the footer, of another type than the format's",
    ),
    ("encrypt_columns_plaintext_footer.", ErrorKind::Malformed, "encrypted columns, though the footer is not"),
    ("encrypt_columns_and_footer", ErrorKind::Unsupported, "encrypted footer, which needs a key"),
    ("external_key_material_java.", ErrorKind::Unsupported, "encrypted footer, which needs a key"),
    ("nation.dict-malformed.", ErrorKind::Malformed, "column chunks longer than the footer says (PARQUET-816)"),
    ("uniform_encryption.", ErrorKind::Unsupported, "encrypted footer, which needs a key"),
];

/// A value of 1 GiB in either of its two rows: only counted.
pub(crate) const HUGE: &str = "large_string_map.brotli.parquet";

/// What DuckDB cannot read, or reads otherwise than the format says, and pyarrow reads for it.
const NOT_BY_DUCKDB: &[(&str, &str)] = &[
    ("byte_stream_split_extended.gzip.parquet", "BYTE_STREAM_SPLIT of integers"),
    ("hadoop_lz4_compressed.parquet", "the LZ4 of Hadoop"),
    ("hadoop_lz4_compressed_larger.parquet", "the LZ4 of Hadoop"),
    ("map_no_value.parquet", "a map without values"),
    ("nested_structs.rust.parquet", "times with the old annotation, which means UTC"),
    ("non_hadoop_lz4_compressed.parquet", "LZ4 without the frame of Hadoop"),
];

/// DuckDB's values and pyarrow's overflow: they have been computed by hand, see `read`.
pub(crate) const BY_HAND: &str = "int96_from_spark.parquet";

/// NaN of either sign: this engine orders them below and above all numbers, DuckDB both above.
const SIGNED_NAN: &str = "floating_orders_nan_count.parquet";

/// Whether filters and extremes of `file` have nothing to be compared with but each other.
pub(crate) fn is_alone(file: &str) -> bool {
    file == BY_HAND || file == SIGNED_NAN
}

/// The expected error of `file`, if it cannot be read.
pub(crate) fn unreadable(file: &str) -> Option<ErrorKind> {
    UNREADABLE.iter().find(|(name, ..)| file.starts_with(name)).map(|(_, kind, _)| *kind)
}

pub(crate) fn is_unreadable(file: &str) -> bool {
    unreadable(file).is_some()
}

pub(crate) fn reader(file: &str) -> Reader {
    if NOT_BY_DUCKDB.iter().any(|(name, _)| *name == file) { Reader::PyArrow } else { Reader::DuckDb }
}
