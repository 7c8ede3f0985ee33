//! The errors of the MPI layer: one enum, from which the standard's error class follows.
//!
//! All of `mpi-facade` uses it. Nothing here allocates, and every message fits `MPI_MAX_ERROR_STRING`.

mod callback_kind;
mod class;
mod comm_error;
mod sentence;

pub use callback_kind::Callback;
pub use class::Class;
pub use comm_error::CommError;

use crate::constants::{Datatype, Op};
use crate::datatype::Shown;
use crate::op::names;
use crate::runtime::phase;
use core::ffi::c_int;
use pombo_job::log::LogLine;
use pombo_kernel::channel::ChannelError;
use pombo_kernel::text::{Hexadecimal, ToText, WriteText, fields, fill, line};
use pombo_netdrivers::Errno;

/// An error of an MPI call. Its `Display` names the wrong argument or state and the valid one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// A rank outside of the communicator.
    Rank {
        /// The rank that was passed.
        got: c_int,
        /// Ranks of the communicator (of its remote group where there is one).
        size: c_int,
    },
    /// A rank outside of a group.
    GroupRank {
        /// The rank that was passed.
        got: c_int,
        /// Ranks of the group.
        size: c_int,
    },
    /// A root outside of the communicator.
    Root {
        /// The root that was passed.
        got: c_int,
        /// Ranks of the communicator.
        size: c_int,
    },
    /// A tag that no message can carry.
    Tag {
        /// The tag that was passed.
        got: c_int,
        /// The value of the attribute `MPI_TAG_UB`.
        largest: c_int,
    },
    /// A negative count.
    Count {
        /// The count that was passed.
        got: i64,
    },
    /// A null buffer where elements are to be read or written.
    Buffer {
        /// Elements that the call should move.
        count: i64,
    },
    /// A null, freed or foreign handle.
    Handle {
        /// What the handle should name.
        kind: Kind,
        /// The handle that was passed.
        got: usize,
    },
    /// A datatype that was made but not committed.
    NotCommitted {
        /// The datatype that was passed.
        datatype: Datatype,
    },
    /// An operation that does not apply to a datatype.
    Reduction {
        /// The operation that was passed.
        op: Op,
        /// The datatype that was passed.
        datatype: Datatype,
    },
    /// Another invalid argument.
    Argument {
        /// The class that the standard assigns to it.
        class: Class,
        /// The argument, as the standard names it.
        name: &'static str,
        /// What it must be.
        must: &'static str,
    },
    /// A message longer than its receive buffer.
    Truncated {
        /// Bytes of the message.
        sent: u64,
        /// Bytes of the buffer.
        room: u64,
        /// Rank of the sender in the communicator, where the call knows it.
        source: Option<c_int>,
        /// Tag of the message, which those of collective calls do not have.
        tag: Option<c_int>,
    },
    /// A collective call in which another rank sends another length than this one expects.
    Unequal {
        /// Bytes received.
        sent: u64,
        /// Bytes expected.
        room: u64,
        /// The other rank, where this one knows it.
        source: Option<c_int>,
    },
    /// A process that has ended while it was still needed.
    PeerLost {
        /// Its rank in `MPI_COMM_WORLD`.
        rank: c_int,
    },
    /// An error code of the program: a function of the program returned it, or it was passed to
    /// `MPI_Comm_call_errhandler`.
    Program {
        /// The code.
        code: c_int,
    },
    /// Something that this library exports but does not implement.
    Unsupported {
        /// The function, datatype or operation.
        name: &'static str,
    },
    /// A call before `MPI_Init`.
    NotInitialised,
    /// A call after `MPI_Finalize`.
    Finalised,
    /// A call while another one is under way.
    Overlapping,
    /// A call inside a callback that must wait until the callback has returned.
    InCallback {
        /// The kind of callback.
        callback: Callback,
    },
    /// A call in a child process that a rank has forked.
    Forked {
        /// The rank that forked it.
        rank: c_int,
    },
    /// This process cannot join its job. The reason was printed where it was found.
    NotJoined,
    /// An error of the kernel.
    Kernel(pombo_kernel::Error),
    /// Memory could not be allocated.
    NoMemory {
        /// Bytes that were requested.
        bytes: u64,
    },
}

