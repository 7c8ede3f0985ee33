//! Neighbourhood collective operations: every rank exchanges messages with its neighbours in the communicator's
//! topology. Source: MPI 5.0, section 8.6 and 8.7.
//!
//! All messages of an operation are posted when it starts, so that those of one pair of ranks match in order. In a grid
//! what is sent in a direction arrives from the opposite one, also where both lead to the same rank.

use super::buffers::{Buffer, Buffers};
use super::layout::Layout;
use super::prepare::Collective;
use crate::any_source_failure;
use crate::comm::CommRecord;
use crate::constants::{Comm, MPI_PROC_NULL, Request};
use crate::datatype::Datatypes;
use crate::error::{Class, Error, Kind};
use crate::explanation;
use crate::kernel::PostedSet;
use crate::message_header::{MpiHeader, MpiPattern};
use crate::persistent::{self, Kept};
use crate::request::{Activity, RequestKind, RequestSlots, RequestState};
use crate::runtime::world::{self, CommError, RequestOps, World};
use crate::status::Status;
use crate::topology::kinds::Neighbours;
use crate::user_buffer::Region;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::ffi::c_int;
use pombo_kernel::{Peer, Source};

/// The kinds of operations, of which each has its own tag: the other collective operations have tags below 2^31.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Tag {
    Allgather = 1 << 31,
    Allgatherv,
    Alltoall,
    Alltoallv,
}

/// Number of kinds.
const KINDS: u32 = 4;

/// What is sent to each destination, and where what each source sends is received.
#[derive(Clone)]
struct Blocks {
    send: Vec<Region>,
    receive: Vec<Region>,
}

/// A neighbourhood call of this rank.
struct NeighbourhoodCall<B> {
    tag: Tag,
    comm: Comm,
    /// Returns the blocks for that many sources and destinations.
    blocks: B,
}

/// An operation under way.
struct Neighbourhood {
    comm: Comm,
    /// The communicator's index in the table.
    index: usize,
    context: u32,
    posted: PostedSet,
    /// The error of a message whose length differs from the expected one.
    disagreement: Option<Error>,
    /// The result, once it is over.
    over: Option<Result<(), CommError>>,
}

/// The functions of a request of such an operation.
static REQUEST_OPS: RequestOps = RequestOps {
    start: None,
    is_inactive: None,
    activity,
    test,
    peek,
    recover_stalled,
    // The standard allows neither for collective operations (MPI 5.0, section 6.12).
    cancel: |_, request| Err(unknown(request)),
    free: |_, request| Err(unknown(request)),
};

/// Sends one block to all destinations, as `MPI_Neighbor_allgather`.
pub fn neighbour_allgather(
    send: Buffer<'static>,
    receive: Buffer<'static>,
    comm: Comm,
) -> impl Collective + 'static {
    call(
        Tag::Allgather,
        comm,
        move |datatypes, sources, destinations| {
            Ok(Blocks {
                send: vec![send.region(datatypes, 1)?; destinations],
                receive: equal(datatypes, &receive, sources)?,
            })
        },
    )
}

/// Does so with blocks of different sizes, as `MPI_Neighbor_allgatherv`.
pub fn neighbour_allgatherv(
    send: Buffer<'static>,
    receive: Buffers<'static>,
    comm: Comm,
) -> impl Collective + 'static {
    call(
        Tag::Allgatherv,
        comm,
        move |datatypes, sources, destinations| {
            Ok(Blocks {
                send: vec![send.region(datatypes, 1)?; destinations],
                receive: different(datatypes, &receive, sources)?,
            })
        },
    )
}

/// Sends a block to each destination, as `MPI_Neighbor_alltoall`.
pub fn neighbour_alltoall(
    send: Buffer<'static>,
    receive: Buffer<'static>,
    comm: Comm,
) -> impl Collective + 'static {
    call(
        Tag::Alltoall,
        comm,
        move |datatypes, sources, destinations| {
            Ok(Blocks {
                send: equal(datatypes, &send, destinations)?,
                receive: equal(datatypes, &receive, sources)?,
            })
        },
    )
}

