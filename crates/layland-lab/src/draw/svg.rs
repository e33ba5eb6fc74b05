//! A scene as SVG.

use super::{Anchor, Colour, Scene, Shape};
use std::fmt::Write;

impl Scene {
    /// The picture; `about` is its description.
    pub fn svg(&self, about: &str) -> String {
        let (width, height) = (number(self.width), number(self.height));
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}pt\" height=\"{height}pt\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"Helvetica, Arial, 'Liberation Sans', \
             sans-serif\">\n<desc>{}</desc>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
            escaped(about)
        );
        let mut clips = 0;
        let mut open = false;
        for shape in &self.shapes {
            // Writing to a string never fails.
            let _ = match shape {
                Shape::Line { points, colour, width, dash } => {
                    let dash = match dash {
                        [] => String::new(),
                        dash => {
                            let dash: Vec<String> = dash.iter().map(|&n| number(n)).collect();
                            format!(" stroke-dasharray=\"{}\"", dash.join(" "))
                        }
                    };
                    writeln!(
                        out,
                        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" \
                         stroke-linejoin=\"round\"{dash}/>",
                        coordinates(points),
                        hex(*colour),
                        number(*width)
                    )
                }
                Shape::Polygon { points, colour } => writeln!(
                    out,
                    "<polygon points=\"{}\" fill=\"{}\"/>",
                    coordinates(points),
                    hex(*colour)
                ),
                Shape::Circle { at: (x, y), radius, colour } => writeln!(
                    out,
                    "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>",
                    number(*x),
                    number(*y),
                    number(*radius),
                    hex(*colour)
                ),
                Shape::Text { at: (x, y), text, size, anchor, upwards, colour } => {
                    let (x, y) = (number(*x), number(*y));
                    let anchor = match anchor {
                        Anchor::Start => "start",
                        Anchor::Middle => "middle",
                        Anchor::End => "end",
                    };
                    let turned = match upwards {
                        true => format!(" transform=\"rotate(-90 {x} {y})\""),
                        false => String::new(),
                    };
                    writeln!(
                        out,
                        "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" text-anchor=\"{anchor}\" \
                         fill=\"{}\"{turned}>{}</text>",
                        number(*size),
                        hex(*colour),
                        escaped(text)
                    )
                }
                Shape::Clip { at } => {
                    if open {
                        out += "</g>\n";
                    }
                    open = at.is_some();
                    at.map_or(Ok(()), |[x, y, w, h]| {
                        clips += 1;
                        writeln!(
                            out,
                            "<clipPath id=\"c{clips}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" \
                             height=\"{}\"/></clipPath>\n<g clip-path=\"url(#c{clips})\">",
                            number(x),
                            number(y),
                            number(w),
                            number(h)
                        )
                    })
                }
            };
        }
        out + "</svg>\n"
    }
}

/// With at most two decimals.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn coordinates(points: &[(f64, f64)]) -> String {
    let each: Vec<String> =
        points.iter().map(|&(x, y)| format!("{},{}", number(x), number(y))).collect();
    each.join(" ")
}

fn hex([red, green, blue]: Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
