//! BTF for tests.

use super::kind;

/// A builder of BTF: every method adds a type and returns its number.
#[derive(Clone, Debug)]
pub(crate) struct Blob {
    types: Vec<u8>,
    names: Vec<u8>,
    count: u32,
}

impl Default for Blob {
    /// The name at 0 is empty, for types without a name.
    fn default() -> Blob {
        Blob { types: Vec::new(), names: vec![0], count: 0 }
    }
}

impl Blob {
    /// Returns BTF whose sections have these bytes.
    pub fn of(types: Vec<u8>, names: Vec<u8>) -> Blob {
        Blob { types, names, count: 0 }
    }

    fn name(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let at = u32::try_from(self.names.len()).expect("it is small");
        self.names.extend_from_slice(name.as_bytes());
        self.names.push(0);
        at
    }

    fn add(&mut self, kind: u32, flag: bool, name: &str, to: u32, pieces: &[&[u32]]) -> u32 {
        let name = self.name(name);
        let is_counted = !matches!(kind, kind::INT | kind::ARRAY);
        let count = if is_counted { u32::try_from(pieces.len()).expect("they are few") } else { 0 };
        let info = u32::from(flag) << 31 | kind << 24 | count;
        let words = [name, info, to].into_iter().chain(pieces.concat());
        self.types.extend(words.flat_map(u32::to_ne_bytes));
        self.count += 1;
        self.count
    }

    /// Adds an integer of eight bytes.
    pub fn int(&mut self, name: &str) -> u32 {
        self.add(kind::INT, false, name, 8, &[&[64]])
    }

    /// Adds a type that only refers to another: a pointer, a `typedef`, `const` ..
    pub fn refer(&mut self, kind: u32, name: &str, to: u32) -> u32 {
        self.add(kind, false, name, to, &[])
    }

    /// Adds an array of four elements.
    pub fn array(&mut self, of: u32) -> u32 {
        self.add(kind::ARRAY, false, "", 0, &[&[of, of, 4]])
    }

    /// Adds a structure with members of these types.
    pub fn structure(&mut self, name: &str, members: &[(&str, u32)]) -> u32 {
        let members: Vec<_> = members
            .iter()
            .zip(0..)
            .map(|((name, of), at)| [self.name(name), *of, 64 * at])
            .collect();
        let pieces: Vec<&[u32]> = members.iter().map(|piece| &piece[..]).collect();
        self.add(kind::STRUCT, false, name, 8, &pieces)
    }

    /// Adds a function with its prototype.
    pub fn function(&mut self, name: &str, parameters: &[(&str, u32)], returns: u32) -> u32 {
        let parameters: Vec<_> =
            parameters.iter().map(|(name, of)| [self.name(name), *of]).collect();
        let pieces: Vec<&[u32]> = parameters.iter().map(|piece| &piece[..]).collect();
        let prototype = self.add(kind::PROTOTYPE, false, "", returns, &pieces);
        self.refer(kind::FUNCTION, name, prototype)
    }

    /// Adds an enumeration with values of 32 bits; higher bits are cut off.
    pub fn enumeration(&mut self, name: &str, values: &[(&str, u64)], is_signed: bool) -> u32 {
        let values: Vec<_> =
            values.iter().map(|(name, value)| [self.name(name), low(*value)]).collect();
        let pieces: Vec<&[u32]> = values.iter().map(|piece| &piece[..]).collect();
        self.add(kind::ENUM, is_signed, name, 4, &pieces)
    }

    /// Adds an enumeration with values of 64 bits.
    pub fn enumeration64(&mut self, name: &str, values: &[(&str, u64)]) -> u32 {
        let values: Vec<_> = values
            .iter()
            .map(|(name, value)| [self.name(name), low(*value), low(*value >> 32)])
            .collect();
        let pieces: Vec<&[u32]> = values.iter().map(|piece| &piece[..]).collect();
        self.add(kind::ENUM64, false, name, 8, &pieces)
    }

    /// Returns the bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).expect("it is small");
        let (types, names) = (length(&self.types), length(&self.names));
        // Magic number, version 1, no flags, the length of the header, and the offset and size of
        // each section.
        let mut bytes = [0xEB9F_u16.to_ne_bytes(), [1, 0]].concat();
        bytes.extend([24, 0, types, types, names].into_iter().flat_map(u32::to_ne_bytes));
        [bytes, self.types.clone(), self.names.clone()].concat()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
fn low(value: u64) -> u32 {
    value as u32
}
