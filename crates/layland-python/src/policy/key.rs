//! The keys by which a Python policy orders jobs.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyTuple};
use std::cmp::Ordering;

/// A key: the job with the smaller one goes first.
#[derive(Debug)]
pub(super) enum Key {
    /// A small integer, which most keys are.
    Int(i64),
    /// Any other value that can be compared.
    Any(Py<PyAny>),
}

impl Key {
    /// Converts the value that a policy returned.
    ///
    /// # Errors
    /// If it is a floating-point number: two keys that should be equal may differ.
    pub(super) fn of(key: Bound<'_, PyAny>) -> PyResult<Key> {
        if let Ok(number) = key.extract::<i64>() {
            return Ok(Key::Int(number));
        }
        let has_float = match key.cast::<PyTuple>() {
            Ok(tuple) => tuple.iter().any(|item| item.is_instance_of::<PyFloat>()),
            Err(_) => key.is_instance_of::<PyFloat>(),
        };
        if has_float {
            let message = format!(
                "a key cannot be a float ({}): return an int, a Fraction or a tuple of these",
                key.repr()?
            );
            return Err(PyTypeError::new_err(message));
        }
        Ok(Key::Any(key.unbind()))
    }

    pub(super) fn copy(&self, py: Python<'_>) -> Key {
        match self {
            Key::Int(number) => Key::Int(*number),
            Key::Any(key) => Key::Any(key.clone_ref(py)),
        }
    }

    /// Compares two keys: the smaller one goes first.
    pub(super) fn compare(&self, other: &Key, py: Python<'_>) -> PyResult<Ordering> {
        match (self, other) {
            (Key::Int(a), Key::Int(b)) => Ok(a.cmp(b)),
            (Key::Int(a), Key::Any(b)) => a.into_pyobject(py)?.as_any().compare(b.bind(py)),
            (Key::Any(a), Key::Int(b)) => a.bind(py).compare(b),
            (Key::Any(a), Key::Any(b)) => a.bind(py).compare(b.bind(py)),
        }
    }
}
