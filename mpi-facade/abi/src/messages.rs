//! Point-to-point communication. The `int` and `MPI_Count` forms of a function share one body.

use crate::arguments::{InOut, Out, StatusWriter, UserBuffer};
use core::ffi::c_int;
use pombo_mpi::Mode;
use pombo_mpi::constants::*;
use pombo_mpi::exchange;
use pombo_mpi::matched;
use pombo_mpi::p2p::{self, Side};
use pombo_mpi::status::Status;

macro_rules! sends {
    ($($mode:ident: $send:ident $send_c:ident $isend:ident $isend_c:ident;)*) => {$(
        sends! { @blocking $mode $send c_int }
        sends! { @blocking $mode $send_c Count }
        sends! { @immediate $mode $isend c_int }
        sends! { @immediate $mode $isend_c Count }
    )*};
    (@blocking $mode:ident $name:ident $count:ident) => {
        mpi! {
            fn $name(buf: UserBuffer, count: $count, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm) {
                p2p::send(Mode::$mode, buf, count.into(), datatype, dest, tag, comm)
            }
        }
    };
    (@immediate $mode:ident $name:ident $count:ident) => {
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
                let begun = p2p::isend(Mode::$mode, buf, count.into(), datatype, dest, tag, comm);
                out!(request = begun?);
                Ok(())
            }
        }
    };
}

// A ready send is a standard send, as the standard allows.
sends! {
    Standard: MPI_Send MPI_Send_c MPI_Isend MPI_Isend_c;
    Standard: MPI_Rsend MPI_Rsend_c MPI_Irsend MPI_Irsend_c;
    Synchronous: MPI_Ssend MPI_Ssend_c MPI_Issend MPI_Issend_c;
}

/// Makes one side of an exchange.
#[inline(always)]
fn side(
    buf: UserBuffer,
    count: impl Into<i64>,
    datatype: Datatype,
    partner: c_int,
    tag: c_int,
) -> Side<'static> {
    Side {
        buf,
        count: count.into(),
        datatype,
        partner,
        tag,
    }
}

macro_rules! receives {
    ($($receive:ident $ireceive:ident $exchange:ident $count:ident;)*) => {mpi! {$(
        fn $receive(
            buf: UserBuffer,
            count: $count,
            datatype: Datatype,
            source: c_int,
            tag: c_int,
            comm: Comm,
            status: StatusWriter,
        ) {
            let mut found = Status::EMPTY;
            p2p::receive(buf, count.into(), datatype, source, tag, comm, &mut found)?;
            status.store(found);
            Ok(())
        }

        fn $ireceive(
            buf: UserBuffer,
            count: $count,
            datatype: Datatype,
            source: c_int,
            tag: c_int,
            comm: Comm,
            request: Out<Request>,
        ) {
            let begun = p2p::ireceive(buf, count.into(), datatype, source, tag, comm);
            out!(request = begun?);
            Ok(())
        }

        fn $exchange(
            sendbuf: UserBuffer,
            sendcount: $count,
            sendtype: Datatype,
            dest: c_int,
            sendtag: c_int,
            recvbuf: UserBuffer,
            recvcount: $count,
            recvtype: Datatype,
            source: c_int,
            recvtag: c_int,
            comm: Comm,
            status: StatusWriter,
        ) {
            let send = side(sendbuf, sendcount, sendtype, dest, sendtag);
            let receive = side(recvbuf, recvcount, recvtype, source, recvtag);
            let mut found = Status::EMPTY;
            p2p::exchange(send, receive, comm, &mut found)?;
            status.store(found);
            Ok(())
        }
    )*}};
}

