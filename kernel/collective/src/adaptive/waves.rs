//! The two detectors of an end, and how a tree comes apart. Source: the paper on adaptive spanning trees, section 3.
//!
//! The root, the lower end of the last core, sends a wave along the tree; every subtree answers. A wave has a tag, one
//! more than the wave before; an answer with another tag is ignored. A process answers when it has entered the round
//! and its neighbours have taken note of the weights that it told. If a link of the tree must leave, the root says so
//! along the tree, the fragments that are left join by a search, and the root of the new tree sends the next wave. If
//! none must, the root says that the detector has fired. So a round without changes has one pair of waves for each
//! detector, and one more for each kind of change that a link of the tree leaves by.
//!
//! *Failures*: a link of the tree that became worse leaves it. The others stay in a minimum spanning tree, as nothing
//! that crosses the same cut became lighter than before. While failures are dealt with, a link that became better counts
//! as what it was.
//!
//! *Recoveries*: a link outside the tree that became better closes a cycle, whose heaviest link leaves. Cycles that
//! share links are broken at once: the answers carry the lightest recovered link with one end in the subtree, and each
//! link of the tree that is heavier leaves, unless the search, among these and the recovered ones alone, takes it again.
//! A link that stays is lighter than every recovered one across its cut, so it is in the minimum spanning tree. With one
//! recovered link none leaves that is not on its cycle; with several an answer forgets all but the lightest, whose weight
//! then stands for the others.

use super::link::{EdgeState, Link};
use super::machine::{EarlyWave, Machine, Phase, Recovered, Stage, expect};
use super::{AdaptiveError, Kind, Message};

/// Of an answer: a link of the tree must leave in this subtree.
const DIRTY: u8 = 1;
/// Of an answer: there are more recovered links than the one that it names.
const MORE: u8 = 2;

