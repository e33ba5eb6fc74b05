//! The kernel's BTF: the types of its functions and data, for loaders of BPF programs.
//!
//! The format is that of the kernel's documentation (`Documentation/bpf/btf.rst`): a header, a
//! section with consecutive descriptions, numbered from 1, and one with names. The reader steps
//! over all descriptions once, to find the beginning of each. A query compares names, but only
//! those of the right kind, because there are a hundred thousand others. The reader trusts no
//! length and no number of the file: for bytes that are not BTF it returns an error, or finds
//! nothing in them.

#[cfg(test)]
pub(crate) mod blob;

use std::fmt;
use std::ops::Range;

/// The path of the running kernel's BTF.
pub const OF_THE_KERNEL: &str = "/sys/kernel/btf/vmlinux";

/// The reason why bytes are not BTF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BtfError {
    /// It does not begin like BTF of this machine.
    #[error("it does not begin with a header of BTF")]
    Header,
    /// A version of the format that is newer than this reader.
    #[error("it has version {0} of the format, and only version 1 is known")]
    Version(u8),
    /// A kind of type that is newer than this reader: its length is unknown, and so is the rest.
    #[error("it has types of kind {0}, which came after this reader")]
    Kind(u32),
    /// A section or a description extends past the end.
    #[error("it ends too soon")]
    Short,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type in the syntax of C.
    pub of: String,
}

/// The parameters and the result of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prototype {
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// The type of the result.
    pub returns: String,
}

impl fmt::Display for Prototype {
    /// Prints, for example, `(u64 tid) -> struct task_struct *`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters: Vec<String> =
            self.parameters.iter().map(|Parameter { name, of }| format!("{of} {name}")).collect();
        write!(f, "({}) -> {}", parameters.join(", "), self.returns)
    }
}

/// BTF with an index of its types.
#[derive(Debug)]
pub struct Btf {
    bytes: Vec<u8>,
    /// The section with names.
    names: Range<usize>,
    /// The beginnings of the descriptions. The first one is type 1, because 0 is `void`.
    starts: Vec<u32>,
    /// The subsets of `starts` for functions, structures and enumerations.
    functions: Vec<u32>,
    structures: Vec<u32>,
    enumerations: Vec<u32>,
}

const MAGIC: u16 = 0xEB9F;
/// The length of the header in version 1 of the format; a later one may be longer.
const HEADER: usize = 24;
/// The length of a description: a name, kind and counts, and a size or the number of another type.
const DESCRIPTION: usize = 12;
/// The largest depth of a type in its printed form: a chain that forms a ring has no end.
const DEEPEST: u32 = 16;

/// The kinds of types, with the numbers of the format.
pub(crate) mod kind {
    pub const INT: u32 = 1;
    pub const POINTER: u32 = 2;
    pub const ARRAY: u32 = 3;
    pub const STRUCT: u32 = 4;
    pub const UNION: u32 = 5;
    pub const ENUM: u32 = 6;
    pub const FORWARD: u32 = 7;
    pub const TYPEDEF: u32 = 8;
    pub const VOLATILE: u32 = 9;
    pub const CONST: u32 = 10;
    pub const RESTRICT: u32 = 11;
    pub const FUNCTION: u32 = 12;
    pub const PROTOTYPE: u32 = 13;
    pub const VARIABLE: u32 = 14;
    pub const SECTION: u32 = 15;
    pub const FLOAT: u32 = 16;
    pub const TAG: u32 = 17;
    pub const TYPE_TAG: u32 = 18;
    pub const ENUM64: u32 = 19;
}

/// Returns the number of bytes of a description after its beginning, and the size of its pieces.
fn rest(kind: u32, count: usize) -> Result<(usize, usize), BtfError> {
    let piece = match kind {
        kind::POINTER | kind::FORWARD | kind::TYPEDEF | kind::VOLATILE | kind::CONST => 0,
        kind::RESTRICT | kind::FUNCTION | kind::FLOAT | kind::TYPE_TAG => 0,
        kind::INT | kind::VARIABLE | kind::TAG => return Ok((4, 4)),
        kind::ARRAY => return Ok((12, 12)),
        kind::ENUM | kind::PROTOTYPE => 8,
        kind::STRUCT | kind::UNION | kind::SECTION | kind::ENUM64 => 12,
        other => return Err(BtfError::Kind(other)),
    };
    Ok((piece * count, piece))
}

