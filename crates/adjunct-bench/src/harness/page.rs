//! What the pages of reports share, within the frame that all pages have ([`adjunct_tool::page`]).

use maud::{Markup, html};

/// The opening of a chart of this class (`narrow` for phones, `wide` for wider pages), with a title for screen readers.
pub fn svg_open(class: &str, width: f64, height: f64, title: &str) -> String {
    let title = html! { (title) }.into_string();
    format!(
        "<svg class=\"chart {class}\" viewBox=\"0 0 {width} {height:.0}\" role=\"img\" aria-label=\"{title}\">\
         <title>{title}</title>"
    )
}

/// What is to be known of machine and method: names, and what each is.
pub fn facts(facts: impl IntoIterator<Item = (impl AsRef<str>, String)>) -> Markup {
    html! { dl { @for (name, value) in facts { dt { (name.as_ref()) } dd { (value) } } } }
}

/// A line that begins with a capital letter.
pub fn capital(line: &str) -> String {
    let mut letters = line.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_escaped() {
        let svg = svg_open("wide", 880.0, 100.4, "a <b>");
        assert!(svg.contains("viewBox=\"0 0 880 100\"") && svg.contains("a &lt;b&gt;") && !svg.contains("<b>"));
        assert_eq!(facts([("x", "<y>".to_owned())]).into_string(), "<dl><dt>x</dt><dd>&lt;y&gt;</dd></dl>");
        assert_eq!((capital("straße"), capital("")), ("Straße".to_owned(), String::new()));
    }
}
