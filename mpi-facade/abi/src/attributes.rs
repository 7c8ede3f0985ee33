//! Attributes of communicators, also under their deprecated names, and of datatypes.

use crate::arguments::{InOut, Out};
use core::ffi::{c_int, c_void};
use pombo_mpi::attribute::{KeyvalKind, create_keyval, free_keyval};
use pombo_mpi::c_arguments::{CopyFunction, DeleteFunction};
use pombo_mpi::comm::attributes as comm;
use pombo_mpi::constants::*;
use pombo_mpi::datatype;

macro_rules! attributes {
    ($($kind:ident $of:ident: $create:ident $free:ident $set:ident $get:ident $delete:ident;)*) => {mpi! {$(
        fn $create(
            copy_fn: CopyFunction,
            delete_fn: DeleteFunction,
            keyval: Out<c_int>,
            extra_state: *mut c_void,
        ) {
            out!(keyval = create_keyval(KeyvalKind::$kind, copy_fn, delete_fn, extra_state)?);
            Ok(())
        }

        fn $free(keyval: InOut<c_int>) {
            out!(keyval = free_keyval(KeyvalKind::$kind, keyval.get())?);
            Ok(())
        }

        fn $set(object: $kind, keyval: c_int, attribute_val: *mut c_void) {
            $of::set_attribute(object, keyval, attribute_val)
        }

        fn $get(object: $kind, keyval: c_int, attribute_val: Out<*mut c_void>, flag: Out<c_int>) {
            let found = $of::get_attribute(object, keyval)?;
            out!(flag = c_int::from(found.is_some()));
            if let Some(found) = found {
                out!(attribute_val = found);
            }
            Ok(())
        }

        fn $delete(object: $kind, keyval: c_int) {
            $of::delete_attribute(object, keyval)
        }
    )*}};
}

attributes! {
    Comm comm: MPI_Comm_create_keyval MPI_Comm_free_keyval MPI_Comm_set_attr MPI_Comm_get_attr MPI_Comm_delete_attr;
    Comm comm: MPI_Keyval_create MPI_Keyval_free MPI_Attr_put MPI_Attr_get MPI_Attr_delete;
    Datatype datatype: MPI_Type_create_keyval MPI_Type_free_keyval MPI_Type_set_attr MPI_Type_get_attr MPI_Type_delete_attr;
}