/// Does so with blocks of different sizes, as `MPI_Neighbor_alltoallv` and `MPI_Neighbor_alltoallw`.
pub fn neighbour_alltoallv(
    send: Buffers<'static>,
    receive: Buffers<'static>,
    comm: Comm,
) -> impl Collective + 'static {
    call(
        Tag::Alltoallv,
        comm,
        move |datatypes, sources, destinations| {
            Ok(Blocks {
                send: different(datatypes, &send, destinations)?,
                receive: different(datatypes, &receive, sources)?,
            })
        },
    )
}

fn call<B>(tag: Tag, comm: Comm, blocks: B) -> NeighbourhoodCall<B>
where
    B: Fn(&Datatypes, usize, usize) -> Result<Blocks, Error>,
{
    NeighbourhoodCall { tag, comm, blocks }
}

fn equal(datatypes: &Datatypes, buffer: &Buffer<'_>, blocks: usize) -> Result<Vec<Region>, Error> {
    // All blocks together must fit memory.
    buffer.region(datatypes, blocks)?;
    (0..blocks).map(|at| buffer.one(datatypes, at)).collect()
}

fn different(
    datatypes: &Datatypes,
    buffers: &Buffers<'_>,
    blocks: usize,
) -> Result<Vec<Region>, Error> {
    // Without neighbours the arrays may be null.
    match (blocks > 0)
        .then(|| buffers.blocks(datatypes, blocks))
        .transpose()?
    {
        Some(Layout::Apart(regions)) => Ok(regions),
        _ => Ok(Vec::new()),
    }
}

impl<B: Fn(&Datatypes, usize, usize) -> Result<Blocks, Error>> Collective for NeighbourhoodCall<B> {
    fn run(self) -> Result<(), CommError> {
        world::with(|world| {
            let index = world.objects.comms.index(self.comm)?;
            let mut operation = post(world, self.tag as u32, self.comm, index, &self.blocks)?;
            let done = world.until(|world| {
                let mut over = operation.poll(world);
                if over.is_none() && any_source_failure::is_due(world.idle_counts.waiting) {
                    over = operation.fail_if_peer_lost(world);
                    let idle = world.idle_counts.waiting;
                    explanation::attend(world, idle, |world| operation.explain(world));
                }
                over.transpose()
            });
            if done.is_err() {
                operation.abandon(world);
            }
            done
        })
    }

    fn start(self) -> Result<Request, CommError> {
        world::with(|world| {
            let index = world.objects.comms.index(self.comm)?;
            start(world, self.tag as u32, self.comm, index, &self.blocks)
        })
    }

    fn persist(self, kept: Kept) -> Result<Request, CommError>
    where
        Self: 'static,
    {
        let Self { tag, comm, blocks } = self;
        world::with(|world| {
            let (index, number, blocks) = match arguments(world, comm, &blocks) {
                Ok(checked) => checked,
                Err(failure) => {
                    kept.free(&mut world.objects);
                    return Err(failure);
                }
            };
            // The request's own tag, as ranks may start several requests in different orders.
            let tag = tag as u32 + number * KINDS;
            let start = move |world: &mut World| {
                start(world, tag, comm, index, &|_, _, _| Ok(blocks.clone()))
            };
            persistent::collective(world, Rc::new(start), kept, comm)
        })
    }
}

/// Counts a persistent request of a communicator, and reads its arguments once, as datatypes among them may be freed
/// before it is started. Returns the communicator's index, the request's number, and its blocks.
fn arguments(
    world: &mut World,
    comm: Comm,
    blocks: BlocksOf<'_>,
) -> Result<(usize, u32, Blocks), CommError> {
    let index = world.objects.comms.index(comm)?;
    let record = world.objects.comms.get(comm)?;
    record.persistent_neighbourhoods += 1;
    let number = record.persistent_neighbourhoods;
    let neighbours = neighbours(record).map_err(CommError::on(comm))?;
    let (sources, destinations) = (neighbours.sources.len(), neighbours.destinations.len());
    let blocks = blocks(&world.objects.datatypes, sources, destinations);
    Ok((index, number, blocks.map_err(CommError::on(comm))?))
}

