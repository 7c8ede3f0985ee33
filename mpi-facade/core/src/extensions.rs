//! State of parts of MPI in the world, keyed by type: the world knows none of the types, and a program that never uses
//! a part does not contain it.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::{Any, TypeId};

/// A map with at most one value of each type.
#[derive(Default)]
pub(crate) struct Extensions(Vec<Box<dyn Any>>);

impl Extensions {
    /// Returns the value of that type, made on first use. Not inlined: many calls contain it.
    #[inline(never)]
    pub(crate) fn get<T: Any + Default>(&mut self) -> &mut T {
        let part = self.find(TypeId::of::<T>(), || Box::<T>::default());
        match part.downcast_mut() {
            Some(part) => part,
            None => unreachable!("it was looked for by its type"),
        }
    }

    #[inline(never)]
    fn find(&mut self, kind: TypeId, make: fn() -> Box<dyn Any>) -> &mut dyn Any {
        let place = self.0.iter().position(|part| (**part).type_id() == kind);
        let place = place.unwrap_or_else(|| {
            self.0.push(make());
            self.0.len() - 1
        });
        &mut *self.0[place]
    }
}
