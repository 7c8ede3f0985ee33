//! What parts of MPI keep in the world, each by its type: the world knows none of them, and a program that never uses a
//! part has nothing of it.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::{Any, TypeId};

/// At most one of each type.
#[derive(Default)]
pub(crate) struct Extensions(Vec<Box<dyn Any>>);

impl Extensions {
    /// The part of that type, from the first time on. Not inlined: many calls have it.
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