/// Returns this rank's neighbours.
fn neighbours(record: &CommRecord) -> Result<Neighbours, Error> {
    match record.topology.as_deref() {
        Some(topology) => Ok(topology.neighbours(record.rank)),
        None => Err(Error::Argument {
            class: Class::Topology,
            name: "comm",
            must: "a communicator with a topology",
        }),
    }
}

/// Starts an operation.
fn start(
    world: &mut World,
    tag: u32,
    comm: Comm,
    index: usize,
    blocks: BlocksOf<'_>,
) -> Result<Request, CommError> {
    let operation = post(world, tag, comm, index, blocks)?;
    world.set_request_ops(RequestKind::Neighbourhood, &REQUEST_OPS);
    let operations = slots(world);
    if !operations.has_room() {
        let mut operation = operation;
        let full = CommError::new(pombo_kernel::Error::Full, comm);
        operation.abandon(world);
        return Err(full);
    }
    let added = operations.insert(RequestKind::Neighbourhood, operation);
    let request = added.map_err(CommError::on(comm))?;
    if let Some(record) = world.objects.comms.at(index) {
        record.pending += 1;
    }
    Ok(request)
}

/// Returns the blocks for that many sources and destinations.
type BlocksOf<'a> = &'a dyn Fn(&Datatypes, usize, usize) -> Result<Blocks, Error>;

/// Posts the messages of an operation.
#[inline(never)]
fn post(
    world: &mut World,
    tag: u32,
    comm: Comm,
    index: usize,
    blocks: BlocksOf<'_>,
) -> Result<Neighbourhood, CommError> {
    let failure = CommError::on(comm);
    let record = world.objects.comms.known_at(index, comm)?;
    let Neighbours {
        sources,
        destinations,
        are_directions,
    } = neighbours(record).map_err(&failure)?;
    let peer = |rank: &c_int| match *rank {
        MPI_PROC_NULL => Ok(None),
        rank => record.peer(rank).map(Some),
    };
    let peers =
        |ranks: &[c_int]| -> Result<Vec<Option<Peer>>, Error> { ranks.iter().map(peer).collect() };
    let sources = peers(&sources).map_err(&failure)?;
    let destinations = peers(&destinations).map_err(&failure)?;
    let context = record.context * 2;
    let Blocks { send, receive } =
        blocks(&world.objects.datatypes, sources.len(), destinations.len()).map_err(&failure)?;
    let mut operation = Neighbourhood {
        comm,
        index,
        context,
        posted: PostedSet::default(),
        disagreement: None,
        over: None,
    };
    let posted = operation.receive_all(world, tag, &sources, &receive, are_directions);
    let posted = posted.and_then(|()| operation.send_all(world, tag, &destinations, &send));
    if let Err(error) = posted {
        operation.abandon(world);
        return Err(CommError::new(error, comm));
    }
    Ok(operation)
}

impl Neighbourhood {
    /// Posts the receives, in the order in which each source sends.
    fn receive_all(
        &mut self,
        world: &mut World,
        tag: u32,
        sources: &[Option<Peer>],
        blocks: &[Region],
        are_directions: bool,
    ) -> Result<(), pombo_kernel::Error> {
        for place in 0..sources.len() {
            // What the source sends in a direction comes here from the opposite one, and directions are in pairs.
            let from = place ^ usize::from(are_directions);
            if let (Some(&Some(peer)), Some(block)) = (sources.get(from), blocks.get(from)) {
                let pattern = MpiPattern::new(self.context + 1, Some(peer), Some(tag));
                let block = block.clone();
                self.posted.receive(&mut world.kernel, pattern, block)?;
            }
        }
        Ok(())
    }

    fn send_all(
        &mut self,
        world: &mut World,
        tag: u32,
        destinations: &[Option<Peer>],
        blocks: &[Region],
    ) -> Result<(), pombo_kernel::Error> {
        let header = MpiHeader::new(self.context + 1, tag);
        for (peer, block) in destinations.iter().zip(blocks) {
            if let Some(peer) = *peer {
                world.count(block.len());
                let block = block.clone();
                self.posted.send(&mut world.kernel, peer, header, block)?;
            }
        }
        Ok(())
    }

