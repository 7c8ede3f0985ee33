//! Mailboxes for threads: the [kernel's](pombo_kernel::mailbox) over any channel, shared by the threads of a process.
//!
//! ```
//! use core::time::Duration;
//! use pombo_netdrivers::Loopback;
//! use pombo_netdrivers::mailbox::{Error, Mailboxes, Message, SizeClasses};
//!
//! # fn main() -> Result<(), Error> {
//! let mailboxes = Mailboxes::new(Loopback::world(1).remove(0), SizeClasses::default())?;
//! let orders = mailboxes.create("orders", Duration::from_secs(10))?;
//! std::thread::scope(|scope| {
//!     scope.spawn(|| {
//!         let orders = mailboxes.clone_mailbox("orders", Duration::from_secs(10))?;
//!         let mut message = Message::new();
//!         message.pack(3_u32).pack("pigeons");
//!         orders.post(&mut message)
//!     });
//!     let mut message = Message::new();
//!     orders.retrieve(&mut message)?;
//!     assert_eq!(message.unpack::<u32>()?, 3);
//!     assert_eq!(message.unpack::<&str>()?, "pigeons");
//!     Ok(())
//! })
//! # }
//! ```
//!
//! # Who makes progress
//!
//! By default whichever thread waits in a call does, for all; the others that wait are woken. A process that computes
//! answers nobody meanwhile, also not as the keeper of names: unless a receiver thread is in [`Mailboxes::serve`], which
//! makes progress while no other thread does, from some hundred microseconds after the last call on. A thread that waits
//! in a call receives its messages itself all the same, so that they take no hop from thread to thread.
//!
//! # Back-pressure
//!
//! A post returns when the message has left. If its mailbox has no free buffer of the size class, the other process keeps
//! some messages for each sender (of 2048 in all, divided evenly); then posts wait, until [`Error::MailboxFull`] when
//! their time is over. Messages of other classes and to other mailboxes pass those that wait, but of one thread only what it
//! posts from another call: threads that must not wait for each other use time-outs.

mod hand_over;
mod heap;
mod mailboxes;
mod message;
mod sync;

pub use heap::{Buffer, Heap, Packed};
pub use mailboxes::{LargeTicket, Mailbox, Mailboxes, Mailing, fingerprint};
pub use message::Message;
pub use pombo_kernel::mailbox::{
    Error, MAX_NAME, Number, Numbers, Pack, SizeClasses, Tokens, Unpack,
};
