//! The frame of the pages that reports are: one self-contained file that loads nothing from elsewhere and runs no script.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("page.css");
/// Content security policy: nothing may be loaded, whatever stands in the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// A page with `title` and the CPU that it is about; `style` is added to the common style, and `main` is its contents.
pub fn page(title: &str, cpu: &str, style: &str, main: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                link rel="icon" href="data:,";
                title { (title) " – " (cpu) }
                style { (PreEscaped(STYLE)) (PreEscaped(style)) }
            }
            body { main { (main) } }
        }
    };
    page.into_string()
}