/// The description of a type.
#[derive(Clone, Copy)]
struct Type<'b> {
    /// The position of its name.
    name: u32,
    kind: u32,
    /// For an enumeration: true if its values are signed.
    flag: bool,
    /// The type that it refers to, if any.
    to: u32,
    /// Members, values or parameters.
    rest: &'b [u8],
    piece: usize,
}

impl<'b> Type<'b> {
    /// Returns its members, values or parameters.
    fn pieces(self) -> impl Iterator<Item = &'b [u8]> {
        self.rest.chunks_exact(self.piece.max(1))
    }
}

fn u32_of(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    four.try_into().ok().map(u32::from_ne_bytes)
}

/// Returns the range of a section, whose offset counts from the end of the header.
fn section(bytes: &[u8], header: usize, at: usize) -> Option<Range<usize>> {
    let begin = header.checked_add(u32_of(bytes, at)? as usize)?;
    let end = begin.checked_add(u32_of(bytes, at + 4)? as usize)?;
    (end <= bytes.len()).then_some(begin..end)
}

impl Btf {
    /// Reads the running kernel's BTF.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, or is not BTF.
    pub fn of_the_kernel() -> Result<Btf, std::io::Error> {
        let bytes = std::fs::read(OF_THE_KERNEL)?;
        Btf::parse(bytes).map_err(std::io::Error::other)
    }

    /// Indexes all descriptions.
    ///
    /// # Errors
    /// Returns an error if these bytes are not BTF.
    pub fn parse(bytes: Vec<u8>) -> Result<Btf, BtfError> {
        let magic = bytes.first_chunk().map(|two| u16::from_ne_bytes(*two));
        if magic != Some(MAGIC) || bytes.len() < HEADER {
            return Err(BtfError::Header);
        }
        if bytes[2] != 1 {
            return Err(BtfError::Version(bytes[2]));
        }
        let header = u32_of(&bytes, 4).ok_or(BtfError::Short)? as usize;
        let types = section(&bytes, header, 8).ok_or(BtfError::Short)?;
        let names = section(&bytes, header, 16).ok_or(BtfError::Short)?;
        let [mut starts, mut functions, mut structures, mut enumerations] = [const { vec![] }; 4];
        let mut at = types.start;
        while at < types.end {
            let info = u32_of(&bytes[..types.end], at + 4).ok_or(BtfError::Short)?;
            let kind = info >> 24 & 0x1F;
            let (length, _) = rest(kind, (info & 0xFFFF) as usize)?;
            let start = u32::try_from(at).map_err(|_| BtfError::Short)?;
            starts.push(start);
            match kind {
                kind::FUNCTION => functions.push(start),
                kind::STRUCT => structures.push(start),
                kind::ENUM | kind::ENUM64 => enumerations.push(start),
                _ => {}
            }
            at += DESCRIPTION + length;
        }
        if at > types.end {
            return Err(BtfError::Short);
        }
        Ok(Btf { bytes, names, starts, functions, structures, enumerations })
    }

