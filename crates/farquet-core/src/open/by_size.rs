//! The end of a file where a suffix range is not to be had: the size first.
//!
//! In a browser a suffix costs a preflight, and `Content-Range` may be hidden. Small files are then asked for whole, past which
//! the length in the head is the answer. Which request wastes least depends on what the first files of a data set and the first
//! answers of an origin have shown.

use crate::error::{Error, ErrorKind, Result};
use crate::exchange::{Answer, Ask, exchange};
use crate::range::RangeSpec;
use crate::stats::Cause;

use super::{End, Opener, end};

impl Opener<'_> {
    /// The end of a file of which nothing is known.
    pub(super) async fn unknown(&self, hop: u32) -> Result<End> {
        if self.query.client.capabilities.http_cache { self.size_first(hop).await } else { self.beginning(hop).await }
    }

    async fn size_first(&self, hop: u32) -> Result<End> {
        let client = &self.query.client;
        let (origin, bound) = (client.origin(self.url), client.settings.small_file);
        // For its turn: by then the first files may have taught what the others are like.
        drop(origin.limiter.acquire().await);
        let may_be_small = self.how.may_come_whole(&client.settings, 0);
        let answer = match client.hints.small(self.url, bound).filter(|_| may_be_small) {
            Some(true) => self.whole_or_size(hop).await?,
            None if may_be_small && !origin.shows_ranges() => self.whole_or_size(hop).await?,
            None if may_be_small => self.ask(RangeSpec::Bounded(0..bound + 1), Cause::Body, hop).await?,
            _ if origin.shows_ranges() => self.ask(RangeSpec::Bounded(0..1), Cause::Footer, hop).await?,
            _ => return self.size_by_head(hop).await,
        };
        match answer {
            Answer::Bytes(got) => match end(got, None) {
                Ok(end) => Ok(end),
                Err(got) => match got.total {
                    Some(total) => self.bounded(total, got.hop + 1).await,
                    None => self.size_by_head(got.hop + 1).await,
                },
            },
            Answer::WholeTooLarge { total, hop, .. } => match total {
                Some(total) => self.bounded(total, hop + 1).await,
                // It was coded on the way, so that its length was not told.
                None => self.size_by_head(hop + 1).await,
            },
            other => self.refused(other, 0),
        }
    }

    /// By HEAD, where the origin allows it, and else by a whole body that is cut after its head.
    pub(super) async fn size_by_head(&self, hop: u32) -> Result<End> {
        let mut hop = hop;
        let ask = Ask { head_only: true, ..self.ask_for(None, Cause::Footer, hop) };
        match exchange(self.query, ask).await {
            Ok(Answer::WholeTooLarge { total: Some(total), hop, .. }) => return self.bounded(total, hop + 1).await,
            Ok(Answer::HeadRefused) => {}
            // What is true of the file is no refusal of HEAD; a limit of the caller's is none either.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Budget) => return Err(error),
            _ => {
                self.query.client.origin(self.url).refuse_head();
                hop += 1;
            }
        }
        match self.whole_or_size(hop).await? {
            Answer::Bytes(got) => end(got, None).map_err(|_| self.sizeless()),
            Answer::WholeTooLarge { total: Some(total), hop, .. } => self.bounded(total, hop + 1).await,
            Answer::WholeTooLarge { total: None, .. } => Err(self.sizeless()),
            other => self.refused(other, 0),
        }
    }

    /// The whole file if it is small, and else its size.
    async fn whole_or_size(&self, hop: u32) -> Result<Answer> {
        let answer = exchange(self.query, self.ask_for(None, Cause::Body, hop)).await?;
        if let Answer::WholeTooLarge { total: Some(total), .. } = &answer {
            self.query.client.hints.saw(self.url, *total);
        }
        Ok(answer)
    }

    fn sizeless(&self) -> Error {
        let message = "the server tells the file's size neither for HEAD nor for the whole file";
        Error::new(ErrorKind::BadResponse, message)
            .at(&self.shown)
            .hint("with Access-Control-Expose-Headers: Content-Range, ETag it can be read from any answer")
    }
}