/// Defines the other sends with receives.
macro_rules! exchanges {
    ($($count:ident: $immediate:ident $replace:ident $ireplace:ident;)*) => {mpi! {$(
        fn $immediate(
            sendbuf: UserBuffer,
            sendcount: $count,
            sendtype: Datatype,
            dest: c_int,
            sendtag: c_int,
            recvbuf: UserBuffer,
            recvcount: $count,
            recvtype: Datatype,
            source: c_int,
            recvtag: c_int,
            comm: Comm,
            request: Out<Request>,
        ) {
            let send = side(sendbuf, sendcount, sendtype, dest, sendtag);
            let receive = side(recvbuf, recvcount, recvtype, source, recvtag);
            out!(request = exchange::start(send, receive, comm)?);
            Ok(())
        }

        fn $replace(
            buf: UserBuffer,
            count: $count,
            datatype: Datatype,
            dest: c_int,
            sendtag: c_int,
            source: c_int,
            recvtag: c_int,
            comm: Comm,
            status: StatusWriter,
        ) {
            let send = side(buf, count, datatype, dest, sendtag);
            let receive = side(buf, count, datatype, source, recvtag);
            let mut found = Status::EMPTY;
            exchange::replace(send, receive, comm, &mut found)?;
            status.store(found);
            Ok(())
        }

        fn $ireplace(
            buf: UserBuffer,
            count: $count,
            datatype: Datatype,
            dest: c_int,
            sendtag: c_int,
            source: c_int,
            recvtag: c_int,
            comm: Comm,
            request: Out<Request>,
        ) {
            let send = side(buf, count, datatype, dest, sendtag);
            let receive = side(buf, count, datatype, source, recvtag);
            out!(request = exchange::start_replace(send, receive, comm)?);
            Ok(())
        }
    )*}};
}

exchanges! {
    c_int: MPI_Isendrecv MPI_Sendrecv_replace MPI_Isendrecv_replace;
    Count: MPI_Isendrecv_c MPI_Sendrecv_replace_c MPI_Isendrecv_replace_c;
}

receives! {
    MPI_Recv MPI_Irecv MPI_Sendrecv c_int;
    MPI_Recv_c MPI_Irecv_c MPI_Sendrecv_c Count;
}

mpi! {
    fn MPI_Probe(source: c_int, tag: c_int, comm: Comm, status: StatusWriter) {
        status.store(p2p::probe(source, tag, comm)?);
        Ok(())
    }

    fn MPI_Iprobe(source: c_int, tag: c_int, comm: Comm, flag: Out<c_int>, status: StatusWriter) {
        let found = p2p::iprobe(source, tag, comm)?;
        out!(flag = c_int::from(found.is_some()));
        if let Some(found) = found {
            status.store(found);
        }
        Ok(())
    }
}

mpi! {
    fn MPI_Mprobe(source: c_int, tag: c_int, comm: Comm, message: Out<Message>, status: StatusWriter) {
        let mut found = Status::EMPTY;
        out!(message = matched::probe(source, tag, comm, &mut found)?);
        status.store(found);
        Ok(())
    }

    fn MPI_Improbe(
        source: c_int,
        tag: c_int,
        comm: Comm,
        flag: Out<c_int>,
        message: Out<Message>,
        status: StatusWriter,
    ) {
        let mut found = Status::EMPTY;
        let taken = matched::iprobe(source, tag, comm, &mut found)?;
        out!(flag = c_int::from(taken.is_some()));
        if let Some(taken) = taken {
            out!(message = taken);
            status.store(found);
        }
        Ok(())
    }
}

macro_rules! matched_receives {
    ($($receive:ident $ireceive:ident $count:ident;)*) => {mpi! {$(
        fn $receive(
            buf: UserBuffer,
            count: $count,
            datatype: Datatype,
            message: InOut<Message>,
            status: StatusWriter,
        ) {
            let mut found = Status::EMPTY;
            let mut handle = message.get();
            let outcome = matched::receive(buf, count.into(), datatype, &mut handle, &mut found);
            out!(message = handle);
            outcome?;
            status.store(found);
            Ok(())
        }

        fn $ireceive(
            buf: UserBuffer,
            count: $count,
            datatype: Datatype,
            message: InOut<Message>,
            request: Out<Request>,
        ) {
            let mut handle = message.get();
            let begun = matched::ireceive(buf, count.into(), datatype, &mut handle);
            out!(message = handle);
            out!(request = begun?);
            Ok(())
        }
    )*}};
}

matched_receives! {
    MPI_Mrecv MPI_Imrecv c_int;
    MPI_Mrecv_c MPI_Imrecv_c Count;
}
