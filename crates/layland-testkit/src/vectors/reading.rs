//! The shared part of several schemas of vectors: how values are read and compared.

use super::verdict::Read;
use serde_json::Value;

pub(super) fn read<T>(value: Option<T>, what: &str) -> Read<T> {
    value.ok_or_else(|| format!("the vector has no {what}"))
}

pub(super) fn integer(value: &Value, what: &str) -> Read<i64> {
    read(value.as_i64(), what)
}

pub(super) fn list<'a>(value: &'a Value, what: &str) -> Read<&'a Vec<Value>> {
    read(value.as_array(), what)
}

/// Compares a value of the vector with what was found.
pub(super) fn same(what: &str, expected: &Value, found: &Value) -> Read<()> {
    if expected == found {
        return Ok(());
    }
    if let (Value::Array(expected), Value::Array(found)) = (expected, found) {
        for at in 0..expected.len().max(found.len()) {
            if expected.get(at) != found.get(at) {
                let show =
                    |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
                let (expected, found) = (show(expected.get(at)), show(found.get(at)));
                return Err(format!("{what}[{at}]: expected {expected}, found {found}"));
            }
        }
    }
    Err(format!("{what}: expected {expected}, found {found}"))
}
