//! Writes a picture as SVG.

use super::{Anchor, Colour, Picture, Shape};
use crate::svg::Svg;

impl Picture {
    /// Returns the picture; `about` is its description.
    pub fn svg(&self, about: &str) -> String {
        let (width, height) = (number(self.width), number(self.height));
        let mut out = Svg::default();
        out.element("svg")
            .attr("xmlns", "http://www.w3.org/2000/svg")
            .attr("width", format_args!("{width}pt"))
            .attr("height", format_args!("{height}pt"))
            .attr("viewBox", format_args!("0 0 {width} {height}"))
            .attr("font-family", "Helvetica, Arial, 'Liberation Sans', sans-serif")
            .open();
        out.element("desc").text(about);
        let background = out.element("rect").attr("width", "100%").attr("height", "100%");
        background.attr("fill", "#fff").empty();
        // Each clip has a number; the clipped shapes are
        // a group that stays open until the next clip.
        let (mut clips, mut is_open) = (0, false);
        for shape in &self.shapes {
            match shape {
                Shape::Line { points, colour, width, dash } => {
                    let line = out.element("polyline").attr("points", coordinates(points));
                    let line = line.attr("fill", "none").attr("stroke", hex(*colour));
                    let line = line.attr("stroke-width", number(*width));
                    let line = line.attr("stroke-linejoin", "round");
                    match dash {
                        [] => line.empty(),
                        dash => {
                            let dash: Vec<String> = dash.iter().map(|&n| number(n)).collect();
                            line.attr("stroke-dasharray", dash.join(" ")).empty();
                        }
                    }
                }
                Shape::Polygon { points, colour } => {
                    let polygon = out.element("polygon").attr("points", coordinates(points));
                    polygon.attr("fill", hex(*colour)).empty();
                }
                Shape::Circle { at: (x, y), radius, colour } => {
                    let circle =
                        out.element("circle").attr("cx", number(*x)).attr("cy", number(*y));
                    circle.attr("r", number(*radius)).attr("fill", hex(*colour)).empty();
                }
                Shape::Text { at: (x, y), text, size, anchor, upwards, colour } => {
                    let (x, y) = (number(*x), number(*y));
                    let anchor = match anchor {
                        Anchor::Start => "start",
                        Anchor::Middle => "middle",
                        Anchor::End => "end",
                    };
                    let element = out.element("text").attr("x", &x).attr("y", &y);
                    let element = element.attr("font-size", number(*size));
                    let element = element.attr("text-anchor", anchor).attr("fill", hex(*colour));
                    if *upwards {
                        let turned = format_args!("rotate(-90 {x} {y})");
                        element.attr("transform", turned).text(text);
                    } else {
                        element.text(text)
                    }
                }
                Shape::Clip { at } => {
                    if is_open {
                        out.close("g");
                    }
                    is_open = at.is_some();
                    if let Some([x, y, width, height]) = *at {
                        clips += 1;
                        out.element("clipPath").attr("id", format_args!("c{clips}")).children(
                            |to| {
                                let rect =
                                    to.element("rect").attr("x", number(x)).attr("y", number(y));
                                rect.attr("width", number(width))
                                    .attr("height", number(height))
                                    .empty();
                            },
                        );
                        let group = out.element("g");
                        group.attr("clip-path", format_args!("url(#c{clips})")).open();
                    }
                }
            }
        }
        out.close("svg");
        out.finish()
    }
}

/// Formats a number with at most two decimals.
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
