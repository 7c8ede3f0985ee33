//! Collective calls: check, choose a topology, let the kernel's schedules run over this world's point-to-point.
//! Source: MPI 5.0, chapter 6.

use crate::constants::*;
use crate::error::{Error, Kind};
use crate::header::{Envelope, Wanted};
use crate::memory::{Region, Shape};
use crate::op::{self, Reduction};
use crate::request;
use crate::world::{Fault, World};
use crate::{datatype, world};
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use pombo_kernel::collective::{self, Block, Functions, Running, Step};
use pombo_kernel::topology::{Binomial, Linear, Ring};
use pombo_kernel::{Mode, Operate};

/// `count` items of a datatype at an address, as a collective call names a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    /// The address; may be `MPI_IN_PLACE` where the standard allows it.
    pub address: *mut c_void,
    /// How many items; for each rank where the operation has one block for each.
    pub count: i64,
    /// Of what.
    pub datatype: Datatype,
}

/// `MPI_Barrier`.
pub(crate) fn barrier(world: &mut World, comm: Comm) -> Result<(), Fault> {
    let group = world.comms.get(comm)?;
    let tree = Binomial::new(group.rank, group.size(), 0);
    run(world, comm, collective::barrier(tree), Blocks::default())
}

/// `MPI_Barrier`.
pub fn barrier_on(comm: Comm) -> Result<(), Fault> {
    world::with(|world| barrier(world, comm))
}

/// `MPI_Bcast`.
///
/// # Safety
/// The buffer holds, or has room for, what it says.
pub unsafe fn broadcast(buffer: Buffer, root: c_int, comm: Comm) -> Result<(), Fault> {
    world::with(|world| {
        let place = Place::of(world, comm, root)?;
        let output = place.blocks(buffer, 1)?;
        let tree = Binomial::new(place.rank, place.size, place.root);
        let blocks = Blocks {
            output,
            ..Blocks::default()
        };
        run(world, comm, collective::broadcast(tree), blocks)
    })
}

/// `MPI_Reduce`.
///
/// # Safety
/// The input, and at the root the output, hold `count` items.
pub unsafe fn reduce(
    input: *const c_void,
    output: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    root: c_int,
    comm: Comm,
) -> Result<(), Fault> {
    world::with(|world| {
        let place = Place::of(world, comm, root)?;
        reduce_to(world, input, output, count, datatype, op, &place)
    })
}

