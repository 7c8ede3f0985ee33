//! Frames for a process that has no room for them yet, in order. Either end of a connection between machines has such queues;
//! who adds frames sees to it that they stay below a window.

use std::collections::VecDeque;
use std::io;

use pombo_kernel::channel::{Channel, ChannelError, Cookie};
use pombo_kernel::{Part, Peer};

use super::wire::cost;

#[derive(Default)]
pub(super) struct FrameQueue(VecDeque<Vec<u8>>);

impl FrameQueue {
    pub(super) fn push(&mut self, frame: Vec<u8>) {
        self.0.push_back(frame);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sends as many as the process has room for; one that has ended needs none. Returns what they cost.
    pub(super) fn send(&mut self, channel: &mut impl Channel, to: Peer) -> io::Result<usize> {
        let mut sent = 0;
        while let Some(frame) = self.0.front() {
            match channel.try_send(to, Cookie::COPY, &[Part::Bytes(frame)]) {
                Ok(_) | Err(ChannelError::PeerLost(_)) => sent += cost(frame.len()),
                Err(ChannelError::Full) => break,
                Err(error) => return Err(io::Error::other(error)),
            }
            self.0.pop_front();
        }
        Ok(sent)
    }

    /// Drops all of them. Returns what they cost.
    pub(super) fn clear(&mut self) -> usize {
        self.0.drain(..).map(|frame| cost(frame.len())).sum()
    }
}
