//! Tables of operations that are not the kernel's: a handle is an index and a generation, so that a handle whose
//! operation has ended does not name the next one.

use super::handle::RequestKind;
use crate::constants::Request;
use crate::error::{Error, Kind};
use alloc::vec::Vec;

/// The operations of one kind. Memory and [`SLOTS`] bound their number.
pub(crate) struct RequestSlots<T> {
    slots: Vec<Slot<T>>,
    /// Indices of the slots without an operation.
    free: Vec<u32>,
}

struct Slot<T> {
    generation: usize,
    operation: Option<T>,
}

/// Most operations of a kind at a time.
const SLOTS: usize = 1 << 20;
const GENERATIONS: usize = RequestKind::HANDLES / SLOTS;

impl<T> Default for RequestSlots<T> {
    fn default() -> Self {
        RequestSlots {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> RequestSlots<T> {
    /// Returns whether [`RequestSlots::insert`] has room for one more operation.
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty() || self.slots.len() < SLOTS
    }

    /// Adds an operation and returns its handle. Fails if the table is full.
    pub(crate) fn insert(&mut self, kind: RequestKind, operation: T) -> Result<Request, Error> {
        if self.free.is_empty() && self.slots.len() < SLOTS {
            self.free.push(self.slots.len() as u32);
            self.slots.push(Slot {
                generation: 0,
                operation: None,
            });
        }
        let index = self.free.pop().ok_or(pombo_kernel::Error::Full)? as usize;
        let slot = &mut self.slots[index];
        slot.generation = (slot.generation + 1) % GENERATIONS;
        slot.operation = Some(operation);
        Ok(Request(kind.first() + index + slot.generation * SLOTS))
    }

    /// Returns the operation of a handle.
    pub(crate) fn get(&mut self, request: Request) -> Result<&mut T, Error> {
        let operation = self.slot(request).and_then(|slot| slot.operation.as_mut());
        operation.ok_or(unknown(request))
    }

    /// Takes the operation of a handle out, which invalidates the handle.
    pub(crate) fn remove(&mut self, request: Request) -> Result<T, Error> {
        let taken = self.slot(request).and_then(|slot| slot.operation.take());
        let operation = taken.ok_or(unknown(request))?;
        self.free.push(split(request).0 as u32);
        Ok(operation)
    }

    fn slot(&mut self, request: Request) -> Option<&mut Slot<T>> {
        let (index, generation) = split(request);
        let slot = self.slots.get_mut(index)?;
        (slot.generation == generation).then_some(slot)
    }
}

/// Returns index and generation of a handle.
fn split(request: Request) -> (usize, usize) {
    let first = RequestKind::of(request).map_or(0, RequestKind::first);
    let bits = request.0 - first;
    (bits % SLOTS, bits / SLOTS)
}

fn unknown(request: Request) -> Error {
    Error::Handle {
        kind: Kind::Request,
        got: request.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_of_ended_operations_name_nothing() {
        for kind in [
            RequestKind::Persistent,
            RequestKind::Compound,
            RequestKind::Generalized,
            RequestKind::Neighbourhood,
            RequestKind::Flush,
            RequestKind::Partitioned,
        ] {
            let mut slots = RequestSlots::default();
            let first = slots.insert(kind, 'a').unwrap();
            assert_eq!(RequestKind::of(first), Some(kind));
            assert_eq!(slots.get(first), Ok(&mut 'a'));
            assert_eq!(slots.remove(first), Ok('a'));
            let second = slots.insert(kind, 'b').unwrap();
            assert_ne!(first, second);
            assert!(slots.get(first).is_err() && slots.remove(first).is_err());
            assert_eq!(slots.get(second), Ok(&mut 'b'));
        }
    }

    #[test]
    fn generations_repeat_and_stay_in_the_range() {
        let mut slots = RequestSlots::default();
        let first = slots.insert(RequestKind::Persistent, 0).unwrap();
        slots.remove(first).unwrap();
        for turn in 1..GENERATIONS {
            let handle = slots.insert(RequestKind::Persistent, turn).unwrap();
            assert_eq!(RequestKind::of(handle), Some(RequestKind::Persistent));
            assert_ne!(handle, first);
            slots.remove(handle).unwrap();
        }
        assert_eq!(slots.insert(RequestKind::Persistent, 0), Ok(first));
    }
}
