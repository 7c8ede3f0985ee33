//! The header of mailboxes, on both ports, and the pattern by which receives select. Only `mailbox` uses it.
//!
//! The port of letters carries messages that have a size class. The port of control, whose pool and credit are its own,
//! carries announcements of large messages and the requests of the name service.

use super::class::{CLASSES, FIRST_CLASS};
use crate::header::{Header, Pattern, Peer, fold};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A mailbox of a process. Numbers are reused, generations are not before 2^16 mailboxes of one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// The process that created it.
    pub peer: Peer,
    pub(super) index: u16,
    pub(super) generation: u16,
}

impl Address {
    /// No mailbox, where a header has no use for one.
    pub(super) const NONE: Self = Address {
        peer: Peer(0),
        index: 0,
        generation: 0,
    };
}

/// The header of a message.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Mail {
    /// A size class, or one of the kinds below.
    pub(super) class: u8,
    pub(super) index: U16,
    pub(super) generation: U16,
    /// Of a letter: the number of its sender's post; of a request and its reply: the request.
    pub(super) number: U32,
}

/// A large message.
pub(super) const LARGE: u8 = 32;
/// Requests to the process that keeps a name, which is the payload.
pub(super) const REGISTER: u8 = 40;
pub(super) const LOOKUP: u8 = 41;
pub(super) const FORGET: u8 = 42;
/// A notice: the mailbox is destroyed.
pub(super) const GONE: u8 = 43;
/// Replies: the mailbox of that name; no such name; another mailbox has that name; no room for a name.
pub(super) const KNOWN: u8 = 48;
pub(super) const UNKNOWN: u8 = 49;
pub(super) const TAKEN: u8 = 50;
pub(super) const NO_ROOM: u8 = 51;

impl Mail {
    pub(super) fn to(class: u8, address: Address, number: u32) -> Self {
        Mail {
            class,
            index: address.index.into(),
            generation: address.generation.into(),
            number: number.into(),
        }
    }

    /// Returns the mailbox that the header names, at this peer.
    pub(super) fn address(&self, peer: Peer) -> Address {
        Address {
            peer,
            index: self.index.get(),
            generation: self.generation.get(),
        }
    }
}

/// What a receive waits for.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Wanted {
    /// One bit for each class or kind.
    classes: U64,
    index: U16,
    generation: U16,
    number: U32,
    from: U16,
    by: u8,
}

/// What a pattern compares besides the class: the mailbox; its number and that it is no younger; the sender and the
/// number of a request; nothing.
const MAILBOX: u8 = 0;
const STALE: u8 = 1;
const REPLY: u8 = 2;
const ANYTHING: u8 = 3;

/// The classes of patterns: one class and the mailbox, the number of a mailbox, the number of a request, the rest.
const BY_CLASS: usize = 0;
const BY_INDEX: usize = 1;
const BY_NUMBER: usize = 2;
const BY_NOTHING: usize = 3;

/// The bits of all size classes.
pub(super) const LETTERS: u64 = ((1 << CLASSES) - 1) << FIRST_CLASS;

/// The bits of all replies.
const REPLIES: u64 = 1 << KNOWN | 1 << UNKNOWN | 1 << TAKEN | 1 << NO_ROOM;

impl Wanted {
    fn new(by: u8, classes: u64) -> Self {
        Wanted {
            classes: classes.into(),
            index: 0.into(),
            generation: 0.into(),
            number: 0.into(),
            from: u16::MAX.into(),
            by,
        }
    }

    fn mailbox(by: u8, classes: u64, address: Address) -> Self {
        Wanted {
            index: address.index.into(),
            generation: address.generation.into(),
            ..Self::new(by, classes)
        }
    }

    /// Returns the pattern of messages of one class to a mailbox.
    pub(super) fn class_of(class: u8, address: Address) -> Self {
        Self::mailbox(MAILBOX, 1 << class, address)
    }

    /// Returns the pattern of messages of several classes to a mailbox.
    pub(super) fn classes_of(classes: u64, address: Address) -> Self {
        Self::mailbox(MAILBOX, classes, address)
    }

