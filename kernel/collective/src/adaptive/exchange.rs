//! The ends of each link agree on its weight: the larger one of what the two have measured.
//!
//! In a build each process tells all its neighbours. In a round it tells those whose link it measures otherwise than
//! before, and takes part in the waves when they have taken note; so the root knows from the first wave that both ends
//! of every link agree.
//!
//! When a neighbour dies a process begins a new *epoch*, one more than the present one, with the build of a tree of those
//! that are left. The first message of an epoch on every link is a weight; who receives one of an epoch above its own
//! takes that epoch over, whatever it did. Messages of former epochs are ignored.

use super::link::EdgeState;
use super::machine::{Machine, Phase, Stage, expect};
use super::{AdaptiveError, Kind, Message};

impl Machine<'_> {
    /// Begins to take part.
    pub(super) fn wake(&mut self) {
        if self.state.stage == Stage::Sleeping {
            self.state.stage = Stage::Exchanging;
            self.tell_all();
        }
    }

    fn tell_all(&mut self) {
        self.state.built = self.state.asked;
        for link in 0..self.links.len() {
            let slot = &mut self.links[link];
            slot.told = slot.own;
            if !slot.lost {
                let message = Message::new(Kind::Weight).with_weight(slot.told);
                self.post(link, message);
            }
        }
    }

    /// Forgets the tree and begins to build another.
    pub(super) fn enter_epoch(&mut self, epoch: u32) {
        for link in self.links.iter_mut() {
            link.reset();
        }
        let state = &mut *self.state;
        state.epoch = epoch;
        state.current = 0;
        state.tag = 0;
        state.phase = Phase::Failures;
        state.parent = None;
        state.leads = false;
        state.begins = false;
        state.early = None;
        state.oriented = None;
        // Who is left is not known yet.
        state.processes = u32::MAX;
        if state.stage != Stage::Sleeping {
            state.stage = Stage::Exchanging;
            self.tell_all();
        }
    }

    /// A neighbour is dead. What it took part in, in this epoch, cannot be completed.
    pub(super) fn lose(&mut self, link: usize) {
        let slot = &mut self.links[link];
        let took_part = slot.heard;
        slot.lost = true;
        slot.reset();
        if took_part && self.state.stage != Stage::Sleeping {
            self.enter_epoch(self.state.epoch.saturating_add(1));
        }
    }

    pub(super) fn on_weight(
        &mut self,
        link: usize,
        message: &Message,
    ) -> Result<(), AdaptiveError> {
        let (round, stage) = (message.round.get(), self.state.stage);
        let slot = &mut self.links[link];
        if round == 0 {
            expect(!slot.heard && matches!(stage, Stage::Sleeping | Stage::Exchanging))?;
            slot.heard = true;
        } else {
            let present = round == self.state.current;
            let open = matches!(stage, Stage::Wave | Stage::Waiting);
            let open = open && self.state.phase == Phase::Failures;
            expect(slot.heard && (round > self.state.current || present && open))?;
        }
        slot.peer = weight_of(message.weight.get());
        if round > 0 {
            if round == self.state.current {
                slot.target = slot.told.max(slot.peer);
            }
            self.post(link, Message::new(Kind::WeightAck).with_round(round));
        }
        Ok(())
    }

    pub(super) fn on_weight_ack(
        &mut self,
        link: usize,
        message: &Message,
    ) -> Result<(), AdaptiveError> {
        let slot = &mut self.links[link];
        expect(slot.unacknowledged && message.low.get() == self.state.current)?;
        slot.unacknowledged = false;
        Ok(())
    }

    /// Returns true if the build knows all weights.
    pub(super) fn knows_weights(&self) -> bool {
        let mut links = self.links.iter();
        self.state.stage == Stage::Exchanging && links.all(|link| link.heard || link.lost)
    }

    /// Begins the build's search.
    pub(super) fn begin_build(&mut self) {
        for link in self.links.iter_mut() {
            link.target = link.told.max(link.peer);
            link.weight = link.target;
            link.state = EdgeState::Basic;
        }
        self.leave_fragment();
        self.state.begins = true;
    }

    /// Enters the next round with the weights that are measured now.
    pub(super) fn enter_round(&mut self) {
        let state = &mut *self.state;
        state.current = state.done.wrapping_add(1);
        state.stage = Stage::Waiting;
        state.leads = state.parent.is_none();
        for link in 0..self.links.len() {
            let slot = &mut self.links[link];
            if slot.own != slot.told && !slot.lost {
                slot.told = slot.own;
                slot.unacknowledged = true;
                let message = Message::new(Kind::Weight).with_weight(slot.told);
                self.post(link, message);
            }
            let slot = &mut self.links[link];
            slot.target = slot.told.max(slot.peer);
        }
    }
}

/// Returns a weight that is less than that of no link.
pub(super) fn weight_of(measured: u64) -> u64 {
    measured.min(u64::MAX - 1)
}
