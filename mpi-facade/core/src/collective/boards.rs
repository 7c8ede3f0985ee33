//! Operations over boards in shared memory: which communicators have them, and the blocking call over them.
//!
//! Only blocking calls use boards: of one communicator they follow each other in the same order on all ranks, which
//! number them alike. Non-blocking ones go by messages.
//!
//! Ranks that do not agree on the length of an operation still go through it: every text says which operation it is of
//! and how long its rank takes that to be, and whoever expects something else notes it and leaves the operation. The
//! others hear that nothing more comes, if they need it, and all meet again in the next one.

use super::call::{Call, Stop};
use super::over_boards::{End, OverBoards};
use super::schedule::{Part, Stand};
use super::sides::{Side, Sides};
use super::{Algorithm, Operation};
use crate::comm::Boards;
use crate::error::Error;
use crate::world::World;
use alloc::vec::Vec;
use core::iter;
use pombo_collective::{Running, Step, barrier_boards};
use pombo_kernel::Node;
use pombo_netdrivers::shm::collective::{AREAS, TEXT};

/// The area of `MPI_COMM_WORLD`.
const WORLD: usize = 0;
/// Long data is cut into so many texts at least, so that one is written while another is read; where ranks share
/// cores, into as few as can be.
const OVERLAP: usize = 4;
/// But not into shorter ones, in bytes.
const SHORTEST: usize = 8 << 10;
/// Texts are cut at cache lines.
const LINE: usize = 64;

/// How a blocking call is carried out.
pub(super) enum Way {
    /// Over the boards in that area.
    Boards(u8),
    /// Host by host: see `levels`.
    Hosts,
    Messages,
}

