//! What a frame of data carries: a frame of the kernel, with MPI's envelope where it has one. The decoder only.
//!
//! The layouts are those of the kernel's `frame.rs` in the composition of the MPI library. A program over the kernel with
//! a header of its own looks different; what does not fit is shown by its length alone.

use std::fmt;

use super::bytes::{bytes, u32_at, u64_at};

/// A frame of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Message {
    name: &'static str,
    envelope: Option<Envelope>,
    /// Of the whole message where the frame tells it, else of what it carries.
    len: Option<u64>,
    /// Where in its message the frame's bytes belong.
    offset: Option<u64>,
}

/// MPI's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Envelope {
    context: u32,
    tag: u32,
}

/// Bytes of kind and credit, of MPI's header, of a handle, of a length, of a pattern.
const LEAD: usize = 2;
const HEADER: usize = 8;
const HANDLE: usize = 8;
const LEN: usize = 8;
const PATTERN: usize = 10;

/// `len` bytes, of which these were captured. `None`: not a frame of MPI's composition.
pub(super) fn read(captured: &[u8], len: usize) -> Option<Message> {
    let [kind, _credit] = bytes(captured, 0)?;
    let (name, fields) = *NAMES.get(usize::from(kind).checked_sub(1)?)?;
    let open_ended = matches!(name, "eager" | "data");
    let size = LEAD + fields;
    if len < size || (len > size && !open_ended) {
        return None;
    }
    let envelope_at = match name {
        "eager" | "announce" | "ahead" => Some(LEAD),
        "offer" => Some(LEAD + 2 * HANDLE + LEN),
        "pull" => Some(LEAD + HANDLE),
        "hint" => Some(LEAD + HANDLE + LEN),
        _ => None,
    };
    let length_at = match name {
        "announce" | "ahead" => Some(LEAD + HEADER),
        "request" | "offer" => Some(LEAD + 2 * HANDLE),
        "hint" => Some(LEAD + HANDLE),
        _ => None,
    };
    let carried = open_ended.then_some((len - size) as u64);
    let offset_at = (name == "data").then_some(LEAD + HANDLE);
    Some(Message {
        name,
        envelope: envelope_at.and_then(|at| Envelope::read(captured, at)),
        len: length_at.and_then(|at| u64_at(captured, at)).or(carried),
        offset: offset_at.and_then(|at| u64_at(captured, at)),
    })
}

/// By number, from 1: the name, and bytes of the fields behind the lead.
const NAMES: [(&str, usize); 17] = [
    ("eager", HEADER),
    ("announce", HEADER + LEN + HANDLE),
    ("request", 2 * HANDLE + LEN),
    ("data", HANDLE + LEN),
    ("abort", HANDLE),
    ("credit", 0),
    ("hold", 1),
    ("pull", HANDLE + PATTERN),
    ("offer", 2 * HANDLE + LEN + HEADER),
    ("none", HANDLE),
    ("decline", HANDLE),
    ("revoke", HANDLE),
    ("revoked", HANDLE + 1),
    ("claim", HANDLE),
    ("hint", HANDLE + LEN + PATTERN),
    ("ahead", HEADER + LEN + 2 * HANDLE),
    ("whole", HANDLE),
];

impl Envelope {
    fn read(from: &[u8], at: usize) -> Option<Self> {
        Some(Envelope {
            context: u32_at(from, at)?,
            tag: u32_at(from, at + 4)?,
        })
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        if let Some(Envelope { context, tag }) = self.envelope {
            // One communicator has two contexts, the second for its collective operations.
            let (comm, odd) = (context / 2, context % 2 == 1);
            let use_of = if odd { "collective" } else { "tag" };
            match tag {
                u32::MAX => write!(f, " comm {comm} any tag")?,
                _ => write!(f, " comm {comm} {use_of} {tag}")?,
            }
        }
        if let Some(offset) = self.offset {
            write!(f, " from {offset}")?;
        }
        match self.len {
            Some(len) => write!(f, " {len} bytes"),
            None => Ok(()),
        }
    }
}
