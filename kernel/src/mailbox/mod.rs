//! Mailboxes whose buffers belong to the receiver: one more header, [`Mail`], and two more ports over the kernel. There is
//! no queue, no matching and no rendezvous here. Package `pombo-netdrivers` shares a [`System`] among threads; a program
//! without an allocator uses it as it is. Source: DECK-GM.
//!
//! A mailbox is [created](System::create) by name, found by that name from any process, and posted to from any process.
//! Messages have [size classes](SizeClasses); a mailbox has some buffers of each, which the driver fills. A message that
//! is [retrieved](System::retrieve) is the buffer itself, and it receives again when it is [given
//! back](System::give_back).
//!
//! | of the paper | here |
//! | --- | --- |
//! | receive buffers with tokens for each size | receives posted with the pattern (mailbox, size class): one while a class is idle |
//! | the queue of received messages | the completed ones among these, in post order |
//! | CTR1: provide a buffer of this size, answer to mailbox m | the announcement of a rendezvous, which a matched probe reads; it names the sender's operation |
//! | CTR2: ready; data | the kernel's request and data |
//! | high priority of large messages | a port of their own, with its own pool and credit |
//!
//! # States
//!
//! | state of a mailbox | entered by | messages to it |
//! | --- | --- | --- |
//! | asked | [`System::create`]; the name's keeper is asked | |
//! | live | [`System::found`], when the keeper agrees | taken as buffers are free |
//! | gone | [`System::destroy`] | dropped; posts are [`Error::Vanished`] as soon as the poster has been told |
//!
//! # Bounds, and the behaviour at each
//!
//! | bound | | at the bound |
//! | --- | --- | --- |
//! | buffers of a size class | [`SizeClasses`] | further messages of this class wait: first in the pool of the port, then with their sender; other classes and mailboxes go on |
//! | unexpected messages of a peer, on each port | the composition's pool | the peer keeps its messages, and posts wait |
//! | large messages of a mailbox in transfer | 1, and the memory of the last one is kept | announced ones wait with their senders |
//! | mailboxes of a process, names that it keeps | the composition's operations | [`Error::TooManyMailboxes`], [`Error::TooManyNames`] |
//! | mailboxes known to have vanished | 64 | the oldest is forgotten; the next post learns of it anew |
//! | length of a name | 48 bytes | [`Error::BadName`] |
//!
//! # Order
//!
//! Messages of one process to one mailbox are retrieved in the order of their posts, with two exceptions: one that finds
//! no free buffer of its class is passed by those of other classes, and a large one is passed by small ones.

mod class;
mod error;
mod header;
mod names;
mod state;
#[cfg(test)]
mod static_tests;
mod system;
mod tokens;
mod values;

pub use class::{FIRST_CLASS, LAST_CLASS, MAX_BUFFERS, SizeClasses, room};
pub use error::Error;
pub use header::{Address, Mail, Wanted};
pub use names::{MAX_NAME, Name, Request};
pub use state::{Buffers, System};
pub use system::{LetterOf, Sent, Want, fingerprint};
pub use tokens::{Letter, Tokens};
pub use values::{Number, Numbers, Pack, Unpack, unpack};
