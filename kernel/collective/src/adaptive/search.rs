//! Fragments of the minimum spanning tree join over their least outgoing edges. Source: Gallager, Humblet and Spira,
//! 1983.
//!
//! Every fragment has a level and an identity. A fragment of one process begins at level 0 in a build; after a change
//! each fragment that is left begins at level 1 with its root as the identity. From then on a fragment is what it is
//! there: it joins one of a higher level, or one of its own level that wants the same edge, which makes the next level.
//!
//! What cannot be answered yet waits in its link: a correct neighbour has at most one Connect, one Test and one Report
//! there.
//!
//! Fragments also count their processes. When two join that together have all of them, the tree is complete and nobody
//! searches again: a last search would test every link that is not in the tree.

use super::link::{EdgeState, EdgeWeight, Fragment};
use super::machine::{Machine, Stage, expect};
use super::{AdaptiveError, Kind, Message};

impl Machine<'_> {
    /// Makes this process a part of no fragment.
    pub(super) fn leave_fragment(&mut self) {
        let state = &mut *self.state;
        state.stage = Stage::Searching;
        state.level = 0;
        state.fragment = Fragment::of(state.me, state.me);
        state.finding = false;
        state.reports = 0;
        state.test_link = None;
        state.best = EdgeWeight::NONE;
        state.best_link = None;
        state.size = 1;
    }

    /// Begins the search of the fragment whose root this process is.
    pub(super) fn begin_search(&mut self) {
        let me = self.state.me;
        self.state.begins = false;
        self.state.parent = None;
        self.state.level = u8::from(self.state.current > 0);
        if self.links.iter().any(|link| link.is_branch()) {
            self.state.level = 1;
            self.search(1, Fragment::of(me, me), true, None);
        } else if let Some(link) = self.lightest_basic() {
            // Every link leaves a fragment of one process: it tests none.
            self.connect(link, 1);
        } else {
            self.state.leads = true;
        }
    }

    /// Takes the level and the identity, hands them on and begins to search.
    fn search(&mut self, level: u8, fragment: Fragment, finding: bool, parent: Option<usize>) {
        let state = &mut *self.state;
        state.level = level;
        state.fragment = fragment;
        state.finding = finding;
        state.parent = parent;
        state.best = EdgeWeight::NONE;
        state.best_link = None;
        state.test_link = None;
        state.size = 1;
        let message = self.initiate(level, fragment);
        let children = self.post_to_branches(parent, message);
        self.state.reports = if finding { children } else { 0 };
        if finding {
            self.test_next();
        }
    }

    fn initiate(&self, level: u8, fragment: Fragment) -> Message {
        let message = Message::new(Kind::Initiate).with_level(level);
        let message = message.with_fragment(fragment);
        message.with_count(self.state.finding.into())
    }

    fn test_next(&mut self) {
        self.state.test_link = self.lightest_basic();
        if let Some(link) = self.state.test_link {
            let message = Message::new(Kind::Test).with_level(self.state.level);
            self.post(link, message.with_fragment(self.state.fragment));
        } else {
            self.report_if_found();
        }
    }

    fn report_if_found(&mut self) {
        let state = &mut *self.state;
        if !state.finding || state.reports > 0 || state.test_link.is_some() {
            return;
        }
        state.finding = false;
        let (best, size) = (state.best, state.size);
        match state.parent {
            Some(parent) => {
                let message = Message::new(Kind::Report).with_edge(best);
                self.post(parent, message.with_count(size));
            }
            None if best == EdgeWeight::NONE => state.leads = true,
            None => self.change_root(size),
        }
    }

    /// Sends the right to connect towards the best link, or connects.
    fn change_root(&mut self, size: u32) {
        match self.state.best_link {
            Some(link) if self.links[link].is_branch() => {
                self.post(link, Message::new(Kind::ChangeRoot).with_count(size));
            }
            Some(link) => self.connect(link, size),
            None => {}
        }
    }

    fn connect(&mut self, link: usize, size: u32) {
        self.state.size = size;
        self.links[link].state = EdgeState::Branch;
        let message = Message::new(Kind::Connect).with_level(self.state.level);
        self.post(link, message.with_count(size));
    }

    /// Answers what has waited in the links. Returns true if it could answer something.
    pub(super) fn answer_deferred(&mut self) -> bool {
        let searching = self.state.stage == Stage::Searching && !self.state.begins;
        let mut answered = false;
        for link in 0..self.links.len() {
            answered |= searching
                && (self.answer_connect(link)
                    || self.answer_test(link)
                    || self.answer_report(link));
        }
        answered
    }

    fn answer_connect(&mut self, link: usize) -> bool {
        let level = self.state.level;
        let Some((theirs, size)) = self.links[link].connect else {
            return false;
        };
        if theirs < level {
            self.links[link].connect = None;
            self.links[link].state = EdgeState::Branch;
            let message = self.initiate(level, self.state.fragment);
            self.post(link, message);
            self.state.reports += u32::from(self.state.finding);
            return true;
        }
        // Both fragments want this edge: it becomes the core.
        let core = theirs == level && self.links[link].is_branch();
        if core {
            self.links[link].connect = None;
            if size.saturating_add(self.state.size) == self.state.processes {
                self.end_search(link);
            } else {
                let message = Message::new(Kind::Initiate).with_level(level.saturating_add(1));
                let message = message.with_fragment(self.ends(link));
                self.post(link, message.with_count(1));
            }
        }
        core
    }

    fn answer_test(&mut self, link: usize) -> bool {
        let Some((level, fragment)) = self.links[link].test else {
            return false;
        };
        if level > self.state.level {
            return false;
        }
        self.links[link].test = None;
        if fragment != self.state.fragment {
            self.post(link, Message::new(Kind::Accept));
            return true;
        }
        self.reject(link);
        if self.state.test_link == Some(link) {
            // Both ends test the link: the test of the one is the answer for the other.
            self.test_next();
        } else {
            self.post(link, Message::new(Kind::Reject));
        }
        true
    }

    /// Deals with the report of the other end of the core.
    fn answer_report(&mut self, link: usize) -> bool {
        let state = &mut *self.state;
        if state.finding || state.parent != Some(link) {
            return false;
        }
        let Some((theirs, size)) = self.links[link].report.take() else {
            return false;
        };
        if theirs > state.best {
            let size = state.size.saturating_add(size);
            self.change_root(size);
        } else if theirs == EdgeWeight::NONE {
            self.end_search(link);
        }
        true
    }

    fn reject(&mut self, link: usize) {
        let state = &mut self.links[link].state;
        if *state == EdgeState::Basic {
            *state = EdgeState::Rejected;
        }
    }

    /// Nothing is left to join: the lower end of the last core is the root of the tree.
    fn end_search(&mut self, core: usize) {
        let leads = self.state.me == self.ends(core).low;
        self.state.leads = leads;
        self.state.parent = (!leads).then_some(core);
    }

    pub(super) fn on_connect(
        &mut self,
        link: usize,
        message: &Message,
    ) -> Result<(), AdaptiveError> {
        self.expect_joinable()?;
        expect(self.links[link].connect.is_none())?;
        self.links[link].connect = Some((message.level, message.count.get()));
        Ok(())
    }

    pub(super) fn on_test(&mut self, link: usize, message: &Message) -> Result<(), AdaptiveError> {
        self.expect_joinable()?;
        expect(self.links[link].test.is_none())?;
        self.links[link].test = Some((message.level, message.fragment()));
        Ok(())
    }

    /// A fragment may be ahead of this process, which then does not know yet that there is a search.
    fn expect_joinable(&self) -> Result<(), AdaptiveError> {
        expect(!matches!(self.state.stage, Stage::Wave | Stage::Idle))
    }

    pub(super) fn on_initiate(
        &mut self,
        link: usize,
        message: &Message,
    ) -> Result<(), AdaptiveError> {
        self.expect_searching(self.links[link].is_branch())?;
        expect(message.level > self.state.level && !self.state.finding)?;
        let finding = message.count.get() > 0;
        self.search(message.level, message.fragment(), finding, Some(link));
        Ok(())
    }

    pub(super) fn on_accept(&mut self, link: usize) -> Result<(), AdaptiveError> {
        self.expect_searching(self.state.test_link == Some(link))?;
        self.state.test_link = None;
        self.offer(link, self.edge_weight(link));
        self.report_if_found();
        Ok(())
    }

    pub(super) fn on_reject(&mut self, link: usize) -> Result<(), AdaptiveError> {
        self.expect_searching(self.state.test_link == Some(link))?;
        self.reject(link);
        self.test_next();
        Ok(())
    }

    pub(super) fn on_report(
        &mut self,
        link: usize,
        message: &Message,
    ) -> Result<(), AdaptiveError> {
        self.expect_searching(self.links[link].is_branch())?;
        let (best, size) = (message.edge(), message.count.get());
        if self.state.parent == Some(link) {
            let core = self.state.fragment == self.ends(link);
            expect(core && self.links[link].report.is_none())?;
            self.links[link].report = Some((best, size));
        } else {
            expect(self.state.finding && self.state.reports > 0)?;
            self.state.reports -= 1;
            self.state.size = self.state.size.saturating_add(size);
            self.offer(link, best);
            self.report_if_found();
        }
        Ok(())
    }

    /// Takes an outgoing edge in the direction of a link if it is the best so far.
    fn offer(&mut self, link: usize, edge: EdgeWeight) {
        if edge < self.state.best {
            self.state.best = edge;
            self.state.best_link = Some(link);
        }
    }

    pub(super) fn on_change_root(
        &mut self,
        link: usize,
        message: &Message,
    ) -> Result<(), AdaptiveError> {
        self.expect_searching(self.state.parent == Some(link))?;
        expect(!self.state.finding && self.state.best_link.is_some())?;
        self.change_root(message.count.get());
        Ok(())
    }

    fn expect_searching(&self, holds: bool) -> Result<(), AdaptiveError> {
        expect(holds && self.state.stage == Stage::Searching)
    }
}
