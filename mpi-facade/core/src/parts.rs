//! What parts of MPI keep in the world, each by its type: the world knows none of them, and a program that never uses a
//! part has nothing of it.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;

/// At most one of each type.
#[derive(Default)]
pub(crate) struct Parts(Vec<Box<dyn Any>>);

impl Parts {
    /// The part of that type, from the first time on.
    pub(crate) fn get<T: Any + Default>(&mut self) -> &mut T {
        let place = self.0.iter().position(|part| part.is::<T>());
        let place = place.unwrap_or_else(|| {
            self.0.push(Box::<T>::default());
            self.0.len() - 1
        });
        match self.0[place].downcast_mut() {
            Some(part) => part,
            None => unreachable!("the part at this place is of that type"),
        }
    }
}
