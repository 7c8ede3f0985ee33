//! Copies of messages in the library's own memory, for sends that do not keep the program's.

use crate::datatype::Shape;
use crate::error::Error;
use crate::user_buffer::{Region, UserAddress};
use alloc::vec::Vec;
use core::mem::MaybeUninit;
use pombo_kernel::Source;

/// The data of a message, without the gaps between its items. The kernel reads it until the send is complete, so the
/// owner keeps it that long.
pub(crate) struct PackedMessage(Vec<MaybeUninit<u8>>);

impl PackedMessage {
    /// Copies a message, in the form in which it is sent.
    pub(crate) fn of(message: &Region) -> Result<Self, Error> {
        Self::copied(message, Region::copy_to)
    }

    /// Copies it in the form that it has in memory.
    pub(crate) fn as_it_is(message: &Region) -> Result<Self, Error> {
        Self::copied(message, Region::copy_unconverted)
    }

    fn copied(message: &Region, copy_to: impl Fn(&Region, &Region)) -> Result<Self, Error> {
        let mut copy = Self::room(message.len())?;
        copy_to(message, &copy.region());
        Ok(copy)
    }

    /// Returns memory for so many bytes.
    pub(crate) fn room(bytes: usize) -> Result<Self, Error> {
        let mut memory = Vec::new();
        let reserved = memory.try_reserve_exact(bytes);
        let no_memory = Error::NoMemory {
            bytes: bytes as u64,
        };
        reserved.map_err(|_| no_memory)?;
        memory.resize(bytes, MaybeUninit::uninit());
        Ok(PackedMessage(memory))
    }

    /// Returns the copy as a message of single bytes.
    pub(crate) fn region(&mut self) -> Region {
        let bytes = self.0.len();
        UserAddress::of(&mut self.0).region(bytes, Shape::BYTE)
    }
}