/// `MPI_Allreduce`: reduction to rank 0, then broadcast.
///
/// # Safety
/// Both buffers hold `count` items.
pub unsafe fn allreduce(
    input: *const c_void,
    output: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Result<(), Fault> {
    world::with(|world| {
        let place = Place::of(world, comm, 0)?;
        // Everybody has an output here, so everybody may reduce into it.
        let input = if input == MPI_IN_PLACE {
            output.cast_const()
        } else {
            input
        };
        reduce_to(world, input, output, count, datatype, op, &place)?;
        let output = place.blocks(
            Buffer {
                address: output,
                count,
                datatype,
            },
            1,
        )?;
        let tree = Binomial::new(place.rank, place.size, place.root);
        let blocks = Blocks {
            output,
            ..Blocks::default()
        };
        run(world, comm, collective::broadcast(tree), blocks)
    })
}

fn reduce_to(
    world: &mut World,
    input: *const c_void,
    output: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    place: &Place,
) -> Result<(), Fault> {
    let fault = Fault::on(place.comm);
    let at_root = place.rank == place.root;
    let input = if input == MPI_IN_PLACE && at_root {
        output.cast_const()
    } else {
        input
    };
    let input = place.blocks(
        Buffer {
            address: input.cast_mut(),
            count,
            datatype,
        },
        1,
    )?;
    let reduction = op::check(op, datatype).map_err(&fault)?;
    let template = input.region(0);
    let mut incoming = Scratch::new(&template).map_err(&fault)?;
    let mut temporary = Scratch::default();
    let partial = if at_root {
        place
            .blocks(
                Buffer {
                    address: output,
                    count,
                    datatype,
                },
                1,
            )?
            .region(0)
    } else {
        temporary = Scratch::new(&template).map_err(&fault)?;
        temporary.region(&template)
    };
    let blocks = Blocks {
        input,
        partial,
        incoming: incoming.region(&template),
        reduction: Some(reduction),
        ..Blocks::default()
    };
    let tree = Binomial::new(place.rank, place.size, place.root);
    let done = run(world, place.comm, collective::reduce(tree), blocks);
    drop((incoming, temporary));
    done
}

/// `MPI_Gather`.
///
/// # Safety
/// The send buffer, and at the root the receive buffer, hold what they say.
pub unsafe fn gather(send: Buffer, receive: Buffer, root: c_int, comm: Comm) -> Result<(), Fault> {
    world::with(|world| {
        let place = Place::of(world, comm, root)?;
        let mut blocks = Blocks::default();
        if place.rank == place.root {
            blocks.output = place.blocks(receive, place.size)?;
        }
        blocks.input = if send.address == MPI_IN_PLACE && place.rank == place.root {
            blocks.output.from(place.rank)
        } else {
            place.blocks(send, 1)?
        };
        let line = Linear::new(place.rank, place.size, place.root);
        run(world, comm, collective::gather(place.rank, line), blocks)
    })
}

/// `MPI_Scatter`.
///
/// # Safety
/// The receive buffer, and at the root the send buffer, hold what they say.
pub unsafe fn scatter(send: Buffer, receive: Buffer, root: c_int, comm: Comm) -> Result<(), Fault> {
    world::with(|world| {
        let place = Place::of(world, comm, root)?;
        let mut blocks = Blocks::default();
        if place.rank == place.root {
            blocks.input = place.blocks(send, place.size)?;
        }
        blocks.output = if receive.address == MPI_IN_PLACE && place.rank == place.root {
            blocks.input.from(place.rank)
        } else {
            place.blocks(receive, 1)?
        };
        let line = Linear::new(place.rank, place.size, place.root);
        run(world, comm, collective::scatter(place.rank, line), blocks)
    })
}

/// `MPI_Allgather`.
///
/// # Safety
/// Both buffers hold what they say.
pub unsafe fn allgather(send: Buffer, receive: Buffer, comm: Comm) -> Result<(), Fault> {
    world::with(|world| {
        let place = Place::of(world, comm, 0)?;
        let output = place.blocks(receive, place.size)?;
        let input = if send.address == MPI_IN_PLACE {
            output.from(place.rank)
        } else {
            place.blocks(send, 1)?
        };
        let ring = Ring::new(place.rank, place.size);
        let blocks = Blocks {
            input,
            output,
            ..Blocks::default()
        };
        run(world, comm, collective::allgather(place.rank, ring), blocks)
    })
}

/// `MPI_Alltoall`.
///
/// # Safety
/// Both buffers hold what they say.
pub unsafe fn alltoall(send: Buffer, receive: Buffer, comm: Comm) -> Result<(), Fault> {
    world::with(|world| {
        let place = Place::of(world, comm, 0)?;
        let output = place.blocks(receive, place.size)?;
        let mut copy = Scratch::default();
        let input = if send.address == MPI_IN_PLACE {
            let all = output.whole(place.size);
            copy = Scratch::new(&all).map_err(Fault::on(comm))?;
            let saved = copy.region(&all);
            // SAFETY: both hold the whole output, and they do not overlap.
            unsafe { all.copy_to(&saved) };
            Layout {
                base: saved.base().cast(),
                ..output
            }
        } else {
            place.blocks(send, place.size)?
        };
        let ring = Ring::new(place.rank, place.size);
        let blocks = Blocks {
            input,
            output,
            ..Blocks::default()
        };
        let done = run(world, comm, collective::alltoall(place.rank, ring), blocks);
        drop(copy);
        done
    })
}

/// Where this rank stands in an operation.
struct Place {
    comm: Comm,
    rank: usize,
    size: usize,
    root: usize,
}

impl Place {
    fn of(world: &mut World, comm: Comm, root: c_int) -> Result<Place, Fault> {
        let group = world.comms.get(comm)?;
        let root = group.root(root).map_err(Fault::on(comm))?;
        Ok(Place {
            comm,
            rank: group.rank,
            size: group.size(),
            root,
        })
    }

    /// A user's buffer of so many blocks, checked.
    fn blocks(&self, buffer: Buffer, blocks: usize) -> Result<Layout, Fault> {
        self.checked(buffer, blocks).map_err(Fault::on(self.comm))
    }

    fn checked(&self, buffer: Buffer, blocks: usize) -> Result<Layout, Error> {
        let Buffer {
            address,
            count,
            datatype,
        } = buffer;
        let items = usize::try_from(count).map_err(|_| Error::Count { got: count })?;
        let known = datatype::predefined(datatype).ok_or(Error::Handle {
            kind: Kind::Datatype,
            got: datatype.0,
        })?;
        if address == MPI_IN_PLACE {
            return Err(Error::Argument {
                class: crate::error::Class::Buffer,
                name: "buffer",
                must: "memory: MPI_IN_PLACE has no meaning here",
            });
        }
        let shape = Shape::of(known);
        if address.is_null() && items > 0 && blocks > 0 && shape.size() > 0 {
            return Err(Error::Buffer { count });
        }
        Ok(Layout {
            base: address,
            items,
            shape,
        })
    }
}

/// Blocks of equal size, one behind the other.
#[derive(Clone, Copy)]
struct Layout {
    base: *mut c_void,
    items: usize,
    shape: Shape,
}

impl Layout {
    fn from(&self, block: usize) -> Layout {
        let base = self
            .base
            .wrapping_byte_add(block * self.items * self.shape.extent());
        Layout { base, ..*self }
    }

    fn region(&self, block: usize) -> Region {
        // SAFETY: the caller of the collective call promised the buffer, and the operation is over before it returns.
        unsafe { Region::new(self.from(block).base, self.items, self.shape) }
    }

    fn whole(&self, blocks: usize) -> Region {
        // SAFETY: as in `region`.
        unsafe { Region::new(self.base, self.items * blocks, self.shape) }
    }
}

/// Temporary memory.
#[derive(Default)]
struct Scratch(Vec<u8>);

impl Scratch {
    /// As large as a region.
    fn new(like: &Region) -> Result<Scratch, Error> {
        let bytes = like.items() * like.extent();
        let mut memory = Vec::new();
        memory
            .try_reserve_exact(bytes)
            .map_err(|_| Error::NoMemory {
                bytes: bytes as u64,
            })?;
        memory.resize(bytes, 0);
        Ok(Scratch(memory))
    }

    fn region(&mut self, like: &Region) -> Region {
        // SAFETY: it was made as large as `like`, and outlives the operation.
        unsafe { like.at(self.0.as_mut_ptr().cast()) }
    }
}

/// The memory of one operation.
struct Blocks {
    input: Layout,
    output: Layout,
    partial: Region,
    incoming: Region,
    reduction: Option<Reduction>,
}

impl Default for Blocks {
    fn default() -> Self {
        let nothing = Layout {
            base: null_mut(),
            items: 0,
            shape: Shape::BYTE,
        };
        Blocks {
            input: nothing,
            output: nothing,
            partial: Region::nothing(),
            incoming: Region::nothing(),
            reduction: None,
        }
    }
}

impl Blocks {
    fn region(&self, block: Block) -> Region {
        match block {
            Block::Input(block) => self.input.region(block),
            Block::Output(block) => self.output.region(block),
            Block::Partial => self.partial,
            Block::Incoming => self.incoming,
            Block::Nothing => Region::nothing(),
        }
    }
}

/// Runs one operation to its end.
fn run(
    world: &mut World,
    comm: Comm,
    steps: impl Iterator<Item = Step>,
    blocks: Blocks,
) -> Result<(), Fault> {
    let group = world.comms.get(comm)?;
    group.operations = group.operations.wrapping_add(1) & (u32::MAX >> 1);
    let header = Envelope::new(group.context * 2 + 1, group.operations);
    let mut running = Running::new(steps);
    let mut begun = Vec::new();
    world.until(|world| {
        let mut exchange = Exchange {
            world,
            comm,
            header,
            blocks: &blocks,
            begun: &mut begun,
        };
        Ok(running.poll(&mut exchange)?.then_some(()))
    })
}

/// The kernel's point-to-point as a schedule sees it.
struct Exchange<'a> {
    world: &'a mut World,
    comm: Comm,
    header: Envelope,
    blocks: &'a Blocks,
    begun: &'a mut Vec<Request>,
}

