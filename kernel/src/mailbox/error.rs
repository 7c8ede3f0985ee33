//! The errors of mailboxes.

use crate::error;
use core::fmt;

/// Errors of mailboxes and of their messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The name cannot be one; the text says why.
    BadName(&'static str),
    /// A mailbox of that name exists: choose another name, or clone it.
    Exists,
    /// No mailbox of that name was created in the given time.
    NoSuchName,
    /// The mailbox was destroyed: messages to it are dropped.
    Vanished,
    /// The mailbox is another process's: only threads of the process that created it retrieve.
    NotHere,
    /// The mailbox takes no more messages of this size class now: retrieve, clear messages, or wait longer.
    MailboxFull,
    /// The message has no size class: post it as a large one.
    TooLong {
        /// Length of the message in bytes.
        len: usize,
        /// The longest message with a size class in bytes.
        limit: usize,
    },
    /// This process has as many mailboxes as its composition allows: destroy some.
    TooManyMailboxes,
    /// The process that keeps this name has no room for another one: destroy some, or choose another name.
    TooManyNames,
    /// The next value of the message has another type.
    WrongType {
        /// The type that was asked for.
        wanted: &'static str,
        /// The type of the value.
        found: &'static str,
    },
    /// The message has no further value.
    NoMoreValues,
    /// The message was not written by `pack`, or not by this version of it.
    Malformed,
    /// There is no memory for a message of this length.
    NoMemory {
        /// Length in bytes.
        bytes: usize,
    },
    /// Nothing came in the given time.
    TimedOut,
    /// The kernel reports an error: a process is lost, a table is full, the channel is broken.
    Kernel(error::Error),
}

impl From<error::Error> for Error {
    fn from(error: error::Error) -> Self {
        Error::Kernel(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::BadName(reason) => write!(f, "no name of a mailbox: {reason}"),
            Error::Exists => f.write_str("a mailbox of that name exists: clone it, or choose another name"),
            Error::NoSuchName => f.write_str("no mailbox of that name was created in the given time"),
            Error::Vanished => f.write_str("the mailbox was destroyed"),
            Error::NotHere => f.write_str("only threads of the process that created a mailbox retrieve from it"),
            Error::MailboxFull => f.write_str(
                "the mailbox takes no more messages of this size now: retrieve, clear messages, or wait longer",
            ),
            Error::TooLong { len, limit } => write!(
                f,
                "a message of {len} bytes is longer than the {limit} of the largest size class: post it as a large one"
            ),
            Error::TooManyMailboxes => f.write_str("this process has as many mailboxes as it can have: destroy some"),
            Error::TooManyNames => {
                f.write_str("the process that keeps this name has no room for it: destroy some, or choose another name")
            }
            Error::WrongType { wanted, found } => {
                write!(f, "the next value is of type {found}, not {wanted}")
            }
            Error::NoMoreValues => f.write_str("the message has no further value"),
            Error::Malformed => f.write_str("the message does not consist of packed values"),
            Error::NoMemory { bytes } => write!(f, "there is no memory for a message of {bytes} bytes"),
            Error::TimedOut => f.write_str("nothing came in the given time"),
            Error::Kernel(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Error {}
