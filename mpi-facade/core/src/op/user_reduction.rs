//! The application of an operation of the program to items.

use super::user_operations::{UserFunction, UserOperation};
use crate::constants::{Count, Datatype};
use crate::datatype::{Shape, TypeObject};
use crate::error::Callback;
use crate::objects::Objects;
use crate::runtime::callback;
use crate::user_buffer::Region;
use alloc::rc::Rc;
use core::ffi::c_int;

/// An operation of the program bound to a datatype.
#[derive(Clone)]
pub(super) struct UserReduction {
    pub(super) operation: UserOperation,
    pub(super) datatype: Datatype,
    pub(super) shape: Shape,
    /// The datatype if it is derived, as the program may free it while the reduction is under way.
    pub(super) shared: Option<Rc<TypeObject>>,
}

impl UserReduction {
    /// Calls the function for the items of both regions.
    pub(super) fn apply(&self, objects: &mut Objects, input: &Region, inout: &Region) {
        let shape = &self.shape;
        let items = input.items(shape).min(inout.items(shape));
        let mut done = 0;
        while done < items {
            let rest = done..items;
            let (from, to) = (input.part(rest.clone(), shape), inout.part(rest, shape));
            done += self.call(objects, items - done, &from, &to);
        }
    }

    /// Calls the function once; returns the number of items, which for a plain function fit an `int`.
    fn call(&self, objects: &mut Objects, items: usize, input: &Region, inout: &Region) -> usize {
        let (from, to) = (input.address(), inout.address());
        let mut datatype = objects
            .datatypes
            .handle(self.datatype, self.shared.as_ref());
        let lent = datatype;
        let call = || match self.operation.function {
            UserFunction::Plain(function) => {
                let mut count = c_int::try_from(items).unwrap_or(c_int::MAX);
                let called = count as usize;
                function(from, to, &mut count, &mut datatype);
                called
            }
            UserFunction::Large(function) => {
                function(from, to, &mut { items as Count }, &mut datatype);
                items
            }
        };
        let called = callback::run(Callback::Operation, objects, call);
        if lent != self.datatype {
            objects.datatypes.remove(lent);
        }
        called
    }
}
