//! The format of speeds and notes in a file.

/// A fraction, as in `"1/2"`.
pub mod speed {
    use layland_model::{Rate, Speed};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(speed: &Speed, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(speed)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Speed, D::Error> {
        let speed =
            String::deserialize(from)?.parse().ok().and_then(|rate: Rate| Speed::new(&rate));
        speed.ok_or_else(|| D::Error::custom("a `speed` is a positive fraction"))
    }
}

/// A note in the format of its own description.
pub mod note {
    use layland_model::Note;
    use layland_trace::json::Described;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub fn serialize<S: Serializer>(note: &Note, to: S) -> Result<S::Ok, S::Error> {
        Described::from(note.describe()).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Note, D::Error> {
        Described::deserialize(from)?.read("note", Note::read).map_err(D::Error::custom)
    }
}
