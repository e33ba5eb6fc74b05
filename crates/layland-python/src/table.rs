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

    fn __repr__(&self) -> String {
        let names = self.column_names().join(", ");
        format!("Table of {} rows: {names}", self.columns.rows())
    }
}

/// Converts a list to a column of the type of its first value; a column without values has texts.
fn column(name: &str, list: &Bound<'_, PyList>) -> PyResult<Column> {
    let Some(first) = list.iter().find(|value| !value.is_none()) else {
        return Ok(Column::Text(vec![None; list.len()]));
    };
    if first.is_instance_of::<PyBool>() {
        Ok(Column::Bool(list.extract()?))
    } else if first.is_instance_of::<PyInt>() {
        Ok(Column::Int(list.extract()?))
    } else if first.is_instance_of::<PyFloat>() {
        Ok(Column::Real(list.extract()?))
    } else if first.is_instance_of::<PyString>() {
        Ok(Column::Text(list.extract()?))
    } else {
        let kind = first.get_type().name()?;
        Err(PyTypeError::new_err(format!("column `{name}` has values of type {kind}")))
    }
}
