//! Objects and their tags.

use bytes::Bytes;

use super::fields::{Fields, header_value};
use crate::origin::{EntryTags, Origin, Tag};

pub(super) fn put(origin: &Origin, mut query: Fields, body: Bytes) -> Result<(), String> {
    let path = query.needed_text("path")?;
    if query.is_empty() {
        origin.put(&path, body);
    } else {
        origin.put_with(&path, body, tags(query)?);
    }
    Ok(())
}

fn tags(mut query: Fields) -> Result<EntryTags, String> {
    let mut tags = EntryTags::default();
    if let Some(etag) = query.text("etag")? {
        tags.etag = Tag::Custom(header_value(etag)?);
    }
    if query.switch("weak_etag")? {
        tags.etag = Tag::Weak;
    }
    if query.switch("no_etag")? {
        tags.etag = Tag::None;
    }
    if let Some(date) = query.text("last_modified")? {
        tags.last_modified = Some(httpdate::parse_http_date(&date).map_err(|error| format!("{date:?}: {error}"))?);
    }
    if query.switch("no_last_modified")? {
        tags.last_modified = None;
    }
    tags.cache_control = query.text("cache_control")?.map(header_value).transpose()?;
    query.end()?;
    Ok(tags)
}