    /// Returns a type by its number; `None` for `void` and for an unknown number.
    fn get(&self, number: u32) -> Option<Type<'_>> {
        self.get_at(*self.starts.get(usize::try_from(number.checked_sub(1)?).ok()?)?)
    }

    /// Returns the type whose description begins at `start`.
    fn get_at(&self, start: u32) -> Option<Type<'_>> {
        let at = start as usize;
        let info = u32_of(&self.bytes, at + 4)?;
        let kind = info >> 24 & 0x1F;
        let (length, piece) = rest(kind, (info & 0xFFFF) as usize).ok()?;
        let begin = at + DESCRIPTION;
        Some(Type {
            name: u32_of(&self.bytes, at)?,
            kind,
            flag: info >> 31 == 1,
            to: u32_of(&self.bytes, at + 8)?,
            rest: self.bytes.get(begin..begin + length)?,
            piece,
        })
    }

    /// Returns the section of names from position `name` on.
    fn from(&self, name: u32) -> &[u8] {
        self.bytes[self.names.clone()].get(name as usize..).unwrap_or_default()
    }

    fn is_named(&self, name: u32, wanted: &str) -> bool {
        let rest = self.from(name);
        // Check the end first, because few names have this length.
        rest.get(wanted.len()) == Some(&0) && rest.starts_with(wanted.as_bytes())
    }

    fn name(&self, name: u32) -> String {
        let rest = self.from(name);
        let end = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
        String::from_utf8_lossy(&rest[..end]).into_owned()
    }

    /// Returns the first type with this name among those that begin at `starts`.
    fn named(&self, starts: &[u32], wanted: &str) -> Option<Type<'_>> {
        let is_it = |&&start: &&u32| {
            u32_of(&self.bytes, start as usize).is_some_and(|name| self.is_named(name, wanted))
        };
        self.get_at(*starts.iter().find(is_it)?)
    }

    /// Returns the prototype of a function. If several have the name, the first counts, as in
    /// loaders.
    pub fn function(&self, name: &str) -> Option<Prototype> {
        let function = self.named(&self.functions, name)?;
        let prototype = self.get(function.to).filter(|one| one.kind == kind::PROTOTYPE)?;
        let parameters = prototype.pieces().filter_map(|piece| {
            let (name, of) = (u32_of(piece, 0)?, u32_of(piece, 4)?);
            Some(Parameter { name: self.name(name), of: self.spelt(of, 0) })
        });
        let parameters = parameters.collect();
        Some(Prototype { parameters, returns: self.spelt(prototype.to, 0) })
    }

    /// Returns the names of the members of a structure.
    pub fn members(&self, structure: &str) -> Option<Vec<String>> {
        let found = self.named(&self.structures, structure)?;
        Some(found.pieces().filter_map(|piece| Some(self.name(u32_of(piece, 0)?))).collect())
    }

    /// Returns the value of an enumerator of any enumeration; a negative one in two's complement.
    pub fn value(&self, name: &str) -> Option<u64> {
        let enumerations = self.enumerations.iter().filter_map(|&start| self.get_at(start));
        let mut values = enumerations.flat_map(|one| one.pieces().map(move |piece| (one, piece)));
        let is_wanted =
            |piece: &[u8]| u32_of(piece, 0).is_some_and(|found| self.is_named(found, name));
        let (of, piece) = values.find(|(_, piece)| is_wanted(piece))?;
        let low = u32_of(piece, 4)?;
        Some(match (of.kind, of.flag) {
            (kind::ENUM64, _) => u64::from(u32_of(piece, 8)?) << 32 | u64::from(low),
            (_, true) => i64::from(low.cast_signed()).cast_unsigned(),
            (_, false) => u64::from(low),
        })
    }

    /// Prints a type in a syntax close to that of C.
    fn spelt(&self, number: u32, depth: u32) -> String {
        if number == 0 {
            return "void".to_owned();
        }
        let Some(one) = self.get(number).filter(|_| depth < DEEPEST) else {
            return "?".to_owned();
        };
        let inner = || self.spelt(one.to, depth + 1);
        let qualified = |word: &str| {
            let inner = inner();
            if inner.ends_with('*') { format!("{inner}{word}") } else { format!("{word} {inner}") }
        };
        match one.kind {
            kind::POINTER => {
                let inner = inner();
                let space = if inner.ends_with('*') { "" } else { " " };
                format!("{inner}{space}*")
            }
            kind::CONST => qualified("const"),
            kind::VOLATILE => qualified("volatile"),
            kind::RESTRICT => qualified("restrict"),
            kind::TYPE_TAG => inner(),
            kind::ARRAY => {
                let of = u32_of(one.rest, 0).unwrap_or_default();
                format!("{}[]", self.spelt(of, depth + 1))
            }
            kind::STRUCT | kind::FORWARD => format!("struct {}", self.name(one.name)),
            kind::UNION => format!("union {}", self.name(one.name)),
            kind::ENUM | kind::ENUM64 => format!("enum {}", self.name(one.name)),
            kind::PROTOTYPE => "function".to_owned(),
            _ => self.name(one.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::blob::Blob;
    use super::{Btf, BtfError, DEEPEST, OF_THE_KERNEL, kind};
    use proptest::prelude::*;

    /// Returns BTF with one type of each kind that the tests look up.
    fn some() -> Blob {
        let mut blob = Blob::default();
        let long = blob.int("long");
        let u64 = blob.refer(kind::TYPEDEF, "u64", long);
        let task = blob.structure("task_struct", &[("pid", long), ("cpus", long)]);
        let constant = blob.refer(kind::CONST, "", task);
        let pointer = blob.refer(kind::POINTER, "", constant);
        let fixed = blob.refer(kind::CONST, "", pointer);
        let again = blob.refer(kind::POINTER, "", pointer);
        blob.function("look", &[("task", pointer), ("fixed", fixed), ("again", again)], u64);
        blob.function("look", &[], 0);
        blob.array(long);
        blob.refer(kind::FORWARD, "elsewhere", 0);
        blob.enumeration("small", &[("ONE", 1), ("LAST", u64::from(u32::MAX))], false);
        blob.enumeration("signed", &[("LESS", u64::MAX)], true);
        blob.enumeration64("large", &[("FLAG", 1 << 40 | 3)]);
        blob
    }

    #[test]
    fn what_is_there_is_found() {
        let btf = Btf::parse(some().bytes()).unwrap();
        let look = btf.function("look").unwrap();
        assert_eq!(
            look.to_string(),
            "(const struct task_struct * task, const struct task_struct *const fixed, \
             const struct task_struct ** again) -> u64"
        );
        assert_eq!(btf.function("task_struct"), None, "this is a structure");
        assert_eq!(btf.function("loo"), None, "a name is whole");
        assert_eq!(btf.function("looks"), None);
        assert_eq!(btf.members("task_struct").unwrap(), ["pid", "cpus"]);
        assert_eq!(btf.members("elsewhere"), None);
        let values = ["ONE", "LAST", "LESS", "FLAG", "OTHER"].map(|name| btf.value(name));
        let last = u64::from(u32::MAX);
        assert_eq!(values, [Some(1), Some(last), Some(u64::MAX), Some(1 << 40 | 3), None]);
    }

    #[test]
    fn what_is_no_btf_is_refused() {
        let whole = some().bytes();
        let changed = |at: usize, to: u8| {
            let mut bytes = whole.clone();
            bytes[at] = to;
            Btf::parse(bytes).unwrap_err()
        };
        assert_eq!(Btf::parse(Vec::new()).unwrap_err(), BtfError::Header);
        assert_eq!(changed(0, 0), BtfError::Header);
        assert_eq!(changed(2, 2), BtfError::Version(2));
        let mut blob = some();
        blob.refer(25, "new", 0);
        assert_eq!(Btf::parse(blob.bytes()).unwrap_err(), BtfError::Kind(25));
        for length in 0..whole.len() {
            assert!(Btf::parse(whole[..length].to_vec()).is_err(), "{length} of {}", whole.len());
        }
    }

    /// A type that refers to itself makes an endless chain.
    #[test]
    fn a_ring_of_types_is_cut() {
        let mut blob = Blob::default();
        let ring = blob.refer(kind::POINTER, "", 1);
        blob.function("turn", &[], ring);
        let btf = Btf::parse(blob.bytes()).unwrap();
        let returns = btf.function("turn").unwrap().returns;
        assert_eq!(returns, format!("? {}", "*".repeat(DEEPEST as usize)));
    }

    /// Reads the BTF of the running kernel, if it has any.
    #[test]
    fn the_btf_of_this_kernel_is_read() {
        let Ok(btf) = Btf::of_the_kernel() else {
            let line = format!("skipped: needs {OF_THE_KERNEL}\n");
            let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
            return;
        };
        assert!(btf.starts.len() > 10_000, "{}", btf.starts.len());
        assert!(btf.members("task_struct").unwrap().iter().any(|name| name == "cpus_ptr"));
        assert_eq!(btf.value("PIDTYPE_PID"), Some(0));
        let fork = btf.function("kernel_clone").unwrap();
        assert_eq!(fork.to_string(), "(struct kernel_clone_args * args) -> pid_t");
    }

    /// Makes every query on arbitrary bytes.
    fn ask(bytes: Vec<u8>) {
        if let Ok(btf) = Btf::parse(bytes) {
            for name in ["look", "task_struct", "small", "FLAG", ""] {
                let _ = (btf.function(name), btf.members(name), btf.value(name));
            }
            for number in 0..=u32::try_from(btf.starts.len()).unwrap() + 1 {
                let _ = btf.spelt(number, 0);
            }
        }
    }

    /// Draws a known kind of type with a small number of pieces.
    fn few() -> impl Strategy<Value = u32> {
        (0u32..20, 0u32..4).prop_map(|(kind, count)| kind << 24 | count)
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            ask(bytes);
        }

        /// The header is valid, and any bytes follow it.
        #[test]
        fn no_types_make_it_panic(
            words in prop::collection::vec(prop_oneof![0u32..40, any::<u32>(), few()], 0..100),
            names in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            ask(Blob::of(words.iter().flat_map(|word| word.to_ne_bytes()).collect(), names).bytes());
        }

        /// Some bytes of valid BTF are changed, and it may be truncated.
        #[test]
        fn no_change_makes_it_panic(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            end in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let mut bytes = some().bytes();
            for (at, to) in changes {
                let at = at.index(bytes.len());
                bytes[at] = to;
            }
            if let Some(end) = end {
                bytes.truncate(end.index(bytes.len()));
            }
            ask(bytes);
        }
    }
}
