//! A channel whose every answer is given in advance, and which records every frame.

use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event, MIN_LIMIT, Sent};
use pombo_kernel::{Part, Peer};
use std::cell::RefCell;
use std::rc::Rc;

/// The channel's answers to the calls of `try_send` by one input: bit k is for the k-th call. Without a bit the frame
/// is copied and accepted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct Answers {
    pub(crate) full: u16,
    pub(crate) later: u16,
    pub(crate) lost: u16,
}

/// An event that the next poll reports.
pub(crate) enum Happening {
    Frame(u8, Rc<[u8]>),
    Landed(u64),
    Lost(u8),
}

/// One call of `try_send`.
pub(crate) struct Call {
    pub(crate) to: u8,
    /// The cookie if the frame could have been accepted with [`Sent::Later`].
    pub(crate) cookie: Option<u64>,
    /// The frame, if it was accepted and is recorded.
    pub(crate) frame: Option<Box<[u8]>>,
}

/// The state that explorer and channel share.
#[derive(Default)]
pub(crate) struct Desk {
    pub(crate) happenings: Vec<Happening>,
    pub(crate) answers: Answers,
    /// Whether frames are recorded, not only calls.
    pub(crate) noting: bool,
    pub(crate) calls: Vec<Call>,
}

pub(crate) struct Wire {
    me: Peer,
    peers: usize,
    desk: Rc<RefCell<Desk>>,
}

impl Wire {
    pub(crate) fn new(me: u8, peers: usize, desk: Rc<RefCell<Desk>>) -> Self {
        let me = Peer(me.into());
        Wire { me, peers, desk }
    }
}

impl Channel for Wire {
    type Arrival<'a> = Frame<'a>;

    pombo_kernel::channel_defaults! {
        supports_single_copy, set_corked, poll_with, wait_timeout, wait_sources, wait_with
    }

    fn me(&self) -> Peer {
        self.me
    }

    fn peers(&self) -> usize {
        self.peers
    }

    fn limit(&self, to: Peer) -> usize {
        assert!(to.index() < self.peers, "asked for the limit of no peer");
        MIN_LIMIT
    }

    fn favours_early_data(&self, _: Peer) -> bool {
        true
    }

    fn try_send(
        &mut self,
        to: Peer,
        cookie: Cookie,
        parts: &[Part<'_>],
    ) -> Result<Sent, ChannelError> {
        assert!(to.index() < self.peers, "sent to no peer");
        let desk = &mut *self.desk.borrow_mut();
        let bit = 1_u16
            .checked_shl(desk.calls.len() as u32)
            .expect("a bounded number of frames per input");
        let refused = match desk.answers {
            Answers { full, .. } if full & bit != 0 => Some(ChannelError::Full),
            Answers { lost, .. } if lost & bit != 0 => Some(ChannelError::PeerLost(to)),
            _ => None,
        };
        let call = Call {
            to: to.0 as u8,
            cookie: (cookie != Cookie::COPY).then_some(cookie.0),
            frame: (desk.noting && refused.is_none()).then(|| gather(parts)),
        };
        let later = desk.answers.later & bit != 0 && call.cookie.is_some();
        desk.calls.push(call);
        match refused {
            Some(error) => Err(error),
            None if later => Ok(Sent::Later),
            None => Ok(Sent::Done),
        }
    }

    fn poll(&mut self, mut f: impl FnMut(Event<Frame<'_>>)) -> Result<bool, ChannelError> {
        let happenings = std::mem::take(&mut self.desk.borrow_mut().happenings);
        for happening in &happenings {
            f(match happening {
                Happening::Frame(from, bytes) => Event::Arrival(Frame {
                    from: Peer(u16::from(*from)),
                    bytes,
                }),
                Happening::Landed(cookie) => Event::Completed(Cookie(*cookie)),
                Happening::Lost(me) => Event::PeerLost(Peer(u16::from(*me))),
            });
        }
        Ok(!happenings.is_empty())
    }

    fn wait(&mut self, _idle: u32) -> Result<(), ChannelError> {
        panic!("nothing here blocks");
    }

    fn now(&self) -> u64 {
        0
    }
}

fn gather(parts: &[Part<'_>]) -> Box<[u8]> {
    let len = Part::total(parts);
    assert!((1..=MIN_LIMIT).contains(&len), "a frame of {len} bytes");
    let mut frame = vec![0; len];
    let mut at = 0;
    for part in parts {
        part.copy_to(0, &mut frame[at..at + part.len()]);
        at += part.len();
    }
    frame.into()
}

pub(crate) struct Frame<'a> {
    from: Peer,
    bytes: &'a [u8],
}

impl Arrival for Frame<'_> {
    fn from(&self) -> Peer {
        self.from
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn head(&self, n: usize) -> Option<&[u8]> {
        self.bytes.get(..n)
    }

    fn for_each_chunk(&self, offset: usize, len: usize, mut f: impl FnMut(&[u8])) {
        let (first, second) = self.bytes[offset..offset + len].split_at(len / 2);
        f(first);
        f(second);
    }
}
