//! What is said beside the data, on standard error.

use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use farquet_core::redact::redact_text;

/// Whether to use colors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless the environment has `NO_COLOR`.
    #[default]
    Auto,
    /// Even into files.
    Always,
    /// Nowhere.
    Never,
}

/// Standard error. What goes through it has no query string of any URL in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Console {
    colored: bool,
    quiet: bool,
}

impl Console {
    /// Colors as they are wanted, remarks unless `quiet`.
    pub(crate) fn new(color: Color, quiet: bool) -> Self {
        Self { colored: is_colored(color, io::stderr().is_terminal()), quiet }
    }

    /// Whether there are somebody's eyes to tell progress to.
    pub(crate) fn shows_progress(self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// A line that was asked for.
    #[expect(clippy::unused_self, reason = "whoever writes a line has the console")]
    pub(crate) fn line(self, text: &str) {
        write_line(&redact_text(text));
    }

    /// A line that nobody asked for.
    pub(crate) fn remark(self, text: &str) {
        if !self.quiet {
            self.line(text);
        }
    }

    /// A line that begins with a colored word.
    pub(crate) fn labelled(self, label: Label, text: &str) {
        let text = redact_text(text);
        write_line(&match (label, self.colored) {
            (Label::Error, true) => format!("\x1b[1;31merror:\x1b[0m {text}"),
            (Label::Error, false) => format!("error: {text}"),
            (Label::Cause, true) => format!("  \x1b[2mcaused by:\x1b[0m {text}"),
            (Label::Cause, false) => format!("  caused by: {text}"),
            (Label::Hint, true) => format!("\x1b[1;36mhint:\x1b[0m {text}"),
            (Label::Hint, false) => format!("hint: {text}"),
        });
    }
}

/// The word that a line begins with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Label {
    Error,
    Cause,
    Hint,
}

/// Whether a stream is to be colored.
fn is_colored(color: Color, is_terminal: bool) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}

fn write_line(text: &str) {
    // Where standard error is closed, nobody wants to know.
    let _ = writeln!(io::stderr().lock(), "{text}");
}
