//! Info objects.

use crate::arguments::{InOut, Out, OutText, Text};
use core::ffi::{c_char, c_int};
use pombo_mpi::c_arguments::MainArguments;
use pombo_mpi::constants::*;
use pombo_mpi::error::{Class, Error};
use pombo_mpi::info;

mpi! {
    fn MPI_Info_create(info: Out<Info>) {
        out!(info = info::create());
        Ok(())
    }

    fn MPI_Info_create_env(argc: c_int, argv: MainArguments, info: Out<Info>) {
        let made = info::duplicate(MPI_INFO_ENV)?;
        info::set_command(made, argv.iter(argc))?;
        out!(info = made);
        Ok(())
    }

    fn MPI_Info_dup(info: Info, newinfo: Out<Info>) {
        out!(newinfo = info::duplicate(info)?);
        Ok(())
    }

    fn MPI_Info_free(info: InOut<Info>) {
        info::free(info.get())?;
        out!(info = Info::NULL);
        Ok(())
    }

    fn MPI_Info_set(info: Info, key: Text, value: Text) {
        Ok(info::set(info, key.text(), value.text())?)
    }

    fn MPI_Info_delete(info: Info, key: Text) {
        Ok(info::delete(info, key.text())?)
    }

    fn MPI_Info_get_nkeys(info: Info, nkeys: Out<c_int>) {
        out!(nkeys = info::keys(info)?);
        Ok(())
    }

    fn MPI_Info_get_nthkey(info: Info, n: c_int, key: OutText<{ MPI_MAX_INFO_KEY as usize }>) {
        key.set_text(&info::nth_key(info, n)?);
        Ok(())
    }

    fn MPI_Info_get_string(
        info: Info,
        key: Text,
        buflen: InOut<c_int>,
        value: Out<c_char>,
        flag: Out<c_int>,
    ) {
        let room = room(buflen.get(), "buflen")?;
        let found = info::value(info, key.text())?;
        out!(flag = c_int::from(found.is_some()));
        if let Some(found) = found {
            value.set_text_in(room, &found);
            out!(buflen = found.len() as c_int + 1);
        }
        Ok(())
    }

    fn MPI_Info_get(info: Info, key: Text, valuelen: c_int, value: Out<c_char>, flag: Out<c_int>) {
        let room = room(valuelen, "valuelen")?;
        let found = info::value(info, key.text())?;
        out!(flag = c_int::from(found.is_some()));
        if let Some(found) = found {
            // The length does not count the terminating zero.
            value.set_text_in(room.saturating_add(1), &found);
        }
        Ok(())
    }

    fn MPI_Info_get_valuelen(info: Info, key: Text, valuelen: Out<c_int>, flag: Out<c_int>) {
        let found = info::value(info, key.text())?;
        out!(flag = c_int::from(found.is_some()));
        if let Some(found) = found {
            out!(valuelen = found.len() as c_int);
        }
        Ok(())
    }
}

/// Checks a length that a text may have.
fn room(len: c_int, name: &'static str) -> Result<usize, Error> {
    usize::try_from(len).map_err(|_| Error::Argument {
        class: Class::Arg,
        name,
        must: "0 or more",
    })
}
