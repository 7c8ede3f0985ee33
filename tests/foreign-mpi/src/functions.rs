//! The executor of collective operations over MPI_Isend, MPI_Irecv and MPI_Test of any MPI library.

use mpi::ffi;
use mpi::traits::*;
use pombo_collective::{Buffer, Executor, Piece, Segments};
use std::collections::VecDeque;

/// The buffers of one operation: values, and the number of blocks of each buffer.
#[derive(Default)]
pub(crate) struct Data {
    pub(crate) input: Vec<i64>,
    pub(crate) output: Vec<i64>,
    pub(crate) work: Vec<i64>,
    incoming: Vec<i64>,
    /// Blocks of the input, of the output, and of both temporary buffers.
    blocks: [usize; 3],
}

impl Data {
    pub(crate) fn input(self, input: Vec<i64>, cut: usize) -> Self {
        let [_, output, temporary] = self.blocks;
        let blocks = [cut, output, temporary];
        Data {
            input,
            blocks,
            ..self
        }
    }

    pub(crate) fn output(self, output: Vec<i64>, cut: usize) -> Self {
        let [input, _, temporary] = self.blocks;
        let blocks = [input, cut, temporary];
        Data {
            output,
            blocks,
            ..self
        }
    }

    pub(crate) fn temporary(self, values: usize, cut: usize) -> Self {
        let [input, output, _] = self.blocks;
        let (work, incoming) = (vec![0; values], vec![0; values]);
        let blocks = [input, output, cut];
        Data {
            work,
            incoming,
            blocks,
            ..self
        }
    }

    fn slice(&mut self, piece: Piece) -> &mut [i64] {
        let [input, output, temporary] = self.blocks;
        let (values, blocks) = match piece.buffer {
            Buffer::Input => (&mut self.input, input),
            Buffer::Output => (&mut self.output, output),
            Buffer::Work => (&mut self.work, temporary),
            Buffer::Incoming => (&mut self.incoming, temporary),
        };
        let cut = Segments::into_blocks(values.len(), blocks);
        &mut values[cut.start(piece.first)..cut.start(piece.first + piece.blocks)]
    }
}

/// An error code of the foreign library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Code(#[allow(dead_code, reason = "printed")] i32);

/// One operation over a communicator of the foreign library. Its messages carry a tag of their own.
pub(crate) struct Foreign {
    comm: ffi::MPI_Comm,
    tag: i32,
    data: Data,
    begun: VecDeque<ffi::MPI_Request>,
}

impl Foreign {
    pub(crate) fn new(comm: ffi::MPI_Comm, tag: i32, data: Data) -> Self {
        Foreign {
            comm,
            tag,
            data,
            begun: VecDeque::new(),
        }
    }

    /// Returns the buffers when no request uses them any more.
    pub(crate) fn finish(self) -> Data {
        assert!(self.begun.is_empty(), "the operation is over");
        self.data
    }
}

fn check(code: i32) -> Result<(), Code> {
    if code == 0 { Ok(()) } else { Err(Code(code)) }
}

impl Executor for Foreign {
    type Error = Code;

    fn send(&mut self, to: usize, piece: Piece) -> Result<bool, Code> {
        let values = self.data.slice(piece);
        let (buffer, count) = (values.as_ptr().cast(), values.len() as i32);
        let datatype = i64::equivalent_datatype().as_raw();
        // SAFETY: all zeros is a value of a handle; the call overwrites it.
        let mut request = unsafe { std::mem::zeroed() };
        // SAFETY: the vectors are not moved, resized or dropped before `finish` has seen all requests complete, and a
        // schedule writes to nothing that it is still sending.
        check(unsafe {
            ffi::MPI_Isend(
                buffer,
                count,
                datatype,
                to as i32,
                self.tag,
                self.comm,
                &mut request,
            )
        })?;
        self.begun.push_back(request);
        Ok(true)
    }

    fn receive(&mut self, from: usize, piece: Piece) -> Result<bool, Code> {
        let values = self.data.slice(piece);
        let (buffer, count) = (values.as_mut_ptr().cast(), values.len() as i32);
        let datatype = i64::equivalent_datatype().as_raw();
        // SAFETY: as in `send`.
        let mut request = unsafe { std::mem::zeroed() };
        // SAFETY: as in `send`; a schedule does not read what has not arrived.
        check(unsafe {
            ffi::MPI_Irecv(
                buffer,
                count,
                datatype,
                from as i32,
                self.tag,
                self.comm,
                &mut request,
            )
        })?;
        self.begun.push_back(request);
        Ok(true)
    }

    fn are_complete(&mut self, open: usize) -> Result<bool, Code> {
        while self.begun.len() > open {
            let oldest = &mut self.begun[0];
            let mut over = 0;
            // SAFETY: a request of this library, a flag, and the library's constant for a status that is not wanted.
            check(unsafe { ffi::MPI_Test(oldest, &mut over, ffi::RSMPI_STATUS_IGNORE) })?;
            if over == 0 {
                return Ok(false);
            }
            self.begun.pop_front();
        }
        Ok(true)
    }

    fn combine(&mut self, left: Piece, right: Piece) {
        let left = self.data.slice(left).to_vec();
        for (right, left) in self.data.slice(right).iter_mut().zip(left) {
            *right = left.wrapping_add(*right);
        }
    }

    fn copy(&mut self, from: Piece, into: Piece) {
        let from = self.data.slice(from).to_vec();
        self.data.slice(into).copy_from_slice(&from);
    }
}
