//! Shared memory beside a network, as one channel. `way` only.

use super::channel::WorldChannel;
use super::far::Far;
use super::traffic::Traffic;
use crate::hosts::Hosts;
use core::fmt;
use pombo_kernel::aspect::Cap;
use pombo_kernel::{Channel, Node};
use pombo_netdrivers::Growing;
use pombo_netdrivers::shm::Shm;
use pombo_transport::Composite;

/// To every rank of a job of up to so many: its rank is its node.
pub type Way<const RANKS: usize> = Composite<Shm, Far<RANKS>, Cap<RANKS>, Growing>;

impl<const RANKS: usize> WorldChannel for Way<RANKS> {
    #[inline]
    fn memory(&mut self) -> &mut Shm {
        self.near_mut()
    }

    fn is_settled(&mut self) -> bool {
        self.far_mut().is_none_or(Far::is_settled)
    }

    fn leave(&mut self) {
        self.near_mut().finish();
        if let Some(far) = self.far_mut() {
            far.finish();
        }
    }

    fn blame(&mut self, other: Node) {
        self.near_mut().blame(other);
        if let Some(far) = self.far() {
            far.vigil().blame(other);
        }
    }

    fn blamed(&mut self, hosts: &Hosts, node: Node) -> Option<Node> {
        match hosts.are_near(self.node(), node) {
            true => self.near_mut().blamed(hosts, node),
            false => self.far()?.vigil().blamed(node),
        }
    }

    fn has_finished(&mut self, hosts: &Hosts, node: Node) -> bool {
        match hosts.are_near(self.node(), node) {
            true => self.near_mut().has_finished(hosts, node),
            false => self.far().is_some_and(|far| far.vigil().has_finished(node)),
        }
    }

    fn explain(&self, errno: i32, to: &mut dyn fmt::Write) -> fmt::Result {
        match self.far() {
            Some(far) => far.link().inner().explain(errno, to),
            None => Ok(()),
        }
    }

    fn traffic(&self) -> Traffic {
        self.far().map(Far::traffic).unwrap_or_default()
    }
}
