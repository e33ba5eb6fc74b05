//! The report as one page of HTML that refers to nothing outside itself.

use super::item::Item;
use std::fmt::Write;

const STYLE: &str = "body{font:15px/1.5 sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;color:#111}\
pre{background:#f3f3f3;padding:.4rem .6rem;overflow-x:auto;font-size:13px}\
.claim{margin:.8rem 0 .2rem}.claim b{padding:0 .4rem;border-radius:.2rem;background:#eee}\
.holds b{background:#cfe8d5}.fails b{background:#f4cccc}.detail{margin:0 0 0 1rem;font-size:13px;color:#444}\
img{max-width:100%}";

/// The page.
pub(super) fn page(title: &str, items: &[Item]) -> String {
    let title = escaped(title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; img-src data:\">\n\
         <title>{title}</title><style>{STYLE}</style></head><body>\n"
    );
    for item in items {
        out += &match item {
            Item::Heading(level, text) => format!("<h{level}>{}</h{level}>\n", escaped(text)),
            Item::Text(text) => format!("<p>{}</p>\n", escaped(text)),
            Item::Command(text) => format!("<pre>{}</pre>\n", escaped(text)),
            Item::Detail(text) => format!("<p class=\"detail\">{}</p>\n", escaped(text)),
            Item::Claim { text, here } => {
                let class = match here.as_str() {
                    "holds" => " holds",
                    "does not hold" => " fails",
                    _ => "",
                };
                let (here, text) = (escaped(here), escaped(text));
                format!("<p class=\"claim{class}\"><b>{here}</b> {text}</p>\n")
            }
            Item::Figure { picture, about, .. } => {
                // As an image of its own: the names of clips would clash within one document.
                let svg = percent(&picture.svg(about));
                let about = escaped(about);
                format!("<p><img alt=\"{about}\" src=\"data:image/svg+xml,{svg}\"></p>\n")
            }
        };
    }
    out + "</body></html>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Encodes a text for an address.
fn percent(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~/=:;, ()".contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02x}").expect("a string can grow");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_not_taken_for_markup() {
        let items = [Item::Text("<b> & \"c\"".to_owned())];
        let page = page("<i>", &items);
        assert!(page.contains("<title>&lt;i&gt;</title>"), "{page}");
        assert!(page.contains("<p>&lt;b&gt; &amp; &quot;c&quot;</p>"), "{page}");
        assert_eq!(percent("<a b=\"#1\">"), "%3ca b=%22%231%22%3e");
    }
}
