//! Point-to-point communication. Source: MPI 5.0, sections 3.2, 3.7, 3.8 and 3.10.

use crate::arguments::{Buffer, Out, check, given, rank, received, size_of, tag};
use crate::errors::FatalError;
use crate::world::{begin_request, end_request, world};
use core::ffi::c_int;
use pombo_basic::{ANY_SOURCE, ANY_TAG, Request as Posted};
use pombo_kernel::Ticket;
use pombo_mpi::constants::*;
use pombo_mpi::status::Status;

mpi! {
    fn MPI_Send(buf: Buffer, count: c_int, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm) {
        wait(isend(buf, count, datatype, dest, tag, comm)?, None)
    }

    fn MPI_Recv(
        buf: Buffer,
        count: c_int,
        datatype: Datatype,
        source: c_int,
        tag: c_int,
        comm: Comm,
        status: Out<Status>,
    ) {
        wait(irecv(buf, count, datatype, source, tag, comm)?, status)
    }

    fn MPI_Sendrecv(
        sendbuf: Buffer,
        sendcount: c_int,
        sendtype: Datatype,
        dest: c_int,
        sendtag: c_int,
        recvbuf: Buffer,
        recvcount: c_int,
        recvtype: Datatype,
        source: c_int,
        recvtag: c_int,
        comm: Comm,
        status: Out<Status>,
    ) {
        let receive = irecv(recvbuf, recvcount, recvtype, source, recvtag, comm)?;
        wait(isend(sendbuf, sendcount, sendtype, dest, sendtag, comm)?, None)?;
        wait(receive, status)
    }

    fn MPI_Isend(
        buf: Buffer,
        count: c_int,
        datatype: Datatype,
        dest: c_int,
        tag: c_int,
        comm: Comm,
        request: Out<Request>,
    ) {
        let place = given(request)?;
        place.set(isend(buf, count, datatype, dest, tag, comm)?);
        Ok(())
    }

    fn MPI_Irecv(
        buf: Buffer,
        count: c_int,
        datatype: Datatype,
        source: c_int,
        tag: c_int,
        comm: Comm,
        request: Out<Request>,
    ) {
        let place = given(request)?;
        place.set(irecv(buf, count, datatype, source, tag, comm)?);
        Ok(())
    }

    fn MPI_Wait(request: Out<Request>, status: Out<Status>) {
        let place = given(request)?;
        wait(place.get(), status)?;
        place.set(MPI_REQUEST_NULL);
        Ok(())
    }

    fn MPI_Test(request: Out<Request>, flag: Out<c_int>, status: Out<Status>) {
        let (place, flag) = (given(request)?, given(flag)?);
        let done = match ticket(place.get()) {
            Err(status) => Some(status),
            Ok(posted) => world()?.test(posted)?.map(completed),
        };
        flag.set(done.is_some().into());
        if let Some(done) = done {
            place.set(MPI_REQUEST_NULL);
            store(done, status);
        }
        Ok(())
    }

    fn MPI_Waitall(count: c_int, requests: Out<Request>, statuses: Out<Status>) {
        let count = usize::try_from(count).map_err(|_| FatalError::Count)?;
        for index in 0..count {
            let place = given(requests)?.element(index);
            wait(place.get(), statuses.map(|first| first.element(index)))?;
            place.set(MPI_REQUEST_NULL);
        }
        Ok(())
    }

    fn MPI_Probe(source: c_int, tag: c_int, comm: Comm, status: Out<Status>) {
        check(comm)?;
        let found = match source_of(source)? {
            Some(source) => received(world()?.probe(source, tag_of(tag)?)?),
            None => Status::PROC_NULL,
        };
        store(found, status);
        Ok(())
    }

    fn MPI_Iprobe(source: c_int, tag: c_int, comm: Comm, flag: Out<c_int>, status: Out<Status>) {
        check(comm)?;
        let (flag, tag) = (given(flag)?, tag_of(tag)?);
        let found = match source_of(source)? {
            Some(source) => world()?.iprobe(source, tag)?.map(received),
            None => Some(Status::PROC_NULL),
        };
        flag.set(found.is_some().into());
        if let Some(found) = found {
            store(found, status);
        }
        Ok(())
    }

    fn MPI_Get_count(status: Out<Status>, datatype: Datatype, count: Out<c_int>) {
        let (status, place) = (given(status)?, given(count)?);
        let (bytes, size) = (Status::load_bytes(status), size_of(datatype)? as u64);
        place.set(match bytes % size {
            0 => (bytes / size) as c_int,
            _ => MPI_UNDEFINED,
        });
        Ok(())
    }
}

/// The request of an operation with `MPI_PROC_NULL`, which is complete. Those of others are larger.
const NOBODY: Request = Request(FIRST_OWN_HANDLE);

fn isend(
    buf: Buffer,
    count: c_int,
    datatype: Datatype,
    dest: c_int,
    to_tag: c_int,
    comm: Comm,
) -> Result<Request, FatalError> {
    check(comm)?;
    let (message, to_tag) = (buf.bytes(count, datatype)?, tag(to_tag)?);
    let Some(dest) = rank(dest)? else {
        return Ok(NOBODY);
    };
    posted(world()?.isend(message, dest, to_tag)?)
}

fn irecv(
    buf: Buffer,
    count: c_int,
    datatype: Datatype,
    source: c_int,
    from_tag: c_int,
    comm: Comm,
) -> Result<Request, FatalError> {
    check(comm)?;
    let (message, from_tag) = (buf.bytes(count, datatype)?, tag_of(from_tag)?);
    let Some(source) = source_of(source)? else {
        return Ok(NOBODY);
    };
    posted(world()?.irecv(message, source, from_tag)?)
}

/// Returns the tag that a receive or a probe wants.
fn tag_of(wanted: c_int) -> Result<Option<u32>, FatalError> {
    match wanted {
        MPI_ANY_TAG => Ok(ANY_TAG),
        other => Ok(Some(tag(other)?)),
    }
}

/// Returns the source that a receive or a probe wants; `None` for `MPI_PROC_NULL`.
fn source_of(wanted: c_int) -> Result<Option<Option<usize>>, FatalError> {
    match wanted {
        MPI_ANY_SOURCE => Ok(Some(ANY_SOURCE)),
        other => Ok(rank(other)?.map(Some)),
    }
}

/// Counts a request that is under way, and returns its handle.
fn posted(Posted(ticket): Posted) -> Result<Request, FatalError> {
    begin_request()?;
    Ok(Request(ticket.to_bits() as usize))
}

/// Returns the operation of a request, or the status of one that is complete by itself.
fn ticket(request: Request) -> Result<Posted, Status> {
    match request {
        MPI_REQUEST_NULL => Err(Status::EMPTY),
        NOBODY => Err(Status::PROC_NULL),
        Request(bits) => Ok(Posted(Ticket::from_bits(bits as u64))),
    }
}

fn wait(request: Request, place: Out<Status>) -> Result<(), FatalError> {
    let done = match ticket(request) {
        Err(status) => status,
        Ok(posted) => completed(world()?.wait(posted)?),
    };
    store(done, place);
    Ok(())
}

/// Returns the status of a request that is under way no more.
fn completed(found: Option<pombo_basic::Status>) -> Status {
    end_request();
    found.map_or(Status::SENT, received)
}

fn store(status: Status, place: Out<Status>) {
    if let Some(place) = place {
        status.store(place);
    }
}
