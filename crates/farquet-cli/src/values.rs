//! The words of the command line: sizes, times, tables, headers.

use std::time::Duration;

/// A name and where its files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    /// A plain name.
    pub(crate) name: String,
    /// A list of patterns.
    pub(crate) location: String,
}

/// `NAME=URL[,URL…]`.
pub(crate) fn table(text: &str) -> Result<Table, String> {
    let Some((name, location)) = text.split_once('=') else {
        return Err("a table is given as NAME=URL".to_owned());
    };
    let starts_well = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if !starts_well || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return Err("the name before '=' must consist of letters, digits and '_'".to_owned());
    }
    if location.trim().is_empty() {
        return Err(format!("the table {name} has no URL"));
    }
    Ok(Table { name: name.to_owned(), location: location.trim().to_owned() })
}

/// A number of bytes, such as `512`, `10MB` or `1.5GiB`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 10] = [
        ("", 1),
        ("b", 1),
        ("kb", 1_000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("tb", 1_000_000_000_000),
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
        ("tib", 1 << 40),
    ];
    let wrong = || "a size is a number with B, kB, MB, GB, TB, KiB, MiB, GiB or TiB".to_owned();
    let text = text.trim();
    let number_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(number_end);
    let unit = unit.trim().to_ascii_lowercase();
    let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let is_number = |digits: &str, most| (1..=most).contains(&digits.len()) && !digits.contains('.');
    if !is_number(whole, 18) || !is_number(part, 9) {
        return Err(wrong());
    }
    let digits = |digits: &str| digits.parse::<u128>().map_err(|_| wrong());
    let scale = (0..part.len()).fold(1, |scale: u128, _| scale * 10);
    let bytes = digits(whole)? * u128::from(*unit) + digits(part)? * u128::from(*unit) / scale;
    u64::try_from(bytes).map_err(|_| "that is more than any file has".to_owned())
}

/// A time in seconds, such as `30` or `0.5`.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.trim().trim_end_matches('s').parse().ok();
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "a time is a number of seconds above 0".to_owned())
}

/// `https://host Name: value`, as origin, name and value. The error does not quote it: the value may be a secret.
pub(crate) fn header(text: &str) -> Result<(&str, &str, &str), String> {
    let parts = text.trim().split_once(char::is_whitespace).and_then(|(origin, header)| {
        let (name, value) = header.split_once(':')?;
        Some((origin, name.trim(), value.trim()))
    });
    parts
        .filter(|(origin, name, _)| origin.contains("://") && !name.is_empty())
        .ok_or_else(|| "a header is given as 'https://host Name: value'".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in
            [("0", 0), ("512", 512), ("10MB", 10_000_000), ("1GiB", 1 << 30), ("1.5 kib", 1536), ("0.25MB", 250_000)]
        {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "MB", "1.MB", ".5MB", "1.2.3", "10M", "-1", "1e6", "99999999999999999TB"] {
            size(wrong).expect_err(wrong);
        }
    }

    #[test]
    fn times() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(seconds("20s"), Ok(Duration::from_secs(20)));
        for wrong in ["0", "-1", "inf", "NaN", "soon", ""] {
            seconds(wrong).expect_err(wrong);
        }
    }

    #[test]
    fn tables() {
        let parsed = table("t=https://h/{a,b}.parquet?sig=x=y").expect("a table");
        assert_eq!((parsed.name.as_str(), parsed.location.as_str()), ("t", "https://h/{a,b}.parquet?sig=x=y"));
        for wrong in ["https://h/x.parquet", "https://h/x.parquet?sig=secret", "=x", "1t=x", "a.b=x", "t=", "t= "] {
            assert!(!table(wrong).expect_err(wrong).contains("secret"), "{wrong}");
        }
    }

    #[test]
    fn headers() {
        assert_eq!(header("https://h:1 X-Key: a: b "), Ok(("https://h:1", "X-Key", "a: b")));
        for wrong in
            ["", "https://h", "https://h secret", "X-Key: secret", "Authorization: Basic x", "https://h : secret"]
        {
            assert!(!header(wrong).expect_err(wrong).contains("secret"), "{wrong}");
        }
    }
}
