//! The titles of columns that the user names, for tables without a line of titles.

use super::rows::Cell;
use super::titles;
use crate::host::Columns;
use std::fmt;
use std::str::FromStr;

impl Columns {
    /// Returns the titles as cells, which have no place in the text.
    pub(super) fn cells(&self) -> Vec<Cell<'_>> {
        self.0.iter().map(|title| Cell { text: title.as_str().into(), span: 0..0 }).collect()
    }
}

impl FromStr for Columns {
    type Err = String;

    fn from_str(text: &str) -> Result<Columns, String> {
        let title = |title: &str| {
            let title = title.trim();
            match titles::meaning(title) {
                Some(_) => Ok(title.to_owned()),
                // A title without letters does not count.
                None => Err(format!(
                    "`{title}` is not the title of a column: there are Task, C, T, D, O, J, B, .., the keys of a task, and - \
                     for a column that does not count"
                )),
            }
        };
        let titles: Result<Vec<String>, String> = text.split([',', ';']).map(title).collect();
        titles.map(|titles| Columns(titles.into()))
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.join(","))
    }
}
