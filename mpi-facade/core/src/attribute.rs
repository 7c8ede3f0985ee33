//! Attributes: values of the program that objects keep by key, and the keys. Source: MPI 5.0, section 7.7.
//!
//! Communicators, datatypes and windows have them: an object that has attributes is an `Attributed`, and all calls
//! here work on every kind. A key belongs to one kind.
//!
//! The functions of a key may call all of MPI, so they run between two steps, while no call has the world. What a step
//! has read may be different in the next one: each looks up the object and its attributes again.

pub(crate) mod list;

use crate::c_arguments::{CopyFunction, DeleteFunction};
use crate::constants::MPI_KEYVAL_INVALID;
use crate::error::{Class, Error};
use crate::handle_table::HandleTable;
use crate::objects::Objects;
use crate::runtime::world::{self, CommError};
use core::ffi::{c_int, c_void};
use list::Attributes;

/// A kind of object with attributes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyvalKind {
    /// A communicator has the attributes.
    Comm,
    /// A datatype has them.
    Datatype,
    /// A window has them; no window can be made yet.
    Win,
}

/// The handle of an object with attributes.
pub(crate) trait Attributed: Copy {
    /// The kind of the keys.
    const KIND: KeyvalKind;

    /// Returns the handle as C passes it.
    fn bits(self) -> usize;

    /// Returns the object's attributes.
    fn attributes(self, objects: &mut Objects) -> Result<&mut Attributes, Error>;

    /// Returns the value of a predefined key, which may have none; `None` if the key is not predefined.
    fn predefined(self, keyval: c_int) -> Option<Option<*mut c_void>>;

    /// Returns an error of a call on the object.
    fn failure(self, error: Error) -> CommError;
}

/// A key that the program has made.
#[derive(Clone, Copy)]
struct Keyval {
    kind: KeyvalKind,
    copy: CopyFunction,
    delete: DeleteFunction,
    /// The argument for both functions.
    extra_state: *mut c_void,
    /// Number of attributes with this key.
    attributes: usize,
    /// Whether the program has freed it: it goes with its last attribute.
    freed: bool,
}

/// The keys of this process.
#[derive(Default)]
struct Keyvals(HandleTable<Keyval>);

impl Keyvals {
    /// Removes a key that nothing uses any more.
    fn sweep(&mut self, keyval: c_int) {
        let known = self.0.get(keyval as usize);
        if known.is_some_and(|known| known.freed && known.attributes == 0) {
            self.0.remove(keyval as usize);
        }
    }
}

fn keyvals(objects: &mut Objects) -> &mut Keyvals {
    objects.extensions.get()
}

/// Returns a key of that kind.
fn keyval(objects: &mut Objects, keyval: c_int, kind: KeyvalKind) -> Result<&mut Keyval, Error> {
    let known = usize::try_from(keyval).ok();
    let known = known.and_then(|keyval| keyvals(objects).0.get_mut(keyval));
    known.filter(|known| known.kind == kind).ok_or(WRONG_KEY)
}

const WRONG_KEY: Error = Error::Argument {
    class: Class::Keyval,
    name: "keyval",
    must: "a key that MPI_*_create_keyval made for this kind of object",
};

/// Creates a key, as `MPI_Comm_create_keyval`.
pub fn create_keyval(
    kind: KeyvalKind,
    copy: CopyFunction,
    delete: DeleteFunction,
    extra_state: *mut c_void,
) -> Result<c_int, CommError> {
    world::local(|objects| {
        let made = keyvals(objects).0.insert(Keyval {
            kind,
            copy,
            delete,
            extra_state,
            attributes: 0,
            freed: false,
        });
        Ok(made as c_int)
    })
}

/// Frees a key, as `MPI_Comm_free_keyval`. Attributes with the key stay, and its functions are still called. Returns
/// `MPI_KEYVAL_INVALID`.
pub fn free_keyval(kind: KeyvalKind, key: c_int) -> Result<c_int, CommError> {
    world::local(|objects| {
        let known = keyval(objects, key, kind)?;
        if known.freed {
            return Err(WRONG_KEY.into());
        }
        known.freed = true;
        keyvals(objects).sweep(key);
        Ok(MPI_KEYVAL_INVALID)
    })
}

