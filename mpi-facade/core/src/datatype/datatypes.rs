//! The datatypes of a process, by handle.

use super::construction::{Argument, TypeObject};
use super::predefined::{all, predefined};
use super::shape::Shape;
#[cfg(not(feature = "layouts"))]
use super::type_layout::LEFT_OUT;
use super::type_layout::TypeLayout;
use crate::attribute::list::Attributes;
use crate::constants::*;
use crate::error::{Error, Kind};
use crate::handle_table::HandleTable;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::ptr;

/// All datatypes that are not contiguous predefined ones.
pub(crate) struct Datatypes {
    table: HandleTable<Entry>,
    /// The layouts of those predefined datatypes that are not dense: pairs with gaps, and all values that are converted.
    laid_out: Vec<(Datatype, Rc<TypeLayout>)>,
}

/// What a handle names.
pub(super) struct Entry {
    pub(super) object: Rc<TypeObject>,
    pub(super) name: Vec<u8>,
    pub(super) attributes: Attributes,
    pub(super) committed: bool,
    /// Whether it is the library's own, which the program cannot free: it may have the number of a freed handle.
    kept: bool,
}

/// Returns the error of a handle that names no datatype.
pub(super) fn unknown(datatype: Datatype) -> Error {
    Error::Handle {
        kind: Kind::Datatype,
        got: datatype.0,
    }
}

impl Datatypes {
    pub(crate) fn new() -> Self {
        let others = all().filter(|(_, known)| known.dense_size().is_none());
        let layouts = others.filter_map(|(datatype, known)| {
            let layout = TypeLayout::predefined(datatype, known).ok()?;
            Some((datatype, Rc::new(layout)))
        });
        Datatypes {
            table: HandleTable::default(),
            laid_out: layouts.collect(),
        }
    }

    /// Returns the shape of a datatype's items, for communication.
    #[cfg_attr(feature = "fast-paths", inline(always))]
    pub(crate) fn shape(&self, datatype: Datatype) -> Result<Shape, Error> {
        match predefined(datatype).and_then(|known| known.dense_size()) {
            Some(size) => Ok(Shape::dense(size)),
            None => self.other_shape(datatype),
        }
    }

    #[inline(never)]
    fn other_shape(&self, datatype: Datatype) -> Result<Shape, Error> {
        if let Some((_, layout)) = self.laid_out.iter().find(|(one, _)| *one == datatype) {
            return Ok(Shape::of(layout));
        }
        #[cfg(not(feature = "layouts"))]
        if predefined(datatype).is_some() {
            return Err(LEFT_OUT);
        }
        let entry = self.get(datatype)?;
        match entry.committed {
            true => Ok(Shape::of(&entry.object.layout)),
            false => Err(Error::NotCommitted { datatype }),
        }
    }

    /// Returns the layout of any datatype.
    #[inline(never)]
    pub(super) fn layout(&self, datatype: Datatype) -> Result<Rc<TypeLayout>, Error> {
        match predefined(datatype) {
            Some(known) => Ok(Rc::new(TypeLayout::predefined(datatype, known)?)),
            None => Ok(self.get(datatype)?.object.layout.clone()),
        }
    }

    /// Returns a derived datatype.
    pub(super) fn get(&self, datatype: Datatype) -> Result<&Entry, Error> {
        self.table.get(datatype.0).ok_or(unknown(datatype))
    }

    /// Returns a derived datatype.
    pub(super) fn get_mut(&mut self, datatype: Datatype) -> Result<&mut Entry, Error> {
        self.table.get_mut(datatype.0).ok_or(unknown(datatype))
    }

    /// Returns a derived datatype; `None` for a predefined one, which always exists.
    pub(crate) fn shared(&self, datatype: Datatype) -> Result<Option<Rc<TypeObject>>, Error> {
        match predefined(datatype) {
            Some(_) => Ok(None),
            None => Ok(Some(self.get(datatype)?.object.clone())),
        }
    }

    /// Adds a new datatype.
    pub(super) fn insert(&mut self, object: Rc<TypeObject>, committed: bool) -> Datatype {
        Datatype(self.table.insert(Entry {
            object,
            name: Vec::new(),
            attributes: Attributes::default(),
            committed,
            kept: false,
        }))
    }

    /// Returns a handle for a callback: the program's own one, or a new one if that no longer names the datatype.
    pub(crate) fn handle(&mut self, own: Datatype, shared: Option<&Rc<TypeObject>>) -> Datatype {
        match shared {
            Some(object)
                if !self
                    .get(own)
                    .is_ok_and(|entry| Rc::ptr_eq(&entry.object, object)) =>
            {
                self.insert(object.clone(), true)
            }
            _ => own,
        }
    }

    /// Returns another handle of a datatype, committed; a predefined one needs no other.
    pub(crate) fn keep(&mut self, datatype: Datatype) -> Result<Datatype, Error> {
        self.shape(datatype)?;
        Ok(match self.shared(datatype)? {
            None => datatype,
            Some(object) => {
                let kept = self.another(&object, true);
                self.get_mut(kept)?.kept = !object.is_unnamed();
                kept
            }
        })
    }

    /// Returns another handle of a datatype, which is to be freed; one without a name has its own alone.
    pub(super) fn another(&mut self, object: &Rc<TypeObject>, committed: bool) -> Datatype {
        let own = object
            .is_unnamed()
            .then(|| self.find(|it| ptr::eq(it, &**object)));
        own.flatten()
            .unwrap_or_else(|| self.insert(object.clone(), committed))
    }

    /// Returns the handle of a derived datatype that satisfies a condition.
    pub(super) fn find(&self, is_wanted: impl Fn(&TypeObject) -> bool) -> Option<Datatype> {
        let found = self.table.find(|entry| is_wanted(&entry.object));
        found.first().map(|handle| Datatype(*handle))
    }

    /// Removes a handle of the program, as [`Datatypes::remove`].
    pub(super) fn remove_own(&mut self, datatype: Datatype) -> bool {
        let is_own = self.get(datatype).is_ok_and(|entry| !entry.kept);
        is_own && self.remove(datatype)
    }

    /// Removes a handle, and the datatype if nothing else shares it; returns whether there was one.
    pub(crate) fn remove(&mut self, datatype: Datatype) -> bool {
        let entry = self.get(datatype);
        // One without a name lasts as long as MPI.
        entry.is_ok_and(|entry| !entry.object.is_unnamed())
            && self.table.remove(datatype.0).is_some()
    }

    /// Returns a datatype as the argument of a constructor.
    #[inline(never)]
    pub(super) fn argument(&self, datatype: Datatype) -> Result<Argument, Error> {
        Ok(match self.shared(datatype)? {
            None => Argument::Predefined(datatype),
            Some(object) => Argument::Derived(object, self.is_committed(datatype)?),
        })
    }

    /// Returns the named datatype with the values of an unnamed one; others are returned as they are.
    pub(crate) fn named(&self, datatype: Datatype) -> Datatype {
        let entry = self.get(datatype).ok();
        let unnamed = entry.filter(|entry| entry.object.is_unnamed());
        let value = unnamed.and_then(|entry| entry.object.layout.value_runs().next());
        value.map_or(datatype, |(named, _)| named)
    }

    /// Returns whether a datatype is committed.
    pub(super) fn is_committed(&self, datatype: Datatype) -> Result<bool, Error> {
        match predefined(datatype) {
            Some(_) => Ok(true),
            None => Ok(self.get(datatype)?.committed),
        }
    }
}
