//! What the parquet and arrow crates use of `zstd`, without the encoder.

use std::ops::RangeInclusive;

pub use zstd_safe;

/// The levels of the encoder, were there one.
pub fn compression_level_range() -> RangeInclusive<i32> {
    1..=22
}

/// Whole blocks at once.
pub mod bulk {
    use std::fmt;
    use std::io::{Error, ErrorKind, Result};
    use std::marker::PhantomData;

    use zstd_safe::{DCtx, WriteBuf, get_error_name};

    /// Refuses to compress.
    #[derive(Debug)]
    pub struct Compressor<'a>(PhantomData<&'a ()>);

    impl Compressor<'static> {
        /// A compressor whose methods fail.
        pub fn new(_level: i32) -> Result<Self> {
            Ok(Self(PhantomData))
        }
    }

    impl Compressor<'_> {
        /// Fails.
        pub fn compress(&mut self, _source: &[u8]) -> Result<Vec<u8>> {
            Err(refused())
        }

        /// Fails.
        pub fn compress_to_buffer<C: WriteBuf + ?Sized>(
            &mut self,
            _source: &[u8],
            _destination: &mut C,
        ) -> Result<usize> {
            Err(refused())
        }
    }

    fn refused() -> Error {
        Error::new(ErrorKind::Unsupported, "zstd is only decoded here")
    }

    /// Decodes one block after another in one context.
    pub struct Decompressor<'a>(DCtx<'a>);

    impl fmt::Debug for Decompressor<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Decompressor")
        }
    }

    impl Decompressor<'static> {
        /// A decompressor without a dictionary.
        pub fn new() -> Result<Self> {
            Ok(Self(DCtx::default()))
        }
    }

    impl Decompressor<'_> {
        /// Decodes `source` into the room of `destination`, which it must fit; returns the bytes written.
        pub fn decompress_to_buffer<C: WriteBuf + ?Sized>(
            &mut self,
            source: &[u8],
            destination: &mut C,
        ) -> Result<usize> {
            self.0.decompress(destination, source).map_err(|code| Error::other(get_error_name(code)))
        }

        /// Decodes `source`, of which at most `capacity` bytes come.
        pub fn decompress(&mut self, source: &[u8], capacity: usize) -> Result<Vec<u8>> {
            let mut decoded = Vec::with_capacity(capacity);
            self.decompress_to_buffer(source, &mut decoded)?;
            Ok(decoded)
        }
    }
}
