//! The report as a page of Markdown, with its pictures in a folder beside it.

use super::item::Item;
use std::fmt::Write;

/// The length of a line.
const WIDTH: usize = 120;

/// The page, and its pictures: their names and contents. The page expects them in the folder `name`.
pub(super) fn page(name: &str, items: &[Item]) -> (String, Vec<(String, String)>) {
    let (mut out, mut pictures) = (String::new(), Vec::new());
    let mut in_list = false;
    for item in items {
        let is_detail = matches!(item, Item::Detail(_));
        if !(out.is_empty() || in_list && is_detail) {
            out.push('\n');
        }
        in_list = is_detail;
        match item {
            Item::Heading(level, text) => {
                writeln!(out, "{} {}", "#".repeat(usize::from(*level)), escaped(text))
            }
            Item::Text(text) => writeln!(out, "{}", wrapped(&escaped(text), "")),
            Item::Command(text) => writeln!(out, "```sh\n{text}\n```"),
            Item::Detail(text) => writeln!(out, "- {}", wrapped(&escaped(text), "  ")),
            Item::Claim { text, here } => {
                writeln!(out, "{}", wrapped(&format!("**{here}** {}", escaped(text)), ""))
            }
            Item::Figure { name: figure, picture, about } => {
                let file = format!("{figure}.svg");
                let line = writeln!(out, "![{}]({name}/{file})", escaped(about));
                pictures.push((file, picture.svg(about)));
                line
            }
        }
        .expect("a string can grow");
    }
    (out, pictures)
}

/// Protects what is markup, outside of code.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    let mut in_code = false;
    for character in text.chars() {
        in_code ^= character == '`';
        match character {
            '&' if !in_code => out.push_str("&amp;"),
            '<' if !in_code => out.push_str("&lt;"),
            '*' | '_' | '[' | ']' | '\\' if !in_code => out.extend(['\\', character]),
            other => out.push(other),
        }
    }
    out
}

/// Breaks a text into lines; all but the first are indented.
fn wrapped(text: &str, indent: &str) -> String {
    let (mut out, mut length) = (String::new(), indent.len());
    for word in text.split_whitespace() {
        let more = word.chars().count();
        if !out.is_empty() {
            if length + 1 + more > WIDTH {
                out.push('\n');
                out.push_str(indent);
                length = indent.len();
            } else {
                out.push(' ');
                length += 1;
            }
        }
        out.push_str(word);
        length += more;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_chart::plot::Picture;

    #[test]
    fn a_page_names_its_pictures_and_protects_its_markup() {
        let detail = |text: &str| Item::Detail(text.to_owned());
        let picture = Picture { width: 1.0, height: 1.0, shapes: Vec::new() };
        let items = [
            Item::Heading(1, "C_j and `C_j`".to_owned()),
            Item::Figure {
                name: "one".to_owned(),
                picture: Box::new(picture),
                about: "<a>".into(),
            },
            Item::Claim { text: "it is 2*3".to_owned(), here: "holds".to_owned() },
            detail("a"),
            detail(&"word ".repeat(30)),
        ];
        let (page, pictures) = page("paper", &items);
        assert_eq!(pictures.len(), 1);
        assert_eq!(pictures[0].0, "one.svg");
        let text = "# C\\_j and `C_j`\n\n![&lt;a>](paper/one.svg)\n\n**holds** it is 2\\*3\n\n- a\n- word ";
        assert!(page.starts_with(text), "{page}");
        assert!(page.lines().all(|line| line.len() <= WIDTH), "{page}");
        assert!(page.contains("\n  word word"), "{page}");
    }
}
