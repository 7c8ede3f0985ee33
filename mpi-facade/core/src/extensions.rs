//! State of parts of MPI in the world, keyed by type: the world knows none of the types, and a program that never uses
//! a part does not contain it.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::{Any, TypeId};

/// A map with at most one value of each type. The one that was used last stands first, as calls that look at many
/// requests want the same one again.
#[derive(Default)]
pub(crate) struct Extensions(Vec<(TypeId, Box<dyn Any>)>);

impl Extensions {
    /// Returns the value of that type, made on first use. Not inlined: many calls contain it.
    #[inline(never)]
    pub(crate) fn get<T: Any + Default>(&mut self) -> &mut T {
        self.get_or(T::default)
    }

    /// The same of a type without a default.
    pub(crate) fn get_or<T: Any>(&mut self, make: impl Fn() -> T) -> &mut T {
        let wanted = TypeId::of::<T>();
        if self.0.first().is_none_or(|&(first, _)| first != wanted) {
            self.move_to_front(wanted, &|| Box::new(make()));
        }
        match self.0.first_mut().map(|(_, part)| part.downcast_mut()) {
            Some(Some(part)) => part,
            _ => unreachable!("it was looked for by its type"),
        }
    }

    #[inline(never)]
    fn move_to_front(&mut self, wanted: TypeId, make: &dyn Fn() -> Box<dyn Any>) {
        let place = self.0.iter().position(|&(own, _)| own == wanted);
        let place = place.unwrap_or_else(|| {
            self.0.push((wanted, make()));
            self.0.len() - 1
        });
        self.0.swap(0, place);
    }
}
