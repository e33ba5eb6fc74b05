//! The data that a page needs once: policies, formats, the schema, bundled sets.

use layland::answers::Policies;
use layland_config::{Format, demos};
use layland_policy::Registry;
use serde_json::{Value, json};

/// Returns the file extension of a format.
pub(crate) fn extension(format: Format) -> &'static str {
    match format {
        Format::Toml => "toml",
        Format::RtApp => "json",
        Format::Csv => "csv",
        Format::Plain => "txt",
        Format::Simso | Format::Schedcat => "xml",
        Format::Lines => "jsonl",
    }
}

pub(crate) fn about(registry: &Registry) -> Value {
    let formats = Format::ALL.map(|format| {
        json!({
            "name": format.name(),
            "extension": extension(format),
            "reads": true,
            // Plain lines lose too much of a set.
            "writes": format != Format::Plain,
        })
    });
    let demos = demos()
        .iter()
        .map(|demo| json!({ "name": demo.name, "title": demo.title, "text": demo.text }));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "policies": Policies::of(registry.iter()).policies,
        "formats": formats,
        "schema": layland_config::schema(),
        "demos": demos.collect::<Vec<_>>(),
        "columns": layland_report::COLUMNS,
    })
}
