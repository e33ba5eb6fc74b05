//! The titles of columns that the user names, for tables without a line of titles.

use super::titles;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The titles of the columns of a table, in their order: `O,C,D,T`. A column of `-` does not count.
///
/// ```
/// use layland_config::{Columns, Format, Host, Unit, read};
/// let columns: Columns = "O,C,D,T".parse().unwrap();
/// let host = Host { unit: Some(Unit::Ms), default_cpus: Some(1), columns: Some(columns), ..Host::default() };
/// let loaded = read("set.csv", b"0,3,8,9\n1,2,12,12\n", Format::Csv, &host).unwrap();
/// assert_eq!(loaded.system.tasks.as_slice()[1].offset.to_string(), "1ms");
/// assert!("O,C,X".parse::<Columns>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(pub(super) Arc<[String]>);

impl Columns {
    /// Returns the number of columns.
    pub(super) fn count(&self) -> usize {
        self.0.len()
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
