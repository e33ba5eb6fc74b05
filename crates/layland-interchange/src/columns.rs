//! Tables of columns, written as CSV and as Parquet.

use layland_model::csv_cell;
use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::io::Write;
use std::sync::Arc;

/// The values of a column; each may be missing.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Strings.
    Text(Vec<Option<String>>),
    /// Integers.
    Int(Vec<Option<i64>>),
    /// Floating-point numbers.
    Real(Vec<Option<f64>>),
    /// Booleans.
    Bool(Vec<Option<bool>>),
}

/// An error of the library that writes Parquet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to write Parquet: {0}")]
pub struct ColumnsError(String);

impl From<ParquetError> for ColumnsError {
    fn from(error: ParquetError) -> ColumnsError {
        ColumnsError(error.to_string())
    }
}

/// A table of named columns.
///
/// ```
/// use layland_interchange::columns::{Column, Columns};
/// let mut table = Columns::new(1);
/// table.push("name", Column::Text(vec![Some("a".to_owned()), None]));
/// table.push("count", Column::Int(vec![Some(1), Some(2)]));
/// assert_eq!(table.csv(), "name,count\na,1\n,2\n");
/// assert!(table.parquet().unwrap().starts_with(b"PAR1"));
/// ```
#[derive(Clone, Debug)]
pub struct Columns {
    metadata: Vec<(String, String)>,
    columns: Vec<(String, Column)>,
}

impl Columns {
    /// Returns a table without columns. The schema
    /// version becomes `layland.schema` in the metadata.
    pub fn new(schema: u32) -> Columns {
        let metadata = vec![("layland.schema".to_owned(), schema.to_string())];
        Columns { metadata, columns: Vec::new() }
    }

    /// Adds an entry, `layland.<key>`, to the metadata of the Parquet file.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<String>) -> Columns {
        self.metadata.push((format!("layland.{key}"), value.into()));
        self
    }

    /// Adds a column. All columns must have the same number of values.
    pub fn push(&mut self, name: &str, column: Column) {
        self.columns.push((name.to_owned(), column));
    }

    /// The columns, with their names.
    pub fn columns(&self) -> &[(String, Column)] {
        &self.columns
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| match column {
            Column::Text(values) => values.len(),
            Column::Int(values) => values.len(),
            Column::Real(values) => values.len(),
            Column::Bool(values) => values.len(),
        })
    }

    /// Returns the table as CSV: a line of names, then a line per row. A missing value is an empty
    /// cell. Numbers are written with the fewest digits that read back as the same number.
    pub fn csv(&self) -> String {
        let mut out = String::new();
        let names = self.columns.iter().map(|(name, _)| csv_cell(name).into_owned());
        line(&mut out, names);
        for row in 0..self.rows() {
            let cells = self.columns.iter().map(|(_, column)| match column {
                Column::Text(values) => {
                    values[row].as_deref().map_or(String::new(), |text| csv_cell(text).into_owned())
                }
                Column::Int(values) => values[row].map_or(String::new(), |value| value.to_string()),
                Column::Real(values) => {
                    values[row].map_or(String::new(), |value| value.to_string())
                }
                Column::Bool(values) => {
                    values[row].map_or(String::new(), |value| value.to_string())
                }
            });
            line(&mut out, cells);
        }
        out
    }

    /// Returns the table as Parquet, with its metadata:
    /// one row group, Snappy, every column optional.
    ///
    /// # Errors
    /// If the library fails.
    pub fn parquet(&self) -> Result<Vec<u8>, ColumnsError> {
        let mut writer = ParquetWriter::new(Vec::new(), self)?;
        writer.write(self)?;
        writer.finish()
    }

    fn schema(&self) -> String {
        let mut message = "message results {\n".to_owned();
        for (name, column) in &self.columns {
            message += &match column {
                Column::Text(_) => format!("OPTIONAL BYTE_ARRAY {name} (UTF8);\n"),
                Column::Int(_) => format!("OPTIONAL INT64 {name};\n"),
                Column::Real(_) => format!("OPTIONAL DOUBLE {name};\n"),
                Column::Bool(_) => format!("OPTIONAL BOOLEAN {name};\n"),
            };
        }
        message + "}"
    }
}

