//! How a sender and a receiver of partitioned messages meet: by an offer, a message of the sender when its request is
//! made. Their own contexts keep it, and the partitions, from all other receives.

use crate::comm::PARTITIONED;
use crate::constants::*;
use crate::datatype::Shape;
use crate::error::{Class, Error};
use crate::kernel::Posted;
use crate::message_header::{MpiHeader, MpiPattern};
use crate::p2p;
use crate::request::{RequestState, test_one};
use crate::runtime::world::{CommError, World};
use crate::status::Status;
use crate::user_buffer::{Region, UserAddress};
use alloc::vec;
use alloc::vec::Vec;
use pombo_kernel::{Mode, Peer};

/// The partner, and what is known of its side.
pub(super) struct Meeting {
    /// The partner; `None` for `MPI_PROC_NULL`.
    peer: Option<Peer>,
    /// The context of the partitions.
    context: u32,
    /// The send or receive of the offer; null when it is over.
    request: Request,
    /// The offer, which the kernel uses until then.
    memory: Vec<u8>,
    /// The messages of a start, once they are known.
    messages: Option<Messages>,
    /// Why there will be no offer.
    failed: Option<CommError>,
}

/// The messages of a start: one for each partition of the sender, of equal lengths, with consecutive tags.
#[derive(Clone, Copy)]
pub(super) struct Messages {
    pub(super) first: u32,
    pub(super) count: usize,
    /// Bytes of all of them.
    pub(super) bytes: u64,
}

/// Bytes of an offer.
const OFFER: usize = 16;

/// The state of this process's offers.
#[derive(Default)]
struct Offers {
    /// The tag of the next partition. No two partitions of a process have the same, so that no partition of one request
    /// is taken for that of another.
    next: u32,
    /// Offers under way of requests that were freed: the other side counts them.
    unmet: Vec<(Request, Vec<u8>)>,
}

impl Meeting {
    /// Meets nobody, for `MPI_PROC_NULL`.
    pub(super) fn with_nobody() -> Self {
        Meeting {
            peer: None,
            context: 0,
            request: Request::NULL,
            memory: Vec::new(),
            messages: Some(Messages {
                first: 0,
                count: 0,
                bytes: 0,
            }),
            failed: None,
        }
    }

    /// Sends the offer of a sender, whose messages on the communicator have that header.
    pub(super) fn offer(
        world: &mut World,
        peer: Peer,
        header: MpiHeader,
        count: usize,
        bytes: u64,
    ) -> Result<Self, CommError> {
        reap(world);
        let offers: &mut Offers = world.objects.extensions.get();
        let first = offers.next;
        let next = u32::try_from(count)
            .ok()
            .and_then(|count| first.checked_add(count));
        // The last tag is that of patterns for any.
        offers.next = next
            .filter(|next| *next < u32::MAX)
            .ok_or(Error::Argument {
                class: Class::Other,
                name: "partitions",
                must: "no more than 4294967294 in all requests of a process together",
            })?;
        let mut meeting = Meeting::new(peer, header);
        meeting.messages = Some(Messages {
            first,
            count,
            bytes,
        });
        meeting.memory[..4].copy_from_slice(&first.to_le_bytes());
        meeting.memory[4..8].copy_from_slice(&(count as u32).to_le_bytes());
        meeting.memory[8..].copy_from_slice(&bytes.to_le_bytes());
        let message = (peer, offer_header(header), meeting.region());
        let posted = p2p::post_checked_send(world, message, Comm::NULL, Mode::Standard);
        meeting.request = posted.begun()?.hand_out();
        Ok(meeting)
    }

    /// Waits for the offer to a receiver, in the order in which receivers are made.
    pub(super) fn await_offer(
        world: &mut World,
        peer: Peer,
        header: MpiHeader,
    ) -> Result<Self, CommError> {
        reap(world);
        let mut meeting = Meeting::new(peer, header);
        let MpiHeader { context, tag } = offer_header(header);
        let pattern = MpiPattern::new(context.get(), Some(peer), Some(tag.get()));
        let posted = Posted::receive(world, pattern, meeting.region(), Comm::NULL);
        meeting.request = posted.begun()?.hand_out();
        Ok(meeting)
    }

    fn new(peer: Peer, header: MpiHeader) -> Self {
        Meeting {
            peer: Some(peer),
            context: offer_header(header).context.get() + 1,
            request: Request::NULL,
            memory: vec![0; OFFER],
            messages: None,
            failed: None,
        }
    }

    fn region(&mut self) -> Region {
        UserAddress::of(&mut self.memory).region(OFFER, Shape::BYTE)
    }

    /// Progresses the offer; returns the messages of a start once they are known.
    pub(super) fn poll(&mut self, world: &mut World) -> Result<Option<Messages>, CommError> {
        if self.request == Request::NULL {
            return self.failed.clone().map_or(Ok(self.messages), Err);
        }
        match test_one(world, &mut self.request, &mut { Status::EMPTY })? {
            RequestState::Pending => {}
            RequestState::Failed(failure) => {
                self.failed = Some(failure.clone());
                return Err(failure);
            }
            RequestState::Complete if self.messages.is_none() => {
                let mut offer = [0; OFFER];
                offer.copy_from_slice(&self.memory);
                let offer = u128::from_le_bytes(offer);
                self.messages = Some(Messages {
                    first: offer as u32,
                    count: (offer >> 32) as u32 as usize,
                    bytes: (offer >> 64) as u64,
                });
            }
            RequestState::Complete => {}
        }
        Ok(self.messages)
    }

    /// Returns the messages of a start, if they are known.
    pub(super) fn messages(&self) -> Option<Messages> {
        self.messages
    }

    /// Returns the partner, and the header of a partition's message; `None` for `MPI_PROC_NULL`.
    pub(super) fn address(&self, partition: usize) -> Option<(Peer, MpiHeader)> {
        let first = self.messages?.first;
        Some((
            self.peer?,
            MpiHeader::new(self.context, first + partition as u32),
        ))
    }

    /// Returns the send or receive of the offer.
    pub(super) fn request(&self) -> Request {
        self.request
    }

    /// Ends the part of a request that is freed. Its offer stays, as requests meet in the order of their making.
    pub(super) fn leave(self, world: &mut World) {
        if self.request != Request::NULL {
            let offers: &mut Offers = world.objects.extensions.get();
            offers.unmet.push((self.request, self.memory));
        }
    }
}

/// Returns the header of the offer for messages with that header.
fn offer_header(header: MpiHeader) -> MpiHeader {
    MpiHeader::new(header.context.get() | (2 * PARTITIONED), header.tag.get())
}

/// Forgets the offers of freed requests that are over.
fn reap(world: &mut World) {
    let mut unmet = core::mem::take(&mut world.objects.extensions.get::<Offers>().unmet);
    unmet.retain_mut(|(request, _)| {
        let state = test_one(world, request, &mut { Status::EMPTY });
        matches!(state, Ok(RequestState::Pending))
    });
    world.objects.extensions.get::<Offers>().unmet = unmet;
}
