//! The header of mailboxes, on both ports, and the pattern by which receives select. Only `mailbox` uses it.
//!
//! The port of letters carries messages that have a size class. The port of control, whose pool and credit are its own,
//! carries announcements of large messages and the requests of the name service.

use crate::header::{Header, Pattern, Peer, fold};
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A mailbox of a process. Numbers are reused, generations are not before 2^16 mailboxes of one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// The process that created it.
    pub peer: Peer,
    pub(super) index: u16,
    pub(super) generation: u16,
}

/// The header of a message.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Mail {
    /// A size class, or one of the kinds below.
    pub(super) class: u8,
    index: U16,
    generation: U16,
    /// Of a letter: the number of its sender's post; of a request and its reply: the request.
    pub(super) number: U32,
}

/// A large message.
pub(super) const LARGE: u8 = 32;
/// The reply of the name service to one request, which its address names.
pub(super) const REPLY: u8 = 33;
/// The least kind that every process receives; as a pattern, all of them.
pub(super) const SERVICE: u8 = 40;
/// Requests to the process that keeps a name, which is the payload.
pub(super) const REGISTER: u8 = 40;
pub(super) const LOOKUP: u8 = 41;
pub(super) const FORGET: u8 = 42;
/// A notice: the mailbox is destroyed.
pub(super) const GONE: u8 = 43;

impl Address {
    /// Returns the address of this number: of the mailbox at this place, or what stands for a request.
    pub(super) fn of_number(peer: Peer, number: u32) -> Self {
        let (index, generation) = (number as u16, (number >> 16) as u16);
        Address {
            peer,
            index,
            generation,
        }
    }
}

impl Mail {
    pub(super) fn new(class: u8, address: Address, number: u32) -> Self {
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

/// What a receive waits for: messages of one class or kind to one mailbox, or all of the name service. The number is 0, or
/// 1 more than that of the only peer.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Wanted(Mail);

impl Wanted {
    pub(super) fn new(class: u8, address: Address, from: Option<Peer>) -> Self {
        let number = from.map_or(0, |peer| u32::from(peer.0) + 1);
        Wanted(Mail::new(class, address, number))
    }
}

impl Header for Mail {
    const NAME: &'static str = "Mail class:u8 index:U16 generation:U16 number:U32";
    type Pattern = Wanted;
}

impl Pattern<Mail> for Wanted {
    const CLASSES: usize = 2;

    #[inline]
    fn matches(&self, from: Peer, mail: &Mail) -> bool {
        let Wanted(it) = self;
        let is_for =
            it.class == mail.class && it.index == mail.index && it.generation == mail.generation;
        (is_for || it.class == SERVICE && mail.class >= SERVICE)
            && self.source().is_none_or(|source| source == from)
    }

    #[inline]
    fn source(&self) -> Option<Peer> {
        let peer = self.0.number.get().checked_sub(1)?;
        Some(Peer(peer as u16))
    }

    #[inline]
    fn class(&self) -> (usize, u32) {
        let class = usize::from(self.0.class == SERVICE);
        (class, Self::key(class, Peer(0), &self.0))
    }

    #[inline]
    fn key(class: usize, _from: Peer, mail: &Mail) -> u32 {
        let (index, generation) = (u32::from(mail.index.get()), mail.generation.get());
        match class {
            0 => fold([mail.class.into(), index << 16 | u32::from(generation)]),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Checks the contract of classes: a pattern that matches has the key of the header.
        #[test]
        fn what_matches_has_the_key(
            class in 3_u8..7, only in proptest::option::of(0_u16..2), one in (0_u16..3, 0_u16..3), other in (0_u16..3, 0_u16..3), is_service in any::<bool>(),
            kind in proptest::sample::select(&[3, 4, 5, 6, LARGE, REPLY, REGISTER, GONE][..]), number in 0_u32..3,
        ) {
            let address = |(index, generation)| Address { peer: Peer(0), index, generation };
            let class = if is_service { SERVICE } else { class };
            let pattern = Wanted::new(class, address(one), only.map(Peer));
            let mail = Mail::new(kind, address(other), number);
            let is_wanted = match is_service {
                true => kind >= SERVICE,
                false => kind == class && one == other,
            } && only.is_none_or(|peer| peer == 1);
            prop_assert_eq!(pattern.matches(Peer(1), &mail), is_wanted);
            let (its_class, key) = pattern.class();
            prop_assert!(its_class < <Wanted as Pattern<Mail>>::CLASSES);
            prop_assert!(!is_wanted || key == Wanted::key(its_class, Peer(1), &mail));
        }
    }
}
