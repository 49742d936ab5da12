//! Parquet files that tell their version, in the footer and in every eight bytes of their data.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::data_type::Int64Type;
use parquet::file::metadata::{KeyValue, ParquetMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

const VERSION: &str = "version";

/// Size and validator of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Small,
    SmallWeak,
    SmallBare,
    Large,
    LargeWeak,
}

impl Kind {
    pub(crate) fn tag(self, version: u8) -> Option<String> {
        match self {
            Self::Small | Self::Large => Some(format!("\"{version}\"")),
            Self::SmallWeak | Self::LargeWeak => Some(format!("W/\"{version}\"")),
            Self::SmallBare => None,
        }
    }

    /// Larger than the first tail, or much smaller.
    fn rows(self) -> usize {
        match self {
            Self::Small | Self::SmallWeak | Self::SmallBare => 200,
            Self::Large | Self::LargeWeak => 70_000,
        }
    }
}

/// A file whose only column repeats `version`. Versions differ in length too.
pub(crate) fn parquet(kind: Kind, version: u8) -> Bytes {
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::PLAIN)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_data_page_row_count_limit(usize::MAX)
        .set_key_value_metadata(Some(vec![KeyValue::new(VERSION.to_owned(), version.to_string())]))
        .build();
    let schema = parse_message_type("message schema { REQUIRED INT64 v; }").expect("a schema");
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties)).expect("a writer");
    let mut group = writer.next_row_group().expect("a row group");
    let mut column = group.next_column().expect("a column").expect("one column");
    let values = vec![i64::from(version); kind.rows() + usize::from(version)];
    column.typed::<Int64Type>().write_batch(&values, None, None).expect("values");
    column.close().expect("a column");
    group.close().expect("a row group");
    writer.into_inner().expect("a file").into()
}

/// Where eight bytes of data lie in every version of every kind.
pub(crate) const DATA: std::ops::Range<u64> = 800..808;

/// The version that a footer tells.
pub(crate) fn version_of_footer(metadata: &ParquetMetaData) -> u8 {
    let pairs = metadata.file_metadata().key_value_metadata().expect("pairs");
    let pair = pairs.iter().find(|pair| pair.key == VERSION).expect("a version");
    pair.value.as_deref().expect("a version").parse().expect("a number")
}

/// The version that data tells: in eight bytes of repeated numbers below 256, in whatever phase, one is not zero.
pub(crate) fn version_of_data(bytes: &[u8]) -> u8 {
    bytes.iter().sum()
}