    /// Returns the pattern of messages to this mailbox and to earlier ones with its number.
    pub(super) fn stale(address: Address) -> Self {
        Self::mailbox(STALE, LETTERS | 1 << LARGE, address)
    }

    /// Returns the pattern of the reply to a request.
    pub(super) fn reply(from: Peer, number: u32) -> Self {
        Wanted {
            number: number.into(),
            from: from.0.into(),
            ..Self::new(REPLY, REPLIES)
        }
    }

    /// Returns the pattern of replies to any request.
    pub(super) fn any_reply() -> Self {
        Self::new(ANYTHING, REPLIES)
    }

    /// Returns the pattern of requests and notices.
    pub(super) fn request() -> Self {
        Self::new(
            ANYTHING,
            1 << REGISTER | 1 << LOOKUP | 1 << FORGET | 1 << GONE,
        )
    }
}

impl Header for Mail {
    const NAME: &'static str = "Mail class:u8 index:U16 generation:U16 number:U32";
    type Pattern = Wanted;
}

impl Pattern<Mail> for Wanted {
    const CLASSES: usize = 4;

    #[inline]
    fn matches(&self, from: Peer, mail: &Mail) -> bool {
        let same = self.classes.get() >> (mail.class & 63) & 1 != 0 && mail.class < 64;
        same && match self.by {
            MAILBOX => self.index == mail.index && self.generation == mail.generation,
            STALE => {
                let age = self.generation.get().wrapping_sub(mail.generation.get());
                self.index == mail.index && age <= u16::MAX / 2
            }
            REPLY => self.number == mail.number && self.from.get() == from.0,
            _ => true,
        }
    }

    fn source(&self) -> Option<Peer> {
        (self.by == REPLY).then(|| Peer(self.from.get()))
    }

    #[inline]
    fn class(&self) -> (usize, u32) {
        let classes = self.classes.get();
        let class = match self.by {
            MAILBOX if classes.is_power_of_two() => BY_CLASS,
            MAILBOX | STALE => BY_INDEX,
            REPLY => BY_NUMBER,
            _ => BY_NOTHING,
        };
        let mail = Mail {
            class: classes.trailing_zeros() as u8,
            index: self.index,
            generation: self.generation,
            number: self.number,
        };
        (class, Self::key(class, Peer(0), &mail))
    }

    #[inline]
    fn key(class: usize, _from: Peer, mail: &Mail) -> u32 {
        let (index, generation) = (mail.index.get(), mail.generation.get());
        match class {
            BY_CLASS => fold([
                mail.class.into(),
                u32::from(index) << 16 | u32::from(generation),
            ]),
            BY_INDEX => index.into(),
            BY_NUMBER => mail.number.get(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wanted(kind: u8, class: u8, address: Address, number: u32) -> Wanted {
        match kind {
            0 => Wanted::class_of(class, address),
            1 => Wanted::classes_of(0b11 << class, address),
            2 => Wanted::stale(address),
            3 => Wanted::reply(address.peer, number),
            4 => Wanted::any_reply(),
            _ => Wanted::request(),
        }
    }

    proptest! {
        /// Checks the contract of classes: a pattern that matches has the key of the header.
        #[test]
        fn what_matches_has_the_key(
            kind in 0_u8..6, class in 3_u8..7, one in (0_u16..3, 0_u16..3, 0_u16..3),
            other in (0_u16..3, 0_u16..3, 0_u16..3), kinds in proptest::sample::select(&[3, 4, 5, LARGE, REGISTER, GONE, KNOWN, TAKEN][..]),
            numbers in (0_u32..3, 0_u32..3),
        ) {
            let address = |(peer, index, generation)| Address { peer: Peer(peer), index, generation };
            let pattern = wanted(kind, class, address(one), numbers.0);
            let mail = Mail::to(kinds, address(other), numbers.1);
            let (its_class, key) = pattern.class();
            prop_assert!(its_class < <Wanted as Pattern<Mail>>::CLASSES);
            if pattern.matches(Peer(other.0), &mail) {
                prop_assert_eq!(key, Wanted::key(its_class, Peer(other.0), &mail));
                prop_assert!(pattern.source().is_none_or(|source| source.0 == other.0));
            }
        }
    }
}