impl Call<'_> {
    /// The way of this operation, or of its part. All ranks of it get the same answer.
    #[inline]
    pub(super) fn way(&mut self, operation: Operation, bytes: usize) -> Result<Way, Error> {
        let ground = self.ground(operation)?;
        if ground.ranks < 2 {
            return Ok(Way::Messages);
        }
        match self.choices().pick(operation, bytes, ground) {
            Algorithm::Boards => {}
            Algorithm::Hosts => return Ok(Way::Hosts),
            _ => return Ok(Way::Messages),
        }
        Ok(self.area()?.map_or(Way::Messages, Way::Boards))
    }

    /// Is it carried out host by host? `bytes` is asked where ranks are on several hosts.
    #[inline]
    pub(super) fn goes_by_hosts(
        &mut self,
        operation: Operation,
        bytes: impl FnOnce() -> Result<usize, Error>,
    ) -> Result<bool, Error> {
        if self.levels()?.is_none() {
            return Ok(false);
        }
        Ok(matches!(self.way(operation, bytes()?)?, Way::Hosts))
    }

    /// The area of its boards, if there are any.
    #[inline]
    fn area(&mut self) -> Result<Option<u8>, Error> {
        let boards = match self.group()?.boards {
            Boards::Unasked => self.enter_world()?,
            known => known,
        };
        Ok(match boards {
            Boards::In(area) if self.has_number(area) => Some(area),
            _ => None,
        })
    }

    /// Where short ones of an operation go over boards and this one, of so many bytes, by messages, all ranks look at
    /// each other's length first: else two that do not agree would wait for each other in different places. They meet
    /// only there where all see all of them, and so do all or none go on. True if they disagree: the call is over.
    #[inline(never)]
    pub(super) fn disagrees(
        &mut self,
        operation: Operation,
        (given, taken): (usize, usize),
    ) -> Result<bool, Stop> {
        let ground = self.ground(operation)?;
        let short = self.choices().pick(operation, 0, ground);
        if ground.ranks < 2 || short != Algorithm::Boards {
            return Ok(false);
        }
        let Some(area) = self.area()? else {
            return Ok(false);
        };
        let mut sides = Sides::plain(operation, taken, Side::nothing(), Side::nothing());
        if given != taken {
            // Then nobody agrees with this rank.
            self.note(Error::unequal(given as u64, taken as u64));
            sides = sides.giving(operation, usize::MAX);
        }
        let Stand { rank, ranks, .. } = self.stand;
        self.run_over(area, &mut barrier_boards(rank, ranks), &sides)?;
        Ok(self.verdict().is_err())
    }

    #[cold]
    fn enter_world(&mut self) -> Result<Boards, Error> {
        let group = self.group()?;
        let nodes = group.nodes.clone();
        let boards = enter(self.world, &nodes, WORLD, 0);
        self.group()?.boards = boards;
        Ok(boards)
    }

    #[inline]
    fn has_number(&mut self, area: u8) -> bool {
        let number = self.number;
        let group = self.world.near().group(area.into());
        group.is_some_and(|group| group.takes(number))
    }

    /// How many bytes of items of `item` bytes go into a text at a time, if `parts` times as many share it, and how many
    /// texts that makes. All bytes are whole items.
    #[inline]
    pub(super) fn segments(&mut self, bytes: usize, parts: usize, item: usize) -> (usize, usize) {
        let whole = bytes.saturating_mul(parts);
        if whole <= SHORTEST {
            return (bytes, usize::from(bytes > 0));
        }
        let ranks = self.stand.ranks;
        let text = match self.choices().is_crowded(ranks) {
            true => TEXT,
            false => (whole / OVERLAP).clamp(SHORTEST, TEXT),
        };
        let unit = if LINE.is_multiple_of(item) {
            LINE
        } else {
            item
        };
        let grain = (text / parts / unit).max(1) * unit;
        let grain = grain.min(bytes);
        (grain, bytes.div_ceil(grain))
    }

    /// Runs an operation over boards to its end. Behind a pointer its steps cost a call each, and all of this exists once.
    #[inline(never)]
    pub(super) fn run_over(
        &mut self,
        area: u8,
        steps: &mut dyn Part,
        sides: &Sides,
    ) -> Result<bool, Stop> {
        self.run_steps(area, iter::from_fn(|| steps.next()), sides)
    }

    /// The same with steps of one kind in line: for short operations, where a call for each step shows.
    #[inline]
    pub(super) fn run_steps(
        &mut self,
        area: u8,
        steps: impl Iterator<Item = Step>,
        sides: &Sides,
    ) -> Result<bool, Stop> {
        let (mut running, mut incoming) = (Running::new(steps), core::ptr::null());
        let (rank, number) = (self.stand.rank, self.number);
        // A call of several parts has as many numbers.
        self.number += 1;
        if let Some(mut group) = self.world.near().group(area.into()) {
            group.begin(number, sides.gives);
        }
        let mut end = None;
        let looks = self.world.patience();
        let done = self.world.until_after(looks, |world| {
            let group = world.near().group(area.into());
            let group = group.map(|group| if looks > 0 { group.yielding() } else { group });
            let polled = group.map(|group| {
                running.poll(&mut OverBoards {
                    group,
                    rank,
                    sides,
                    incoming: &mut incoming,
                })
            });
            Ok(match polled {
                Some(Ok(over)) => over.then_some(()),
                Some(Err(error)) => {
                    end = Some(error);
                    Some(())
                }
                None => Some(()),
            })
        });
        if end.is_none() && done.is_ok() {
            return Ok(true);
        }
        self.leave(area, end)?;
        done.map_err(Stop::Failed)?;
        Ok(true)
    }

    /// Ends an operation before its time.
    #[cold]
    fn leave(&mut self, area: u8, end: Option<End>) -> Result<(), Stop> {
        if let Some(mut group) = self.world.near().group(area.into()) {
            group.end();
        }
        match end {
            None => {}
            Some(End::Unequal { sent, room }) => self.note(Error::unequal(sent, room)),
            Some(End::Lost(near)) => {
                let world = &mut self.world;
                let host = world.hosts.of(world.kernel.node());
                let node = world.hosts.members(host).get(near.index()).copied();
                let lost = pombo_kernel::Error::PeerLost(node.unwrap_or(near));
                return Err(Stop::Refused(lost.into()));
            }
        }
        Ok(())
    }
}

/// For each area that is free in this rank, for a new communicator, the first operation there; that of `MPI_COMM_WORLD`
/// never is.
pub(crate) fn areas(world: &mut World) -> [Option<u64>; AREAS] {
    let mut areas = world.near().areas();
    areas[WORLD] = None;
    areas
}

/// Takes an area for those of a new communicator's nodes that are on this host; all have found it free.
pub(crate) fn enter(world: &mut World, nodes: &[Node], area: usize, first: u64) -> Boards {
    let host = world.hosts.of(world.kernel.node());
    let near = world.hosts.members(host);
    let place = |node: &Node| near.binary_search(node).ok();
    let nodes = nodes.iter().filter_map(place);
    let nodes: Vec<Node> = nodes.map(|place| Node(place as u16)).collect();
    if nodes.len() < 2 {
        return Boards::None;
    }
    match world.near().enter(area, nodes.into_iter(), first) {
        true => Boards::In(area as u8),
        false => Boards::None,
    }
}
