//! Numbers as C's scanf(3) and strtol(3) read them. They determine which part of a device's name IBM's tools look at, and which they ignore.

/// The rest of a text that is being scanned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scan<'a>(&'a [u8]);

impl<'a> Scan<'a> {
    /// The whole text.
    pub(super) fn of(text: &'a [u8]) -> Scan<'a> {
        Scan(text)
    }

    /// The text behind this character, where it is next.
    pub(super) fn literal(self, character: u8) -> Option<Scan<'a>> {
        self.0.strip_prefix(&[character]).map(Scan)
    }

    /// `%x`, with a width as in `%02x`: as C's conversion to a number of 32 bits with a sign does it, by cutting off.
    pub(super) fn hex(self, width: usize) -> Option<(i32, Scan<'a>)> {
        let (value, rest) = self.number(16, width)?;
        let size = u64::try_from(value.unsigned_abs()).unwrap_or(u64::MAX);
        // strtoul(3) turns a negative number around, and knows one answer for all that are too large.
        let whole = if value < 0 && size < u64::MAX { size.wrapping_neg() } else { size };
        Some((whole as i32, rest))
    }

    /// `%ld`.
    pub(super) fn decimal(self) -> Option<i64> {
        self.number(10, usize::MAX).map(|(value, _)| long(value))
    }

    /// `%li`: decimal, octal behind 0, hexadecimal behind 0x.
    pub(super) fn any_base(self) -> Option<i64> {
        self.number(0, usize::MAX).map(|(value, _)| long(value))
    }

    /// The number that strtol(3) with base 0 reads from the text; `None` where it does not read all of it.
    pub(super) fn whole(self) -> Option<i64> {
        let (value, rest) = self.number(0, usize::MAX)?;
        rest.0.is_empty().then_some(long(value))
    }

    fn number(self, base: u32, width: usize) -> Option<(i128, Scan<'a>)> {
        let text = self.0.trim_ascii_start();
        let field = &text[..text.len().min(width)];
        let sign = usize::from(matches!(field.first(), Some(b'+' | b'-')));
        let digits = &field[sign..];
        let prefixed = digits.len() > 1 && digits[0] == b'0' && digits[1].eq_ignore_ascii_case(&b'x');
        let (base, skipped) = match base {
            16 if prefixed => (16, 2),
            0 if prefixed => (16, 2),
            0 if digits.first() == Some(&b'0') => (8, 0),
            0 => (10, 0),
            base => (base, 0),
        };
        let end = digits[skipped..].iter().take_while(|&&digit| char::from(digit).is_digit(base)).count();
        // A prefix alone is no number (glibc before 2.43 took it for 0).
        if end == 0 {
            return None;
        }
        let value = digits[skipped..][..end].iter().fold(0i128, |value, &digit| {
            let digit = char::from(digit).to_digit(base).unwrap_or_default();
            value.saturating_mul(base.into()).saturating_add(digit.into())
        });
        let value = if field.first() == Some(&b'-') { -value } else { value };
        Some((value, Scan(&text[sign + skipped + end..])))
    }
}

fn long(value: i128) -> i64 {
    value.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// `%x.%x`: what could be read of the two.
pub(super) fn card_and_domain(text: &[u8]) -> (Option<i32>, Option<i32>) {
    pair(text, usize::MAX, usize::MAX)
}

/// `%02x.%04x`.
pub(super) fn queue(text: &[u8]) -> Option<(i32, i32)> {
    match pair(text, 2, 4) {
        (Some(card), Some(domain)) => Some((card, domain)),
        _ => None,
    }
}

fn pair(text: &[u8], first: usize, second: usize) -> (Option<i32>, Option<i32>) {
    let Some((card, rest)) = Scan::of(text).hex(first) else { return (None, None) };
    (Some(card), rest.literal(b'.').and_then(|rest| rest.hex(second)).map(|(domain, _)| domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_c_reads_them() {
        let hex = |text: &str| Scan::of(text.as_bytes()).hex(usize::MAX).map(|(value, rest)| (value, rest.0.len()));
        assert_eq!(hex("2f.0"), Some((0x2f, 2)));
        assert_eq!(hex(" 0x2g"), Some((2, 1)));
        assert_eq!(hex("0xg"), None);
        assert_eq!((hex("g"), hex(""), hex("-"), hex("."), hex("-1")), (None, None, None, None, Some((-1, 0))));
        assert_eq!(hex("ffffffffffffffffffff"), Some((-1, 0)));
        assert_eq!(hex("-ffffffffffffffffffffffffffffffffffffffffffffffffffff"), Some((-1, 0)));
        assert_eq!(Scan::of(b"123").hex(2).map(|(value, _)| value), Some(0x12));
        assert_eq!(Scan::of(b"0x1").hex(2).map(|(value, _)| value), None);
        let any = |text: &str| Scan::of(text.as_bytes()).any_base();
        assert_eq!(
            (any("47x"), any("0x2f"), any("010"), any("08"), any("x")),
            (Some(47), Some(47), Some(8), Some(0), None)
        );
        let whole = |text: &str| Scan::of(text.as_bytes()).whole();
        assert_eq!(
            (whole("9"), whole("0x9"), whole("09"), whole("9 "), whole("0x")),
            (Some(9), Some(9), None, None, None)
        );
        assert_eq!(Scan::of(b"99999999999999999999").decimal(), Some(i64::MAX));
        assert_eq!(Scan::of(b"-5 ").decimal(), Some(-5));
        assert_eq!(card_and_domain(b"02.0005"), (Some(2), Some(5)));
        assert_eq!(card_and_domain(b"card01"), (Some(0xca), None));
        assert_eq!(card_and_domain(b".5"), (None, None));
        assert_eq!((queue(b"012.1"), queue(b"02.12345")), (None, Some((2, 0x1234))));
    }
}
