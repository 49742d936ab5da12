//! Faults folded into one plan for an answer.

use std::time::Duration;

use bytes::Bytes;

use super::Fault;

/// What is answered.
#[derive(Debug, Default)]
pub(crate) enum Answer {
    /// The object, or what the preconditions say.
    #[default]
    Object,
    /// Something else, as it was given.
    Status { code: u16, headers: Vec<(String, String)>, body: Bytes },
    /// A redirect.
    Redirect { code: u16, location: String },
    /// 304 with the object's validators.
    NotModified,
    /// Nothing, and the connection stays open.
    Hang,
    /// Nothing, and the connection breaks.
    Abort,
}

/// How a range is treated.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RangeMode {
    #[default]
    Honour,
    Ignore,
    FullWithContentRange,
    Other,
}

/// Which content coding is told.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    #[default]
    None,
    Gzip,
    GzipLabel,
}

/// How long the body is, compared with what its head says.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    #[default]
    Right,
    /// It ends cleanly after so many bytes.
    Short(u64),
    /// So many zeros follow.
    Long(u64),
}

/// How a body is broken off, after how many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    Reset(u64),
    Close(u64),
    Stall(u64),
}

/// One answer's deviations.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) delay: Duration,
    pub(crate) gather: usize,
    pub(crate) answer: Answer,
    pub(crate) range: RangeMode,
    pub(crate) total_unknown: bool,
    pub(crate) coding: Coding,
    pub(crate) length: Length,
    pub(crate) chunked: bool,
    pub(crate) cut: Option<Cut>,
    pub(crate) headers: Vec<(String, Option<String>)>,
    pub(crate) replace_before: Vec<(String, Bytes)>,
    pub(crate) replace_after: Vec<(String, Bytes)>,
}

impl Plan {
    pub(crate) fn of(fault: Option<Fault>) -> Self {
        let mut plan = Self::default();
        if let Some(fault) = fault {
            plan.apply(fault);
        }
        plan
    }

    fn apply(&mut self, fault: Fault) {
        match fault {
            Fault::Status { code, headers, body } => self.answer = Answer::Status { code, headers, body },
            Fault::IgnoreRange => self.range = RangeMode::Ignore,
            Fault::FullWithContentRange => self.range = RangeMode::FullWithContentRange,
            Fault::OtherRange => self.range = RangeMode::Other,
            Fault::TotalUnknown => self.total_unknown = true,
            Fault::ShortBody(bytes) => self.length = Length::Short(bytes),
            Fault::CloseAfter(bytes) => self.cut = Some(Cut::Close(bytes)),
            Fault::LongBody(bytes) => self.length = Length::Long(bytes),
            Fault::Gzip => self.coding = Coding::Gzip,
            Fault::GzipLabel => self.coding = Coding::GzipLabel,
            Fault::Chunked => self.chunked = true,
            Fault::ResetAfter(bytes) => self.cut = Some(Cut::Reset(bytes)),
            Fault::Abort => self.answer = Answer::Abort,
            Fault::Delay(wait) => self.delay += wait,
            Fault::Gather(requests) => self.gather = requests,
            Fault::Hang => self.answer = Answer::Hang,
            Fault::Stall(bytes) => self.cut = Some(Cut::Stall(bytes)),
            Fault::Redirect { code, location } => self.answer = Answer::Redirect { code, location },
            Fault::Headers(headers) => self.headers.extend(headers),
            Fault::Replace { path, bytes } => self.replace_before.push((path, bytes)),
            Fault::ReplaceAfter { path, bytes } => self.replace_after.push((path, bytes)),
            Fault::NotModified => self.answer = Answer::NotModified,
            Fault::Then(all) => all.into_iter().for_each(|one| self.apply(one)),
        }
    }
}