/// The object that a handle names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// `MPI_Comm`.
    Comm,
    /// `MPI_Datatype`.
    Datatype,
    /// `MPI_Errhandler`.
    Errhandler,
    /// `MPI_File`.
    File,
    /// `MPI_Group`.
    Group,
    /// `MPI_Info`.
    Info,
    /// `MPI_Message`.
    Message,
    /// `MPI_Op`.
    Op,
    /// `MPI_Request`.
    Request,
    /// `MPI_Session`.
    Session,
    /// `MPI_Win`.
    Win,
}

/// Returns the text of a predefined error class, as `MPI_Error_string`.
pub const fn error_string(code: c_int) -> Option<&'static str> {
    match Class::from_code(code) {
        Some(class) => Some(class.text()),
        None => None,
    }
}

impl Error {
    /// Returns the error class of the standard, which the call returns.
    pub const fn class(&self) -> Class {
        match self {
            Self::Rank { .. } | Self::GroupRank { .. } => Class::Rank,
            Self::Root { .. } => Class::Root,
            Self::Tag { .. } => Class::Tag,
            Self::Count { .. } => Class::Count,
            Self::Buffer { .. } => Class::Buffer,
            Self::Handle { kind, .. } => kind.class(),
            Self::NotCommitted { .. } => Class::Type,
            Self::Reduction { .. } => Class::Op,
            Self::Argument { class, .. } => *class,
            Self::Truncated { .. } | Self::Unequal { .. } => Class::Truncate,
            Self::PeerLost { .. } => Class::ProcAborted,
            Self::Program { code } => match Class::from_code(*code) {
                Some(class) => class,
                None => Class::Other,
            },
            Self::Unsupported { .. } => Class::UnsupportedOperation,
            Self::NotInitialised | Self::Finalised | Self::NotJoined => Class::Other,
            Self::Overlapping | Self::InCallback { .. } | Self::Forked { .. } => Class::Other,
            Self::NoMemory { .. } => Class::NoMem,
            Self::Kernel(_) => Class::Other,
        }
    }

    /// Returns the error of a collective call in which another rank sends `sent` bytes and this one expects `room`.
    #[cold]
    pub(crate) const fn unequal(sent: u64, room: u64) -> Self {
        let source = None;
        match sent > room {
            true => Self::Truncated {
                sent,
                room,
                source,
                tag: None,
            },
            false => Self::Unequal { sent, room, source },
        }
    }

    /// Returns the error with the sender and the tag of the message whose length is wrong; others stay as they are.
    #[cold]
    pub(crate) fn of_message(mut self, from: c_int, carried: Option<c_int>) -> Self {
        if let Self::Truncated { source, .. } | Self::Unequal { source, .. } = &mut self {
            *source = Some(from);
        }
        if let Self::Truncated { tag, .. } = &mut self {
            *tag = carried;
        }
        self
    }

    /// Returns whether the error is only a disagreement on lengths, after which the operation is complete.
    pub(crate) const fn is_unequal(&self) -> bool {
        matches!(self, Self::Truncated { .. } | Self::Unequal { .. })
    }

    /// Returns the code that the call returns: the ABI value of the class, or the program's own code.
    pub const fn code(&self) -> c_int {
        match *self {
            Self::Program { code } => code,
            _ => self.class() as c_int,
        }
    }
}

/// A line of words for each kind, in the order of their declaration.
const WORDS: &str = "\
communicator;MPI_COMM_NULL;MPI_COMM_WORLD or what MPI_Comm_dup and its like made
datatype;MPI_DATATYPE_NULL;a predefined one or what MPI_Type_* made
error handler;MPI_ERRHANDLER_NULL;MPI_ERRORS_RETURN or another that exists
file;MPI_FILE_NULL;what MPI_File_open made
group;MPI_GROUP_NULL;what MPI_Comm_group or MPI_Group_* made
info;MPI_INFO_NULL;what MPI_Info_create made
message;MPI_MESSAGE_NULL;what MPI_Mprobe gave, once
operation;MPI_OP_NULL;a predefined one or what MPI_Op_create made
request;MPI_REQUEST_NULL;what a non-blocking call gave, until it completes
session;MPI_SESSION_NULL;what MPI_Session_init made
window;MPI_WIN_NULL;what MPI_Win_* made
";