/// Writes a table as Parquet in parts, each a row group.
pub struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file with the columns and the metadata of
    /// a table; the values of the table are not written.
    ///
    /// # Errors
    /// If the library or writing fails.
    pub fn new(out: W, table: &Columns) -> Result<ParquetWriter<W>, ColumnsError> {
        let schema = parse_message_type(&table.schema())?;
        let metadata = table.metadata.iter();
        let metadata =
            metadata.map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("layland ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_key_value_metadata(Some(metadata))
            .build();
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        Ok(ParquetWriter { file })
    }

    /// Adds the rows of a table with the same columns.
    ///
    /// # Errors
    /// If the library or writing fails.
    pub fn write(&mut self, table: &Columns) -> Result<(), ColumnsError> {
        let mut group = self.file.next_row_group()?;
        for (_, column) in &table.columns {
            let Some(mut to) = group.next_column()? else { break };
            match column {
                Column::Text(values) => {
                    let (levels, values) = dense(values, |text| ByteArray::from(text.as_str()));
                    to.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
                }
                Column::Int(values) => {
                    let (levels, values) = dense(values, |&value| value);
                    to.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
                }
                Column::Real(values) => {
                    let (levels, values) = dense(values, |&value| value);
                    to.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
                }
                Column::Bool(values) => {
                    let (levels, values) = dense(values, |&value| value);
                    to.typed::<BoolType>().write_batch(&values, Some(&levels), None)?;
                }
            }
            to.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Ends the file. Does not flush the writer.
    ///
    /// # Errors
    /// If the library or writing fails.
    pub fn finish(self) -> Result<W, ColumnsError> {
        Ok(self.file.into_inner()?)
    }
}

/// Returns the definition levels (1 for a value, 0 for a missing one) and the values that exist.
fn dense<T, U>(values: &[Option<T>], convert: impl Fn(&T) -> U) -> (Vec<i16>, Vec<U>) {
    let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
    (levels, values.iter().flatten().map(convert).collect())
}

fn line(out: &mut String, cells: impl Iterator<Item = String>) {
    for (at, cell) in cells.enumerate() {
        if at > 0 {
            out.push(',');
        }
        *out += &cell;
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    fn table() -> Columns {
        let columns = [
            ("name", Column::Text(vec![Some("a, b".to_owned()), None])),
            ("count", Column::Int(vec![Some(-7), Some(8)])),
            ("share", Column::Real(vec![None, Some(0.1)])),
            ("late", Column::Bool(vec![Some(true), None])),
        ];
        let mut table = Columns::new(7).with("provenance", "a test");
        columns.into_iter().for_each(|(name, column)| table.push(name, column));
        table
    }

    #[test]
    fn csv_quotes_and_leaves_out() {
        assert_eq!(table().csv(), "name,count,share,late\n\"a, b\",-7,,true\n,8,0.1,\n");
    }

    #[test]
    fn parquet_reads_back() {
        let path =
            std::env::temp_dir().join(format!("layland-columns-{}.parquet", std::process::id()));
        std::fs::write(&path, table().parquet().unwrap()).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].get_string(0).unwrap(), "a, b");
        assert_eq!(rows[0].get_long(1).unwrap(), -7);
        assert!(rows[0].is_null(2).unwrap() && rows[1].is_null(0).unwrap());
        assert!((rows[1].get_double(2).unwrap() - 0.1).abs() < 1e-12);
        let metadata = reader.metadata().file_metadata();
        let pairs = metadata.key_value_metadata().unwrap();
        let value = |key| pairs.iter().find(|pair| pair.key == key).unwrap().value.as_deref();
        assert_eq!(value("layland.schema"), Some("7"));
        assert_eq!(value("layland.provenance"), Some("a test"));
        assert!(rows[0].get_bool(3).unwrap());
    }
}
