//! Tables that other libraries import as Arrow streams.

use crate::errors;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use layland_interchange::columns::{Column, Columns};
use pyo3::exceptions::{PyMemoryError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyDict, PyFloat, PyInt, PyList, PyString};
use std::sync::Arc;

/// The version of the schema of tables that are made in Python.
const SCHEMA: u32 = 1;

/// Columns of one length.
#[pyclass(frozen, module = "layland._layland")]
pub(crate) struct Table {
    columns: Columns,
}

impl Table {
    pub(crate) fn of(columns: Columns) -> Table {
        Table { columns }
    }

    fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for (name, column) in self.columns.columns() {
            let (kind, array): (DataType, ArrayRef) = match column {
                Column::Text(values) => {
                    let texts = values.iter().map(Option::as_deref);
                    (DataType::Utf8, Arc::new(StringArray::from_iter(texts)))
                }
                Column::Int(values) => {
                    (DataType::Int64, Arc::new(Int64Array::from(values.clone())))
                }
                Column::Real(values) => {
                    (DataType::Float64, Arc::new(Float64Array::from(values.clone())))
                }
                Column::Bool(values) => {
                    (DataType::Boolean, Arc::new(BooleanArray::from(values.clone())))
                }
            };
            fields.push(Field::new(name, kind, true));
            arrays.push(array);
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
    }
}

#[pymethods]
impl Table {
    /// Makes a table of lists of one length, by the names of the columns.
    #[staticmethod]
    fn from_lists(py: Python<'_>, lists: &Bound<'_, PyDict>) -> PyResult<Table> {
        let mut columns = Columns::new(SCHEMA);
        let mut length = None;
        for (name, list) in lists {
            let (name, list): (String, Bound<'_, PyList>) = (name.extract()?, list.extract()?);
            if *length.get_or_insert(list.len()) != list.len() {
                return Err(errors::usage(py, "the columns have different lengths", None));
            }
            columns.push(&name, column(&name, &list)?);
        }
        Ok(Table { columns })
    }

    /// The state from which [`restored`](Self::restored) makes the table again, in another process.
    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (Py<PyAny>,))> {
        let py = slf.py();
        let columns = PyList::empty(py);
        for (name, column) in slf.get().columns.columns() {
            match column {
                Column::Text(values) => columns.append((name, "text", values))?,
                Column::Int(values) => columns.append((name, "int", values))?,
                Column::Real(values) => columns.append((name, "real", values))?,
                Column::Bool(values) => columns.append((name, "bool", values))?,
            }
        }
        Ok((slf.get_type().getattr("restored")?.unbind(), (columns.into_any().unbind(),)))
    }