impl Kind {
    const fn class(self) -> Class {
        match self {
            Self::Comm => Class::Comm,
            Self::Datatype => Class::Type,
            Self::Errhandler => Class::Errhandler,
            Self::File => Class::File,
            Self::Group => Class::Group,
            Self::Info => Class::Info,
            Self::Message | Self::Request => Class::Request,
            Self::Op => Class::Op,
            Self::Session => Class::Session,
            Self::Win => Class::Win,
        }
    }

    /// Returns the object's name in a message, the name of its null handle, and what makes a handle.
    fn words(self) -> [&'static str; 3] {
        let mut words = fields(line(WORDS, self as usize), b';');
        [(); 3].map(|()| words.next().unwrap_or_default())
    }

    const fn null(self) -> usize {
        use crate::constants::{
            Comm, Errhandler, File, Group, Info, Message, Request, Session, Win,
        };
        match self {
            Self::Comm => Comm::NULL.0,
            Self::Datatype => Datatype::NULL.0,
            Self::Errhandler => Errhandler::NULL.0,
            Self::File => File::NULL.0,
            Self::Group => Group::NULL.0,
            Self::Info => Info::NULL.0,
            Self::Message => Message::NULL.0,
            Self::Op => Op::NULL.0,
            Self::Request => Request::NULL.0,
            Self::Session => Session::NULL.0,
            Self::Win => Win::NULL.0,
        }
    }
}

pombo_kernel::text::display_as_text! { Error }

impl ToText for Error {
    fn put_text(&self, out: &mut dyn WriteText) {
        match *self {
            Self::Rank { got, size } => out_of_ranks(out, "rank", got, size),
            Self::GroupRank { got, size } => {
                fill!(
                    out,
                    "invalid rank {}: the group has {} ranks, from 0",
                    got,
                    size
                )
            }
            Self::Root { got, size } => out_of_ranks(out, "root", got, size),
            Self::Tag { got, largest } => {
                fill!(out, "invalid tag {}: a tag is 0 to {}", got, largest)
            }
            Self::Count { got } => fill!(out, "invalid count {}: it must not be negative", got),
            Self::Buffer { count } => fill!(out, "null buffer: {} elements need memory", count),
            Self::Handle { kind, got } => wrong_handle(out, kind, got),
            Self::NotCommitted { datatype } => {
                fill!(
                    out,
                    "datatype {} is not committed: call MPI_Type_commit first",
                    Shown(datatype)
                )
            }
            Self::Reduction { op, datatype } => {
                let (op, datatype, domain) = (names::Shown(op), Shown(datatype), names::domain(op));
                fill!(
                    out,
                    "{} does not apply to {}: it takes {}",
                    op,
                    datatype,
                    domain
                )
            }
            Self::Argument { name, must, .. } => {
                fill!(out, "invalid argument {}: it must be {}", name, must)
            }
            Self::Truncated { .. } | Self::Unequal { .. } | Self::Unsupported { .. } => {
                let mut line = LogLine::new();
                self.put_sentence(&mut line);
                line.put_text(out);
            }
            Self::PeerLost { rank } => fill!(
                out,
                "rank {} of MPI_COMM_WORLD has ended: see its own messages",
                rank
            ),
            Self::Program { code } => fill!(out, "error code {} of the program", code),
            Self::NotInitialised => out.write_text("MPI is not initialised: call MPI_Init first"),
            Self::Finalised => {
                out.write_text("MPI is finalised: move this call before MPI_Finalize")
            }
            Self::Overlapping => fill!(
                out,
                "two threads, or a thread and a handler of signals, are inside MPI at once, but MPI_Init_thread gave \
                 {}: let one call end before the next begins",
                phase::level()
            ),
            Self::InCallback { callback } => fill!(
                out,
                "called inside {}, for which a call of MPI waits: only local functions and MPI_Abort work there, so \
                 communicate after that call",
                callback.noun()
            ),
            Self::Forked { rank } => fill!(
                out,
                "this process was forked from rank {}; only rank {} may call MPI",
                rank,
                rank
            ),
            Self::NotJoined => out.write_text("this process cannot join its job: see its message"),
            Self::Kernel(pombo_kernel::Error::Channel(ChannelError::Device(errno))) => {
                fill!(out, "the network between hosts failed: {}", Errno(errno))
            }
            Self::Kernel(error) => error.put_text(out),
            Self::NoMemory { bytes } => fill!(
                out,
                "no memory for {} bytes: use smaller or fewer buffers",
                bytes
            ),
        }
    }
}

