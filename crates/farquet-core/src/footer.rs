//! From the last bytes of a file to its metadata. Pure: it says which bytes are missing, and never asks for them.
//!
//! The format: `… page indexes … metadata, its length in 4 bytes, "PAR1"` (Parquet format, "File format"). Claims of a file
//! are checked against its size before anything is allocated, and a panic of the decoder becomes an error.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use parquet::DecodeResult;
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder, RowGroupMetaData,
};

use crate::error::{Error, ErrorKind, Result};

/// Length and magic at the very end.
pub(crate) const FOOTER: u64 = 8;
/// The magic at the beginning, the length and the magic at the end.
const SHORTEST_FILE: u64 = 12;

/// Where the metadata lies, from the last 8 bytes of a file of `size` bytes.
pub(crate) fn metadata_range(end: [u8; 8], size: u64, largest: u64) -> Result<Range<u64>> {
    if size < SHORTEST_FILE {
        return Err(Error::new(ErrorKind::NotParquet, format!("{size} bytes are too few for a Parquet file")));
    }
    match &end[4..] {
        b"PAR1" => {}
        b"PARE" => {
            return Err(Error::new(ErrorKind::Unsupported, "the file's footer is encrypted, which needs its keys"));
        }
        _ => return Err(Error::new(ErrorKind::NotParquet, "the file does not end with PAR1")),
    }
    let length = u64::from(u32::from_le_bytes([end[0], end[1], end[2], end[3]]));
    let end = size - FOOTER;
    if length == 0 || length > end - 4 {
        let message = format!("a footer of {length} bytes in a file of {size}");
        return Err(Error::new(ErrorKind::Malformed, message));
    }
    if length > largest {
        let message = format!("a footer of {length} bytes, more than the limit of {largest}");
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    Ok(end - length..end)
}

/// Says what bytes that are no Parquet are instead, as far as a glance tells.
pub(crate) fn not_parquet(first: &[u8], content_type: Option<&str>, error: Error) -> Error {
    if error.kind() != ErrorKind::NotParquet {
        return error;
    }
    let start: String = first.iter().take(24).map(|byte| byte.escape_ascii().to_string()).collect();
    let kind = content_type.map_or_else(String::new, |kind| format!(" of content type {kind}"));
    let error =
        Error::new(ErrorKind::NotParquet, format!("not a Parquet file: a body{kind} that begins with \"{start}\""));
    if first.starts_with(b"<") || content_type.is_some_and(|kind| kind.starts_with("text/html")) {
        error.hint("the server sent a web page; a link to the file itself is needed")
    } else {
        error
    }
}

/// Decodes the metadata in `bytes`, which begin at `offset` and end with the file of `size` bytes.
pub(crate) fn decode(bytes: &Bytes, offset: u64, size: u64) -> Result<ParquetMetaData> {
    let metadata = guarded(|| {
        let mut decoder = ParquetMetaDataPushDecoder::try_new(size)?.with_page_index_policy(PageIndexPolicy::Skip);
        decoder.push_range(offset..size, bytes.clone())?;
        decoder.try_decode()
    })?;
    let DecodeResult::Data(metadata) = metadata else {
        return Err(Error::new(ErrorKind::Malformed, "the footer reaches beyond the bytes that it claims"));
    };
    let metadata = without_dictionaries_at_zero(metadata)?;
    check(&metadata, size)?;
    Ok(metadata)
}

/// Some writers say 0 where there is no dictionary page. No page can lie there: it is where the file's magic number is.
fn without_dictionaries_at_zero(metadata: ParquetMetaData) -> Result<ParquetMetaData> {
    let at_zero = |chunk: &ColumnChunkMetaData| chunk.dictionary_page_offset() == Some(0);
    if !metadata.row_groups().iter().flat_map(RowGroupMetaData::columns).any(at_zero) {
        return Ok(metadata);
    }
    guarded(|| {
        let mut groups = Vec::with_capacity(metadata.num_row_groups());
        for group in metadata.row_groups() {
            let chunks = group.columns().iter().map(|chunk| {
                let offset = chunk.dictionary_page_offset().filter(|offset| *offset != 0);
                chunk.clone().into_builder().set_dictionary_page_offset(offset).build()
            });
            let chunks = chunks.collect::<parquet::errors::Result<_>>()?;
            groups.push(group.clone().into_builder().set_column_metadata(chunks).build()?);
        }
        Ok(metadata.into_builder().set_row_groups(groups).build())
    })
}

/// Where the page index lies, if there is one within the file.
pub(crate) fn page_index_range(metadata: &ParquetMetaData, size: u64) -> Option<Range<u64>> {
    let ranges = metadata.row_groups().iter().flat_map(RowGroupMetaData::columns).flat_map(|column| {
        let part = |offset: Option<i64>, length: Option<i32>| {
            let start = u64::try_from(offset?).ok()?;
            Some(start..start.checked_add(u64::try_from(length?).ok()?)?)
        };
        [
            part(column.column_index_offset(), column.column_index_length()),
            part(column.offset_index_offset(), column.offset_index_length()),
        ]
    });
    let whole = ranges.flatten().reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))?;
    (whole.start < whole.end && whole.end <= size).then_some(whole)
}

