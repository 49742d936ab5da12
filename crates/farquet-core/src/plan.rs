//! Which bytes of a row group a decoder will want. A pure function of the footer; it asks for nothing.

use std::ops::Range;

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::RowSelection;
use parquet::file::metadata::ParquetMetaData;

use crate::error::Result;
use crate::footer::chunk_range;

/// The ranges of the leaf columns in `columns` of one row group of a file of `size` bytes.
///
/// With a selection and an offset index only the pages that hold selected rows, and their dictionary pages; else whole
/// column chunks. Fails if a chunk lies outside of the file.
pub fn row_group_ranges(
    metadata: &ParquetMetaData,
    row_group: usize,
    columns: &ProjectionMask,
    selection: Option<&RowSelection>,
    size: u64,
) -> Result<Vec<Range<u64>>> {
    let group = metadata.row_group(row_group);
    let pages = selection.zip(metadata.offset_index().and_then(|index| index.get(row_group)));
    let mut ranges = Vec::new();
    for (leaf, chunk) in group.columns().iter().enumerate().filter(|(leaf, _)| columns.leaf_included(*leaf)) {
        let whole = chunk_range(chunk, size)?;
        let located = pages.and_then(|(selection, index)| Some((selection, &index.get(leaf)?.page_locations)));
        match located {
            Some((selection, locations)) if !locations.is_empty() => {
                let first = locations.first().and_then(|page| u64::try_from(page.offset).ok()).unwrap_or(whole.start);
                if first > whole.start {
                    ranges.push(whole.start..first);
                }
                ranges.extend(selection.scan_ranges(locations));
            }
            _ => ranges.push(whole),
        }
    }
    Ok(ranges)
}