impl core::error::Error for Error {}

impl From<pombo_kernel::Error> for Error {
    fn from(error: pombo_kernel::Error) -> Self {
        match error {
            pombo_kernel::Error::Truncated { sent, room } => Self::Truncated {
                sent: sent as u64,
                room: room as u64,
                source: None,
                tag: None,
            },
            pombo_kernel::Error::PeerLost(peer) => Self::PeerLost {
                rank: peer.0.into(),
            },
            other => Self::Kernel(other),
        }
    }
}

fn out_of_ranks(out: &mut dyn WriteText, what: &str, got: c_int, size: c_int) {
    match size {
        ..=0 => fill!(out, "invalid {} {}: the group is empty", what, got),
        1 => fill!(
            out,
            "invalid {} {}: the communicator has 1 rank, 0",
            what,
            got
        ),
        _ => fill!(
            out,
            "invalid {} {}: the communicator has {} ranks (0 to {})",
            what,
            got,
            size,
            size - 1
        ),
    }
}

fn wrong_handle(out: &mut dyn WriteText, kind: Kind, got: usize) {
    let [noun, null, source] = kind.words();
    if got == kind.null() {
        fill!(out, "{} is not allowed here: pass {}", null, source)
    } else {
        fill!(
            out,
            "invalid {} 0x{}: freed, or never one; pass {}",
            noun,
            Hexadecimal(got as u64, 1),
            source
        )
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::constants::{MPI_BAND, MPI_DOUBLE, MPI_ERR_LASTCODE, MPI_MAX_ERROR_STRING};
    use std::string::ToString;

    #[test]
    fn messages_name_the_thing_and_the_remedy() {
        let shown = [
            (
                Error::Rank { got: 7, size: 4 },
                "invalid rank 7: the communicator has 4 ranks (0 to 3)",
            ),
            (
                Error::Root { got: -1, size: 1 },
                "invalid root -1: the communicator has 1 rank, 0",
            ),
            (
                Error::Tag {
                    got: -5,
                    largest: 99,
                },
                "invalid tag -5: a tag is 0 to 99",
            ),
            (
                Error::Handle {
                    kind: Kind::Comm,
                    got: 256,
                },
                "MPI_COMM_NULL is not allowed here: pass MPI_COMM_WORLD or what MPI_Comm_dup and its like made",
            ),
            (
                Error::Handle {
                    kind: Kind::Request,
                    got: 0x1234,
                },
                "invalid request 0x1234: freed, or never one; pass what a non-blocking call gave, until it completes",
            ),
            (
                Error::Reduction {
                    op: MPI_BAND,
                    datatype: MPI_DOUBLE,
                },
                "MPI_BAND does not apply to MPI_DOUBLE: it takes integers and MPI_BYTE",
            ),
            (
                pombo_kernel::Error::from(ChannelError::Device(6)).into(),
                "the network between hosts failed: No such device or address (error number 6)",
            ),
        ];
        for (error, text) in shown {
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn every_kind_has_its_own_words() {
        for kind in [
            Kind::Comm,
            Kind::Datatype,
            Kind::Errhandler,
            Kind::File,
            Kind::Group,
            Kind::Info,
            Kind::Message,
            Kind::Op,
            Kind::Request,
            Kind::Session,
            Kind::Win,
        ] {
            let [noun, null, source] = kind.words();
            let name = std::format!("{kind:?}").to_uppercase();
            assert_eq!(null, std::format!("MPI_{name}_NULL"));
            assert!(!noun.is_empty() && !source.is_empty());
        }
    }

    #[test]
    fn every_class_is_found_by_its_code_and_fits_the_standards_length() {
        for &(class, text) in Class::ALL {
            assert_eq!(Class::from_code(class as c_int), Some(class));
            assert_eq!(class.text(), text);
            assert!(class.text().len() < MPI_MAX_ERROR_STRING as usize);
            assert!((class as c_int) < MPI_ERR_LASTCODE);
        }
        assert_eq!(Class::ALL.len(), 81);
        assert_eq!(error_string(6), Some("MPI_ERR_RANK: invalid rank"));
        assert_eq!(error_string(63), None);
        assert_eq!(error_string(-1), None);
    }
}
