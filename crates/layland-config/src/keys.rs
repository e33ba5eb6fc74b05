//! The keys from which a field of the model is read.

use layland_model::Field;

/// The keys or columns from which a field of a task is read, the most relevant one first.
pub(crate) fn keys_of(field: Field) -> &'static [&'static str] {
    match field {
        Field::Name => &["name"],
        Field::Period => &["period"],
        Field::Deadline => &["deadline", "period"],
        Field::Wcet => &["wcet", "steps"],
        Field::Criticality => &["criticality"],
        Field::Budget => &["budget"],
        Field::Offset => &["offset"],
        Field::Jitter => &["jitter"],
        Field::Affinity => &["affinity"],
        Field::Cluster => &["cluster"],
        Field::Behaviour => &["release"],
        Field::Priority => &["priority"],
        Field::Execution => &["exec"],
        Field::Preemption => &["segments", "nonpreemptive"],
        Field::Steps => &["steps"],
        Field::Follows => &["follows"],
        Field::LetInterval => &["let_interval"],
        Field::Cache => &["ucb", "ecb"],
        Field::Blocking => &["blocking"],
    }
}