impl Machine<'_> {
    /// Sends the next wave, as the root.
    pub(super) fn begin_wave(&mut self) {
        self.state.leads = false;
        self.state.tag = self.state.tag.wrapping_add(1);
        self.enter_wave(None);
    }

    fn enter_wave(&mut self, parent: Option<usize>) {
        let state = &mut *self.state;
        state.stage = Stage::Wave;
        state.parent = parent;
        state.dirty = false;
        state.recovered = Recovered::NONE;
        let kind = match state.phase {
            Phase::Failures => {
                state.count = 1;
                state.latest = match state.current {
                    0 => state.built,
                    round => round,
                };
                Kind::NotFail
            }
            Phase::Recoveries => Kind::NotRec,
        };
        for link in self.links.iter_mut() {
            link.answered = false;
            link.cut = false;
        }
        self.post_to_branches(parent, Message::new(kind));
    }

    pub(super) fn on_wave(
        &mut self,
        link: usize,
        message: &Message,
        phase: Phase,
    ) -> Result<(), AdaptiveError> {
        let state = &mut *self.state;
        let (round, tag) = (message.round.get(), message.tag.get());
        expect(self.links[link].is_branch() && state.phase == phase)?;
        expect(tag == state.tag.wrapping_add(1))?;
        if state.stage == Stage::Idle {
            expect(round > state.current && state.early.is_none())?;
            state.early = Some(EarlyWave { link, round, tag });
            return Ok(());
        }
        expect(round == state.current)?;
        expect(matches!(state.stage, Stage::Waiting | Stage::Searching) && !state.finding)?;
        state.tag = tag;
        self.enter_wave(Some(link));
        Ok(())
    }

    /// Joins the wave of the round that this process has just entered if it is there already.
    pub(super) fn join_early_wave(&mut self) {
        let round = self.state.current;
        let early = self.state.early.take_if(|early| early.round == round);
        if let Some(EarlyWave { link, tag, .. }) = early {
            self.state.tag = tag;
            self.enter_wave(Some(link));
        }
    }

    pub(super) fn on_answer(
        &mut self,
        link: usize,
        message: &Message,
        phase: Phase,
    ) -> Result<(), AdaptiveError> {
        let state = &mut *self.state;
        let slot = &mut self.links[link];
        expect(state.stage == Stage::Wave && state.phase == phase)?;
        expect(slot.is_branch() && state.parent != Some(link) && !slot.answered)?;
        slot.answered = true;
        state.dirty |= message.level & DIRTY != 0;
        match phase {
            Phase::Failures => {
                state.count = state.count.saturating_add(message.count.get());
                state.latest = state.latest.max(message.low.get());
            }
            Phase::Recoveries => {
                let recovered = Recovered {
                    lightest: message.edge(),
                    more: message.level & MORE != 0,
                };
                self.cut_if_heavier(link, recovered);
                self.state.recovered = self.state.recovered.and(recovered);
            }
        }
        Ok(())
    }

    /// A link of the tree leaves if a recovered link with one end below it is lighter. Both ends decide the same.
    fn cut_if_heavier(&mut self, link: usize, below: Recovered) {
        let cut = self.target_weight(link) > below.lightest;
        self.links[link].cut = cut;
        self.state.dirty |= cut;
    }

    /// Returns true if the subtree has answered and this process has nothing open itself.
    pub(super) fn is_answered(&self) -> bool {
        let parent = self.state.parent;
        let mut links = self.links.iter().enumerate();
        self.state.stage == Stage::Wave
            && links.all(|(index, link)| {
                let answered = !link.is_branch() || link.answered || Some(index) == parent;
                answered && !link.unacknowledged
            })
    }

    /// Answers the wave, or decides what follows from it if this process is the root.
    pub(super) fn complete_wave(&mut self) {
        let phase = self.state.phase;
        for link in 0..self.links.len() {
            let slot = &self.links[link];
            match phase {
                Phase::Failures => {
                    self.state.dirty |= slot.is_branch() && slot.target > slot.weight;
                }
                Phase::Recoveries if has_recovered(slot) => {
                    let lightest = self.target_weight(link);
                    let more = false;
                    let own = Recovered { lightest, more };
                    self.state.recovered = self.state.recovered.and(own);
                }
                Phase::Recoveries => {}
            }
        }
        let Some(parent) = self.state.parent else {
            return if self.state.dirty {
                self.cut_links();
            } else {
                self.end_phase();
            };
        };
        self.state.stage = Stage::Waiting;
        let message = match phase {
            Phase::Failures => {
                let message = Message::new(Kind::NotFailAck).with_round(self.state.latest);
                message.with_count(self.state.count)
            }
            Phase::Recoveries => {
                self.cut_if_heavier(parent, self.state.recovered);
                Message::new(Kind::NotRecAck).with_edge(self.state.recovered.lightest)
            }
        };
        let dirty = if self.state.dirty { DIRTY } else { 0 };
        let more = if self.state.recovered.more { MORE } else { 0 };
        self.post(parent, message.with_level(dirty | more));
    }

    /// Takes what the root has decided.
    pub(super) fn on_decision(
        &mut self,
        link: usize,
        message: &Message,
        kind: Kind,
    ) -> Result<(), AdaptiveError> {
        let phase = match kind {
            Kind::GoSleepFail | Kind::Reiden => Phase::Failures,
            _ => Phase::Recoveries,
        };
        let state = &mut *self.state;
        expect(state.stage == Stage::Waiting && state.phase == phase)?;
        expect(state.parent == Some(link))?;
        if matches!(kind, Kind::Reiden | Kind::Recover) {
            self.cut_links();
        } else {
            state.latest = message.low.get();
            state.count = message.count.get();
            self.end_phase();
        }
        Ok(())
    }

    /// Takes the links out of the tree that must leave; what is left of the tree is a fragment or several.
    fn cut_links(&mut self) {
        let (parent, phase) = (self.state.parent, self.state.phase);
        let kind = match phase {
            Phase::Failures => Kind::Reiden,
            Phase::Recoveries => Kind::Recover,
        };
        self.post_to_branches(parent, Message::new(kind));
        for link in self.links.iter_mut() {
            let (leaves, joins) = match phase {
                Phase::Failures => (link.target > link.weight, true),
                Phase::Recoveries => (link.cut, has_recovered(link)),
            };
            link.state = match link.state {
                EdgeState::Branch if !leaves => EdgeState::Branch,
                EdgeState::Branch => EdgeState::Basic,
                _ if joins => EdgeState::Basic,
                _ => EdgeState::Rejected,
            };
            link.weight = match phase {
                Phase::Failures => link.weight.max(link.target),
                Phase::Recoveries => link.target,
            };
        }
        self.leave_fragment();
        let state = &mut *self.state;
        state.parent = parent.filter(|&parent| self.links[parent].is_branch());
        state.begins = state.parent.is_none();
        state.oriented = None;
    }

    /// One of the detectors fires.
    fn end_phase(&mut self) {
        let state = &mut *self.state;
        let parent = state.parent;
        let kind = match state.phase {
            Phase::Failures => {
                state.counters.failures_settled += 1;
                state.phase = Phase::Recoveries;
                state.stage = Stage::Waiting;
                state.leads = parent.is_none();
                Kind::GoSleepFail
            }
            Phase::Recoveries => {
                state.counters.recoveries_settled += 1;
                state.phase = Phase::Failures;
                state.stage = Stage::Idle;
                state.done = state.done.max(state.latest);
                state.members = state.count;
                state.processes = state.count;
                for link in self.links.iter_mut() {
                    link.weight = link.target;
                }
                Kind::GoSleepRec
            }
        };
        let message = Message::new(kind).with_round(state.latest);
        let message = message.with_count(state.count);
        self.post_to_branches(parent, message);
    }
}

/// Is the link outside the tree and better than before?
fn has_recovered(link: &Link) -> bool {
    !link.is_branch() && link.target < link.weight && !link.lost
}
