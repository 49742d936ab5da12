//! What the parquet crate uses of `brotli`, without the encoder.

use std::io::{Error, ErrorKind, Result, Write};
use std::marker::PhantomData;

pub use brotli_decompressor::Decompressor;

/// Refuses to write.
#[derive(Debug)]
pub struct CompressorWriter<W>(PhantomData<W>);

impl<W> CompressorWriter<W> {
    /// A writer whose writes fail.
    pub fn new(_: W, _buffer_size: usize, _level: u32, _window: u32) -> Self {
        Self(PhantomData)
    }
}

impl<W> Write for CompressorWriter<W> {
    fn write(&mut self, _: &[u8]) -> Result<usize> {
        Err(Error::new(ErrorKind::Unsupported, "brotli is only decoded here"))
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}
