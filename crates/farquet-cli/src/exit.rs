//! Failures: how they are told, and with which exit code the process ends.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt::Display;
use std::process::ExitCode;

use farquet_core::{Error, ErrorKind};

use crate::args;
use crate::console::{Console, Label};

/// Why a run ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The query, its data, or the way to it.
    Query(Error),
    /// The command line.
    Usage { message: String, hint: Option<String> },
    /// There is nothing to do. The help says what there could be.
    Help,
    /// What became of the rows.
    Output { message: String, source: Box<dyn StdError + Send + Sync> },
    /// Whoever read the output has gone. No failure, but an end.
    Closed,
    /// A signal, with the exit code that it stands for.
    Interrupted(u8),
    /// A mistake in farquet.
    Panic(String),
}

impl Failure {
    /// The command line is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), hint: None }
    }

    /// The rows could not be written.
    pub(crate) fn output(message: impl Into<String>, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Output { message: message.into(), source: source.into() }
    }

    /// What a task's panic said.
    pub(crate) fn panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        Self::Panic(text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no reason given").to_owned())
    }

    /// Says what the user can do about a usage error.
    pub(crate) fn hint(self, text: impl Into<String>) -> Self {
        match self {
            Self::Usage { message, .. } => Self::Usage { message, hint: Some(text.into()) },
            other => other,
        }
    }

    fn code(&self) -> u8 {
        match self {
            Self::Query(error) => code_of(error.kind()),
            Self::Output { .. } | Self::Panic(_) => 1,
            Self::Usage { .. } | Self::Help => 2,
            Self::Closed => 0,
            Self::Interrupted(code) => *code,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Query(error)
    }
}

fn code_of(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::Network
        | ErrorKind::NotFound
        | ErrorKind::Access
        | ErrorKind::RateLimited
        | ErrorKind::Status
        | ErrorKind::BadResponse
        | ErrorKind::RangeIgnored => 3,
        ErrorKind::Budget => 4,
        ErrorKind::SourceChanged => 5,
        // The SQL, the data, and whatever else comes to be told apart.
        _ => 1,
    }
}

/// Tells a failure and makes the exit code.
pub(crate) fn tell(outcome: Result<(), Failure>, console: Console) -> ExitCode {
    let Err(failure) = outcome else { return ExitCode::SUCCESS };
    match &failure {
        Failure::Query(error) => tell_error(console, error, error.source(), error.hint_text()),
        Failure::Usage { message, hint } => tell_error(console, message, None, hint.as_deref()),
        Failure::Output { message, source } => tell_error(console, message, Some(source.as_ref()), None),
        Failure::Panic(message) => {
            let hint = "this is a mistake in farquet; RUST_BACKTRACE=1 shows where";
            tell_error(console, &format_args!("internal error: {message}"), None, Some(hint));
        }
        Failure::Help => console.line(args::help().trim_end()),
        Failure::Interrupted(_) => console.remark("interrupted"),
        Failure::Closed => {}
    }
    ExitCode::from(failure.code())
}

fn tell_error(console: Console, error: &dyn Display, mut cause: Option<&(dyn StdError + 'static)>, hint: Option<&str>) {
    let mut said = one_line(error);
    console.labelled(Label::Error, &said);
    while let Some(at) = cause {
        let text = one_line(at);
        // Many errors repeat what caused them.
        if !text.is_empty() && !said.contains(&text) {
            console.labelled(Label::Cause, &text);
            said.push_str(&text);
        }
        cause = at.source();
    }
    if let Some(hint) = hint {
        console.labelled(Label::Hint, &one_line(&hint));
    }
}

fn one_line(text: &dyn Display) -> String {
    text.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A panic of a decoder becomes its query's error; what the hook would print beside it helps only who asks for it.
pub(crate) fn quiet_panics() {
    if std::env::var_os("RUST_BACKTRACE").is_none_or(|value| value == "0") {
        std::panic::set_hook(Box::new(|_| {}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_code() {
        for (kind, code) in [
            (ErrorKind::Query, 1),
            (ErrorKind::NotParquet, 1),
            (ErrorKind::Decoder, 1),
            (ErrorKind::Location, 1),
            (ErrorKind::Network, 3),
            (ErrorKind::Access, 3),
            (ErrorKind::RateLimited, 3),
            (ErrorKind::RangeIgnored, 3),
            (ErrorKind::Budget, 4),
            (ErrorKind::SourceChanged, 5),
        ] {
            assert_eq!(Failure::from(Error::new(kind, "x")).code(), code, "{kind:?}");
        }
        assert_eq!(Failure::usage("x").code(), 2);
        assert_eq!(Failure::Closed.code(), 0);
    }
}
