//! Property queries, as far as an edit must understand them (property(7)).

/// A clause of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clause {
    /// `?`: preferred, not required.
    pub optional: bool,
    /// The name, in lower case.
    pub name: String,
    /// `name=value` is true, `name!=value` is false; `-name` stands for `name!=yes` and `name` for `name=yes`.
    pub equal: bool,
    /// The value, without quotes.
    pub value: String,
}

/// The clauses of a query; `None` where it is not one that is understood here.
pub(super) fn parse(query: &[u8]) -> Option<Vec<Clause>> {
    let text = std::str::from_utf8(query).ok()?.trim();
    if text.is_empty() {
        return Some(Vec::new());
    }
    split(text)?.into_iter().map(clause).collect()
}

/// Splits at commas outside quotes.
fn split(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut quote) = (Vec::new(), 0, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, ',') => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    quote.is_none().then_some(parts)
}

fn clause(text: &str) -> Option<Clause> {
    let text = text.trim();
    let (optional, text) = text.strip_prefix('?').map_or((false, text), |rest| (true, rest.trim_start()));
    if let Some(name) = text.strip_prefix('-') {
        let name = name_of(name)?;
        return Some(Clause { optional, name, equal: false, value: "yes".to_owned() });
    }
    let (name, equal, value) = match text.split_once('=') {
        None => (text, true, "yes"),
        Some((name, value)) => match name.strip_suffix('!') {
            Some(name) => (name, false, value),
            None => (name, true, value),
        },
    };
    let value = value.trim();
    let value = value.trim_matches(['\'', '"']).to_owned();
    Some(Clause { optional, name: name_of(name)?, equal, value })
}

fn name_of(text: &str) -> Option<String> {
    let text = text.trim();
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    (!text.is_empty() && text.chars().all(good)).then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses() {
        let shown = |q: &str| {
            parse(q.as_bytes()).map(|clauses| {
                let show = |c: &Clause| {
                    let sign = if c.equal { "=" } else { "!=" };
                    format!("{}{}{sign}{}", if c.optional { "?" } else { "" }, c.name, c.value)
                };
                clauses.iter().map(show).collect::<Vec<_>>().join(" ")
            })
        };
        assert_eq!(shown("?provider=adjunct").unwrap(), "?provider=adjunct");
        assert_eq!(shown(" fips = yes , ?Provider='x,y',-z ,w").unwrap(), "fips=yes ?provider=x,y z!=yes w=yes");
        assert_eq!(shown("provider!=adjunct").unwrap(), "provider!=adjunct");
        assert_eq!(shown("").unwrap(), "");
        for odd in ["=x", "a b=c", "'open", ",", "?", "-", "\u{e9}=1"] {
            assert_eq!(shown(odd), None, "{odd}");
        }
    }
}