impl Functions for Exchange<'_> {
    type Error = Fault;

    fn send(&mut self, to: usize, block: Block) -> Result<(), Fault> {
        let node = self.world.comms.get(self.comm)?.node(to as c_int)?;
        let region = self.blocks.region(block);
        self.world.count(pombo_kernel::Source::len(&region));
        let sent = self
            .world
            .kernel
            .send_as(Mode::Standard, node, self.header, region);
        let ticket = sent.map_err(|refused| self.fault(refused.error))?;
        self.begun.push(request::handle(ticket));
        Ok(())
    }

    fn receive(&mut self, from: usize, block: Block) -> Result<(), Fault> {
        let node = self.world.comms.get(self.comm)?.node(from as c_int)?;
        let (context, tag) = (self.header.context.get(), self.header.tag.get());
        let wanted = Wanted::new(context, Some(node), Some(tag));
        let posted = self.world.kernel.receive(wanted, self.blocks.region(block));
        let ticket = posted.map_err(|refused| self.fault(refused.error))?;
        self.begun.push(request::handle(ticket));
        Ok(())
    }

    fn settled(&mut self) -> Result<bool, Fault> {
        while let Some(&request) = self.begun.last() {
            let Some(outcome) = request::test_one(self.world, request)? else {
                return Ok(false);
            };
            self.begun.pop();
            if let Some(Fault { error, .. }) = outcome.fault {
                return Err(Fault {
                    error,
                    comm: self.comm,
                });
            }
        }
        Ok(true)
    }

    fn combine(&mut self, from: Block, into: Block) {
        let (from, into) = (self.blocks.region(from), self.blocks.region(into));
        if let Some(reduction) = &self.blocks.reduction {
            // SAFETY: both regions hold the operation's count of items of the datatype that the reduction was
            // checked for: one is scratch made for it, the other scratch or the root's output.
            unsafe { reduction.apply(from.base(), into.base(), into.items()) };
        }
    }

    fn copy(&mut self, from: Block, into: Block) {
        // SAFETY: blocks of the user's buffers, or scratch; the standard forbids that input and output overlap.
        unsafe { self.blocks.region(from).copy_to(&self.blocks.region(into)) };
    }
}

impl Exchange<'_> {
    fn fault(&self, error: pombo_kernel::Error) -> Fault {
        Fault {
            error: error.into(),
            comm: self.comm,
        }
    }
}
