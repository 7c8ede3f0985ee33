//! Persistent point-to-point requests. The `int` and `MPI_Count` forms of a function share one body.

use crate::arguments::{InOut, Out, UserBuffer};
use crate::requests::handles;
use core::ffi::c_int;
use pombo_mpi::Mode;
use pombo_mpi::constants::*;
use pombo_mpi::persistent::{self, PersistentMode};

macro_rules! sends {
    ($($mode:expr => $init:ident $init_c:ident;)*) => {$(
        sends! { @one $mode, $init c_int }
        sends! { @one $mode, $init_c Count }
    )*};
    (@one $mode:expr, $name:ident $count:ident) => {
        mpi! {
            fn $name(
                buf: UserBuffer,
                count: $count,
                datatype: Datatype,
                dest: c_int,
                tag: c_int,
                comm: Comm,
                request: Out<Request>,
            ) {
                let made = persistent::send($mode, buf, count.into(), datatype, dest, tag, comm);
                out!(request = made?);
                Ok(())
            }
        }
    };
}

// A ready send is a standard send, as the standard allows.
sends! {
    PersistentMode::Plain(Mode::Standard) => MPI_Send_init MPI_Send_init_c;
    PersistentMode::Plain(Mode::Standard) => MPI_Rsend_init MPI_Rsend_init_c;
    PersistentMode::Plain(Mode::Synchronous) => MPI_Ssend_init MPI_Ssend_init_c;
    PersistentMode::Buffered => MPI_Bsend_init MPI_Bsend_init_c;
}

macro_rules! receives {
    ($($name:ident $count:ident;)*) => {mpi! {$(
        fn $name(
            buf: UserBuffer,
            count: $count,
            datatype: Datatype,
            source: c_int,
            tag: c_int,
            comm: Comm,
            request: Out<Request>,
        ) {
            let made = persistent::receive(buf, count.into(), datatype, source, tag, comm);
            out!(request = made?);
            Ok(())
        }
    )*}};
}

receives! {
    MPI_Recv_init c_int;
    MPI_Recv_init_c Count;
}

mpi! {
    fn MPI_Start(request: InOut<Request>) {
        persistent::start(&[request.get()])
    }

    fn MPI_Startall(count: c_int, array_of_requests: *mut Request) {
        persistent::start(handles(count, array_of_requests)?)
    }
}
