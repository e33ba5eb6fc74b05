//! The data that a page needs once: policies, formats, the schema, bundled sets.

use layland::answers::Policies;
use layland_config::{Format, demos};
use layland_policy::Registry;
use serde_json::{Value, json};

pub(crate) fn about(registry: &Registry) -> Value {
    let formats = Format::ALL.map(|format| {
        json!({
            "name": format.name(),
            "extension": format.extension(),
            "reads": true,
            "writes": format.is_written(),
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
