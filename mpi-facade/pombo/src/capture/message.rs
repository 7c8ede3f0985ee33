//! The content of a data frame: a frame of the kernel, with MPI's header where it has one. Only the decoder uses it.
//!
//! The layouts are those of the kernel's `frame.rs` in the composition of the MPI library. A program with a header of
//! its own has other layouts; a frame that does not fit is shown by its length alone.

use std::fmt;

use super::bytes::{bytes, u32_at, u64_at};

/// A frame of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Message {
    name: &'static str,
    envelope: Option<MpiHeader>,
    /// Length of the whole message if the frame contains it, else of the content of the frame; in bytes.
    len: Option<u64>,
    /// Offset of the frame's bytes in the message.
    offset: Option<u64>,
}

/// MPI's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct MpiHeader {
    context: u32,
    tag: u32,
}

/// Bytes of kind and credit, of MPI's header, of a handle, of a length, of a pattern.
const PREAMBLE: usize = 2;
const HEADER: usize = 8;
const HANDLE: usize = 8;
const LEN: usize = 8;
const PATTERN: usize = 10;

/// Parses a frame of `len` bytes, of which `captured` are there. Returns `None` if it is not a frame of MPI's
/// composition.
pub(super) fn read(captured: &[u8], len: usize) -> Option<Message> {
    let [kind, _credit] = bytes(captured, 0)?;
    let (name, fields, places) = *LAYOUTS.get(usize::from(kind).checked_sub(1)?)?;
    let [envelope_at, length_at, offset_at] = places;
    let open_ended = matches!(name, "eager" | "data" | "early");
    let size = PREAMBLE + fields;
    if len < size || (len > size && !open_ended) {
        return None;
    }
    let carried = open_ended.then_some((len - size) as u64);
    Some(Message {
        name,
        envelope: envelope_at.and_then(|at| MpiHeader::read(captured, at)),
        len: length_at.and_then(|at| u64_at(captured, at)).or(carried),
        offset: offset_at.and_then(|at| u64_at(captured, at)),
    })
}

/// Name, number of bytes of the fields behind the preamble, and offsets of envelope, message length and offset.
pub(super) type Layout = (&'static str, usize, [Option<usize>; 3]);

const HANDLES: usize = 2 * HANDLE;
const NOTHING: [Option<usize>; 3] = [None; 3];

/// The layouts by kind, from 1.
pub(super) const LAYOUTS: [Layout; 19] = [
    ("eager", HEADER, [Some(PREAMBLE), None, None]),
    (
        "announce",
        HEADER + LEN + HANDLE,
        [Some(PREAMBLE), Some(PREAMBLE + HEADER), None],
    ),
    (
        "request",
        HANDLES + LEN,
        [None, Some(PREAMBLE + HANDLES), None],
    ),
    ("data", HANDLE + LEN, [None, None, Some(PREAMBLE + HANDLE)]),
    ("abort", HANDLE, NOTHING),
    ("credit", 0, NOTHING),
    ("hold", 1, NOTHING),
    (
        "pull",
        HANDLE + PATTERN,
        [Some(PREAMBLE + HANDLE), None, None],
    ),
    (
        "offer",
        HANDLES + LEN + HEADER,
        [
            Some(PREAMBLE + HANDLES + LEN),
            Some(PREAMBLE + HANDLES),
            None,
        ],
    ),
    ("none", HANDLE, NOTHING),
    ("decline", HANDLE, NOTHING),
    ("revoke", HANDLE, NOTHING),
    ("revoked", HANDLE + 1, NOTHING),
    ("claim", HANDLE, NOTHING),
    (
        "hint",
        HANDLE + LEN + PATTERN,
        [Some(PREAMBLE + HANDLE + LEN), Some(PREAMBLE + HANDLE), None],
    ),
    (
        "ahead",
        HEADER + LEN + HANDLES,
        [Some(PREAMBLE), Some(PREAMBLE + HEADER), None],
    ),
    ("whole", HANDLE, NOTHING),
    ("early", HANDLE + LEN, [None, None, Some(PREAMBLE + HANDLE)]),
    (
        "request behind",
        HANDLES + LEN,
        [None, Some(PREAMBLE + HANDLES), None],
    ),
];

impl MpiHeader {
    fn read(from: &[u8], at: usize) -> Option<Self> {
        Some(MpiHeader {
            context: u32_at(from, at)?,
            tag: u32_at(from, at + 4)?,
        })
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        if let Some(MpiHeader { context, tag }) = self.envelope {
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