/// Returns an attribute, as `MPI_Comm_get_attr`; `None` if it is not set.
pub(crate) fn get<H: Attributed>(object: H, key: c_int) -> Result<Option<*mut c_void>, CommError> {
    world::local(|objects| {
        object
            .attributes(objects)
            .map_err(|error| object.failure(error))?;
        if let Some(value) = object.predefined(key) {
            return Ok(value);
        }
        keyval(objects, key, H::KIND).map_err(|error| object.failure(error))?;
        Ok(object.attributes(objects)?.get(key))
    })
}

/// Sets an attribute, as `MPI_Comm_set_attr`. The former one is deleted first.
pub(crate) fn set<H: Attributed>(
    object: H,
    key: c_int,
    value: *mut c_void,
) -> Result<(), CommError> {
    delete(object, key)?;
    world::local(|objects| {
        store(objects, object, key, value).map_err(|error| object.failure(error))
    })
}

/// Deletes an attribute, as `MPI_Comm_delete_attr`, by the function of its key. If that fails, the attribute stays.
pub(crate) fn delete<H: Attributed>(object: H, key: c_int) -> Result<(), CommError> {
    let failure = |error| object.failure(error);
    let found = world::local(|objects| {
        object.attributes(objects).map_err(failure)?;
        let known = *keyval(objects, key, H::KIND).map_err(failure)?;
        let value = object.attributes(objects)?.get(key);
        Ok(value.map(|value| (known, value)))
    })?;
    let Some((known, value)) = found else {
        return Ok(());
    };
    let deleted = known
        .delete
        .call(object.bits(), key, value, known.extra_state);
    deleted.map_err(|code| failure(Error::Program { code }))?;
    world::local(|objects| {
        let Ok(attributes) = object.attributes(objects) else {
            // The function has freed the object.
            return Ok(());
        };
        if attributes.remove(key)
            && let Ok(known) = keyval(objects, key, H::KIND)
        {
            known.attributes -= 1;
            keyvals(objects).sweep(key);
        }
        Ok(())
    })
}

/// Deletes all attributes of an object before it is freed, the last one first.
pub(crate) fn delete_all<H: Attributed>(object: H) -> Result<(), CommError> {
    loop {
        let last = world::local(|objects| {
            let attributes = object.attributes(objects);
            Ok(attributes.map_err(|error| object.failure(error))?.last())
        })?;
        match last {
            Some(key) => delete(object, key)?,
            None => return Ok(()),
        }
    }
}

/// Copies the attributes of an object to its duplicate, as far as the functions of the keys want it.
pub(crate) fn copy_all<H: Attributed>(from: H, to: H) -> Result<(), CommError> {
    let failure = |error| from.failure(error);
    let keys = world::local(|objects| {
        let attributes = from.attributes(objects);
        Ok(attributes.map_err(failure)?.keys())
    })?;
    for key in keys {
        let found = world::local(|objects| {
            // An earlier function may have deleted it.
            let value = from.attributes(objects)?.get(key);
            let known = keyval(objects, key, H::KIND).ok().copied();
            Ok(value.zip(known))
        })?;
        let Some((value, known)) = found else {
            continue;
        };
        let copied = known.copy.call(from.bits(), key, known.extra_state, value);
        if let Some(value) = copied.map_err(|code| failure(Error::Program { code }))? {
            world::local(|objects| store(objects, to, key, value).map_err(failure))?;
        }
    }
    Ok(())
}

/// Sets an attribute and counts it.
fn store<H: Attributed>(
    objects: &mut Objects,
    object: H,
    key: c_int,
    value: *mut c_void,
) -> Result<(), Error> {
    keyval(objects, key, H::KIND)?;
    if object.attributes(objects)?.set(key, value) {
        keyval(objects, key, H::KIND)?.attributes += 1;
    }
    Ok(())
}