    /// A table that was sent from another process: names, types and values.
    #[staticmethod]
    fn restored(list: Vec<(String, String, Bound<'_, PyList>)>) -> PyResult<Table> {
        let mut columns = Columns::new(SCHEMA);
        for (name, kind, values) in list {
            let column = match kind.as_str() {
                "text" => Column::Text(values.extract()?),
                "int" => Column::Int(values.extract()?),
                "real" => Column::Real(values.extract()?),
                "bool" => Column::Bool(values.extract()?),
                _ => {
                    return Err(PyTypeError::new_err(format!(
                        "`{kind}` is not a type of a column"
                    )));
                }
            };
            columns.push(&name, column);
        }
        Ok(Table { columns })
    }

    /// Returns true if names, types and values are equal.
    fn __eq__(&self, other: &Table) -> bool {
        self.columns.columns() == other.columns.columns()
    }

    fn __hash__(&self) -> u64 {
        self.columns.rows() as u64
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<&str> {
        self.columns.columns().iter().map(|(name, _)| name.as_str()).collect()
    }

    fn __len__(&self) -> usize {
        self.columns.rows()
    }

    /// The columns as lists, by name.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let lists = PyDict::new(py);
        for (name, column) in self.columns.columns() {
            match column {
                Column::Text(values) => lists.set_item(name, values)?,
                Column::Int(values) => lists.set_item(name, values)?,
                Column::Real(values) => lists.set_item(name, values)?,
                Column::Bool(values) => lists.set_item(name, values)?,
            }
        }
        Ok(lists)
    }

    /// As CSV.
    fn to_csv(&self) -> String {
        self.columns.csv()
    }

    /// The table as a stream of the Arrow C data interface, in a capsule. There is one schema: the requested
    /// one is a wish, which the interface permits to ignore.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batch = self.batch().map_err(|error| PyMemoryError::new_err(error.to_string()))?;
        let schema = batch.schema();
        let reader = RecordBatchIterator::new([Ok(batch)], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The table as a DataFrame of pandas, of any version from 1.5 on. Whole numbers are ``Int64``, with and without
    /// nulls, and so are the other types the same for any data: ``boolean``, ``float64``, and the type of pandas for
    /// texts. For dates, ``pandas.to_timedelta(df["end_ns"])`` makes durations of nanoseconds.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("layland._tables")?.call_method1("to_pandas", (slf,))
    }

    /// The names and the types of the columns: `text`, `int`, `real` and `bool`.
    #[getter]
    fn column_types(&self) -> Vec<(&str, &'static str)> {
        let kind = |column: &Column| match column {
            Column::Text(_) => "text",
            Column::Int(_) => "int",
            Column::Real(_) => "real",
            Column::Bool(_) => "bool",
        };
        self.columns.columns().iter().map(|(name, column)| (name.as_str(), kind(column))).collect()
    }

    /// The first rows as a table in HTML, for notebooks.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("layland._tables")?.call_method1("html", (slf,))
    }

    fn __repr__(&self) -> String {
        let names = self.column_names().join(", ");
        format!("Table of {} rows: {names}", self.columns.rows())
    }
}

/// The types of the values of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Real,
    Text,
}

impl Kind {
    /// Returns the type of a value. Numbers of other libraries convert themselves: an integer as an
    /// index, a real number as a float.
    fn of(value: &Bound<'_, PyAny>) -> Option<Kind> {
        let has = |method| value.hasattr(method).unwrap_or(false);
        let is_bool = |kind: &str| kind == "bool" || kind == "bool_";
        if value.is_instance_of::<PyBool>()
            || value.get_type().name().is_ok_and(|name| is_bool(&name.to_string()))
        {
            Some(Kind::Bool)
        } else if value.is_instance_of::<PyString>() {
            Some(Kind::Text)
        } else if value.is_instance_of::<PyInt>() || has("__index__") {
            Some(Kind::Int)
        } else if value.is_instance_of::<PyFloat>() || has("__float__") {
            Some(Kind::Real)
        } else {
            None
        }
    }
}

/// Converts a list to a column of the type of its values: real numbers where whole and real numbers
/// are mixed; texts where there are no values.
fn column(name: &str, list: &Bound<'_, PyList>) -> PyResult<Column> {
    let mut kind = None;
    for value in list.iter().filter(|value| !value.is_none()) {
        let wrong = |what: &str| {
            let kind = value.get_type().name()?;
            Err(PyTypeError::new_err(format!("column `{name}` has {what} of type {kind}")))
        };
        let Some(of) = Kind::of(&value) else { return wrong("values") };
        kind = Some(match (kind, of) {
            (None, of) => of,
            (Some(before), of) if before == of => of,
            (Some(Kind::Int), Kind::Real) | (Some(Kind::Real), Kind::Int) => Kind::Real,
            _ => return wrong("values of another type, and one"),
        });
    }
    let named = |error: PyErr| PyTypeError::new_err(format!("column `{name}`: {error}"));
    Ok(match kind {
        None => Column::Text(vec![None; list.len()]),
        Some(Kind::Bool) => {
            let value = |value: Bound<'_, PyAny>| {
                if value.is_none() { Ok(None) } else { value.is_truthy().map(Some) }
            };
            Column::Bool(list.iter().map(value).collect::<PyResult<_>>()?)
        }
        Some(Kind::Int) => Column::Int(list.extract().map_err(named)?),
        Some(Kind::Real) => Column::Real(list.extract().map_err(named)?),
        Some(Kind::Text) => Column::Text(list.extract().map_err(named)?),
    })
}