/// Adds the page index that lies in `bytes`, which begin at `offset`. An index that cannot be read is left out: it only
/// helps to read less.
pub(crate) fn with_page_index(metadata: ParquetMetaData, bytes: &Bytes, offset: u64, size: u64) -> ParquetMetaData {
    let range = offset..offset + bytes.len() as u64;
    let kept = metadata.clone();
    let indexed = guarded(|| {
        let mut decoder = ParquetMetaDataPushDecoder::try_new_with_metadata(size, metadata)?
            .with_page_index_policy(PageIndexPolicy::Optional);
        decoder.push_range(range, bytes.clone())?;
        decoder.try_decode()
    });
    match indexed {
        Ok(DecodeResult::Data(indexed)) if consistent(&indexed) => indexed,
        _ => kept,
    }
}

/// Page locations steer reads, so they have to lie within their column chunks and in order.
fn consistent(metadata: &ParquetMetaData) -> bool {
    let Some(offsets) = metadata.offset_index() else { return true };
    offsets.len() == metadata.num_row_groups()
        && metadata.row_groups().iter().zip(offsets).all(|(group, columns)| {
            columns.len() == group.num_columns()
                && group.columns().iter().zip(columns).all(|(chunk, index)| {
                    let Ok(chunk) = chunk_range(chunk, u64::MAX) else { return false };
                    let inside = index.page_locations.iter().all(|page| {
                        let (Ok(start), Ok(size)) =
                            (u64::try_from(page.offset), u64::try_from(page.compressed_page_size))
                        else {
                            return false;
                        };
                        start >= chunk.start && start.checked_add(size).is_some_and(|end| end <= chunk.end)
                    });
                    let rows = index.page_locations.iter().map(|page| page.first_row_index);
                    inside
                        && rows.clone().zip(rows.skip(1)).all(|(a, b)| a <= b)
                        && index.page_locations.iter().all(|p| (0..=group.num_rows()).contains(&p.first_row_index))
                })
        })
}

/// Where a column chunk lies: from its dictionary page, or its first data page, for its compressed size.
pub(crate) fn chunk_range(chunk: &ColumnChunkMetaData, size: u64) -> Result<Range<u64>> {
    let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
    let range = u64::try_from(start).ok().zip(u64::try_from(chunk.compressed_size()).ok());
    range
        .and_then(|(start, length)| Some(start..start.checked_add(length)?))
        .filter(|range| range.end <= size)
        .ok_or_else(|| {
            let message = format!(
                "column {} lies at {start} for {} bytes, outside of a file of {size}",
                chunk.column_descr().name(),
                chunk.compressed_size()
            );
            Error::new(ErrorKind::Malformed, message)
        })
}

/// What the decoders assume and do not check.
fn check(metadata: &ParquetMetaData, size: u64) -> Result<()> {
    let leaves = metadata.file_metadata().schema_descr().num_columns();
    let mut rows: i64 = 0;
    for group in metadata.row_groups() {
        rows = match rows.checked_add(group.num_rows()) {
            Some(rows) if group.num_rows() >= 0 => rows,
            _ => return Err(Error::new(ErrorKind::Malformed, format!("a row group of {} rows", group.num_rows()))),
        };
        if group.num_columns() != leaves {
            let message = format!("a row group of {} columns in a file of {leaves}", group.num_columns());
            return Err(Error::new(ErrorKind::Malformed, message));
        }
        for column in group.columns() {
            chunk_range(column, size)?;
        }
    }
    Ok(())
}

/// Runs a decoder over bytes that may be hostile.
fn guarded<T>(decode: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(result) => result.map_err(|error| {
            let kind = match &error {
                parquet::errors::ParquetError::NYI(_) => ErrorKind::Unsupported,
                _ => ErrorKind::Malformed,
            };
            Error::new(kind, format!("the footer cannot be read: {error}"))
        }),
        Err(_) => Err(Error::new(ErrorKind::Decoder, "the footer made its decoder give up")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_checked_before_they_are_used() {
        let end = |length: u32, magic: &[u8; 4]| {
            let [a, b, c, d] = length.to_le_bytes();
            [a, b, c, d, magic[0], magic[1], magic[2], magic[3]]
        };
        assert_eq!(metadata_range(end(100, b"PAR1"), 1000, 500).ok(), Some(892..992));
        let kind = |end, size| metadata_range(end, size, 500).expect_err("an error").kind();
        assert_eq!(kind(end(100, b"PARX"), 1000), ErrorKind::NotParquet);
        assert_eq!(kind(end(100, b"PARE"), 1000), ErrorKind::Unsupported);
        assert_eq!(kind(end(989, b"PAR1"), 1000), ErrorKind::Malformed);
        assert_eq!(kind(end(u32::MAX, b"PAR1"), 1000), ErrorKind::Malformed);
        assert_eq!(kind(end(501, b"PAR1"), 1000), ErrorKind::Unsupported);
        assert_eq!(kind(end(0, b"PAR1"), 8), ErrorKind::NotParquet);
    }
}