    /// Progresses as far as possible, and returns the result once the operation is over.
    fn poll(&mut self, world: &mut World) -> Option<Result<(), CommError>> {
        let World {
            kernel, objects, ..
        } = world;
        let (index, disagreement) = (self.index, &mut self.disagreement);
        let settled = self.posted.settle(kernel, 0, |error, peer| {
            let error = objects.comms.with_sender(index, error, peer);
            disagreement.get_or_insert(error);
        });
        let result = match settled {
            Ok(false) => return None,
            Ok(true) => self.disagreement.map_or(Ok(()), Err),
            Err(error) => {
                self.abandon(world);
                Err(error.into())
            }
        };
        Some(result.map_err(CommError::on(self.comm)))
    }

    /// Adds the operation to an answer about what this rank waits for.
    fn explain(&self, world: &mut World) {
        explanation::add_collective(world, self.context);
    }

    /// Fails if a rank of the communicator has ended.
    #[cold]
    fn fail_if_peer_lost(&mut self, world: &mut World) -> Option<Result<(), CommError>> {
        let peer = any_source_failure::dead_member(world, self.index)?;
        self.abandon(world);
        let rank = c_int::from(peer.0);
        Some(Err(CommError::new(Error::PeerLost { rank }, self.comm)))
    }

    /// Takes back the messages under way, because their memory goes away. A message that has matched its receive
    /// completes first, so that the other side need not fail too.
    #[cold]
    fn abandon(&mut self, world: &mut World) {
        let posted = &mut self.posted;
        posted.cancel(&mut world.kernel);
        // Where the wait fails, no message refers to the memory any more.
        let _ = world.until(
            |world| match posted.settle(&mut world.kernel, 0, |_, _| ()) {
                Ok(over) => Ok(over.then_some(())),
                Err(pombo_kernel::Error::Channel(error)) => {
                    Err(pombo_kernel::Error::Channel(error).into())
                }
                // One message failed; the others still have to complete.
                Err(_) => Ok(None),
            },
        );
        posted.release(&mut world.kernel);
    }
}

/// Progresses an operation by `step`, and returns its result once it is over. The operation is out of the table
/// meanwhile, and its communicator learns of its end once.
#[cold]
fn advance(
    world: &mut World,
    request: Request,
    step: fn(&mut Neighbourhood, &mut World) -> Option<Result<(), CommError>>,
) -> Result<Option<Result<(), CommError>>, CommError> {
    let operation = slots(world).get(request)?;
    if operation.over.is_some() {
        return Ok(operation.over.clone());
    }
    let mut taken = Neighbourhood {
        posted: core::mem::take(&mut operation.posted),
        over: None,
        ..*operation
    };
    let over = step(&mut taken, world);
    if over.is_some() {
        world.objects.comms.settled(taken.context);
    }
    taken.over = over.map(|result| result.map_err(|failure| world.objects.comms.noted(failure)));
    let over = taken.over.clone();
    *slots(world).get(request)? = taken;
    Ok(over)
}

fn activity(world: &mut World, request: Request) -> Result<Activity, CommError> {
    Ok(match advance(world, request, Neighbourhood::poll)? {
        Some(_) => Activity::Over,
        None => Activity::Pending,
    })
}

#[cold]
fn peek(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<RequestState, CommError> {
    *status = Status::SENT;
    Ok(match advance(world, request, Neighbourhood::poll)? {
        None => RequestState::Pending,
        Some(Ok(())) => RequestState::Complete,
        Some(Err(failure)) => RequestState::Failed(failure),
    })
}

#[cold]
fn test(
    world: &mut World,
    request: Request,
    status: &mut Status,
) -> Result<RequestState, CommError> {
    let standing = peek(world, request, status)?;
    if !matches!(standing, RequestState::Pending) {
        slots(world).remove(request)?;
    }
    Ok(standing)
}

#[cold]
fn recover_stalled(world: &mut World, request: Request) {
    // The error of a handle without an operation is found by the test.
    let _ = advance(world, request, |operation, world| {
        operation.explain(world);
        operation.fail_if_peer_lost(world)
    });
}

fn slots(world: &mut World) -> &mut RequestSlots<Neighbourhood> {
    world.objects.extensions.get()
}

#[cold]
fn unknown(request: Request) -> CommError {
    Error::Handle {
        kind: Kind::Request,
        got: request.0,
    }
    .into()
}
