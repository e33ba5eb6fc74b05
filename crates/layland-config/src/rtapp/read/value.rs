//! Reads values of rt-app JSON, as liberally as its example files require. Every fault is reported.

use super::Importer;
use crate::json::{Json, Member, Value};
use layland_model::{CpuId, CpuSet, Duration, Index};

impl Importer<'_> {
    /// Reads a time in microseconds, as nanoseconds.
    pub(super) fn micros(&mut self, key: &str, json: &Json) -> Option<i64> {
        let Value::Number(number) = &json.value else {
            let message = format!("`{key}` is a number of microseconds, not {}", json.kind());
            let help = "write a whole number, without quotes";
            self.error("layland::rtapp::wrong_type", &json.span, message, help);
            return None;
        };
        let read = format!("{number}us").parse::<Duration>().map(Duration::ns);
        match read {
            Ok(ns) if ns >= 0 => {
                if number.contains('.') {
                    let message = format!("`{key}` is {number}, a decimal number");
                    let help = "rt-app takes whole microseconds only: it would run something else";
                    self.warn("layland::rtapp::decimal", &json.span, message, help);
                }
                Some(ns)
            }
            Ok(_) => {
                let message = format!("`{key}` is negative: {number}");
                self.error("layland::rtapp::out_of_range", &json.span, message, "use 0 or more");
                None
            }
            Err(error) => {
                let message = format!("`{key}` is not a number of microseconds: {error}");
                let help = "write a whole number, as in 5000";
                self.error("layland::rtapp::wrong_type", &json.span, message, help);
                None
            }
        }
    }

    pub(super) fn whole(&mut self, key: &str, json: &Json) -> Option<i64> {
        let number = match &json.value {
            Value::Number(number) => number.parse().ok(),
            Value::Omitted
            | Value::Null
            | Value::Bool(_)
            | Value::Text(_)
            | Value::List(_)
            | Value::Object(_) => None,
        };
        if number.is_none() {
            let message = format!("`{key}` is a whole number, not {}", json.kind());
            self.error("layland::rtapp::wrong_type", &json.span, message, "write a whole number");
        }
        number
    }

    pub(super) fn text<'j>(&mut self, key: &str, json: &'j Json) -> Option<&'j str> {
        if let Value::Text(text) = &json.value {
            return Some(text);
        }
        let message = format!("`{key}` is a string, not {}", json.kind());
        self.error("layland::rtapp::wrong_type", &json.span, message, "write it in quotes");
        None
    }

    pub(super) fn object<'j>(&mut self, key: &str, json: &'j Json) -> Option<&'j [Member]> {
        if let Value::Object(members) = &json.value {
            return Some(members);
        }
        let message = format!("`{key}` is an object, not {}", json.kind());
        self.error("layland::rtapp::wrong_type", &json.span, message, "write { .. }");
        None
    }

    /// Reads `loop`; the inner `None` means forever.
    pub(super) fn times(&mut self, json: &Json) -> Option<Option<u64>> {
        let times = self.whole("loop", json)?;
        if times < -1 {
            let message = format!("`loop` is {times}");
            let help = "write how often, or -1 for ever";
            self.error("layland::rtapp::out_of_range", &json.span, message, help);
            return None;
        }
        Some(u64::try_from(times).ok())
    }

    pub(super) fn cpus(&mut self, json: &Json) -> Option<CpuSet> {
        let Value::List(list) = &json.value else {
            let message = format!("`cpus` is a list, not {}", json.kind());
            self.error("layland::rtapp::wrong_type", &json.span, message, "write [0, 2]");
            return None;
        };
        let mut cpus = CpuSet::new();
        for item in list {
            let cpu = self.whole("cpus", item)?;
            let Some(cpu) = usize::try_from(cpu).ok().filter(|&cpu| cpu < CpuSet::MAX_CPUS) else {
                let message = format!("CPU {cpu} does not exist");
                let help = "CPUs are numbered from 0; there are at most 4096";
                self.error("layland::rtapp::out_of_range", &item.span, message, help);
                return None;
            };
            cpus.insert(CpuId::from_index(cpu));
        }
        (!cpus.is_empty()).then_some(cpus)
    }
}
