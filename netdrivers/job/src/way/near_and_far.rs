//! Shared memory beside a network, as one channel. `way` only.

use super::channel::WorldChannel;
use super::far::InterHost;
use super::traffic::Traffic;
use crate::hosts::Hosts;
use core::fmt;
use pombo_kernel::aspect::Cap;
use pombo_kernel::{Channel, Node};
use pombo_netdrivers::HeapStorage;
use pombo_netdrivers::shm::Shm;
use pombo_transport::Composite;

/// To every rank of a job of up to so many: its rank is its node.
pub type JobChannel<const RANKS: usize> = Composite<Shm, InterHost<RANKS>, Cap<RANKS>, HeapStorage>;

impl<const RANKS: usize> WorldChannel for JobChannel<RANKS> {
    #[inline]
    fn memory(&mut self) -> &mut Shm {
        self.near_mut()
    }

    fn is_settled(&mut self) -> bool {
        self.far_mut().is_none_or(InterHost::is_settled)
    }

    fn leave(&mut self) {
        self.near_mut().finish();
        if let Some(far) = self.far_mut() {
            far.finish();
        }
    }

    fn report_root_cause(&mut self, other: Node) {
        self.near_mut().report_root_cause(other);
        if let Some(far) = self.far() {
            far.failure_detector().report_root_cause(other);
        }
    }

    fn root_cause_of(&mut self, hosts: &Hosts, node: Node) -> Option<Node> {
        match hosts.share_host(self.node(), node) {
            true => self.near_mut().root_cause_of(hosts, node),
            false => self.far()?.failure_detector().root_cause_of(node),
        }
    }

    fn has_finished(&mut self, hosts: &Hosts, node: Node) -> bool {
        match hosts.share_host(self.node(), node) {
            true => self.near_mut().has_finished(hosts, node),
            false => self.far().is_some_and(|far| far.failure_detector().has_finished(node)),
        }
    }

    fn explain(&self, errno: i32, to: &mut dyn fmt::Write) -> fmt::Result {
        match self.far() {
            Some(far) => far.link().inner().explain(errno, to),
            None => Ok(()),
        }
    }

    fn traffic(&self) -> Traffic {
        self.far().map(InterHost::traffic).unwrap_or_default()
    }
}
