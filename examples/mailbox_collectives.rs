//! Collective operations over mailboxes, without MPI and without a communicator: the schedules of `pombo_collective` say
//! who sends which blocks to whom, and five functions do that, here with messages of mailboxes.
//!
//! ```text
//! cargo build --release --example mailbox_collectives
//! target/release/examples/mailbox_collectives threads         # four ranks in this process
//! pombo run -n 4 target/release/examples/mailbox_collectives  # four processes
//! ```
//!
//! Every rank has a mailbox "rank N". A message has the number of its operation, so that one which a faster rank has
//! already begun disturbs no other; what comes early is kept until its operation wants it.

use pombo_collective::topology::{Binomial, Rooted};
use pombo_collective::{
    Buffer, Execution, Executor, Piece, Segments, Step, allgather_recursive_doubling,
    allreduce_recursive_doubling, broadcast,
};
use pombo_kernel::Channel;
use pombo_netdrivers::Loopback;
use pombo_netdrivers::mailbox::{
    Error, LargeTicket, Mailbox, Mailboxes, Message, Numbers, SizeClasses,
};
use std::collections::VecDeque;
use std::time::Duration;

const RANKS: usize = 64;
const PATIENCE: Duration = Duration::from_secs(60);

/// This process among the ranks: its mailbox and theirs, and what has come early.
struct Ranks<L: Channel + Send> {
    rank: usize,
    mine: Mailbox<L>,
    all: Vec<Mailbox<L>>,
    /// The sender, its operation, and the numbers.
    early: VecDeque<(usize, u32, Vec<i64>)>,
    operation: u32,
}

/// What has begun, oldest first.
enum Begun<L: Channel + Send> {
    Posted(LargeTicket<L>),
    Wanted(usize, Piece),
    Done,
}

/// One operation: its buffers, each with the number of its blocks.
struct Operation<'a, L: Channel + Send> {
    ranks: &'a mut Ranks<L>,
    /// The input, the output, and both temporary buffers.
    buffers: [Vec<i64>; 4],
    blocks: [usize; 3],
    begun: VecDeque<Begun<L>>,
}

impl<L: Channel + Send> Ranks<L> {
    /// Meets all other ranks.
    fn meet(mailboxes: &Mailboxes<L>) -> Result<Self, Error> {
        let name = |rank| format!("rank {rank}");
        let rank = mailboxes.me().index();
        let mine = mailboxes.create(&name(rank), PATIENCE)?;
        let all = (0..mailboxes.peers()).map(|rank| mailboxes.clone_mailbox(&name(rank), PATIENCE));
        let (all, early) = (all.collect::<Result<_, _>>()?, VecDeque::new());
        Ok(Ranks {
            rank,
            mine,
            all,
            early,
            operation: 0,
        })
    }

    /// Keeps a message until its operation wants it.
    fn keep(&mut self, message: &mut Message) -> Result<(), Error> {
        let from = message.from().map_or(0, |peer| peer.index());
        let operation: u32 = message.unpack()?;
        let numbers: Numbers<'_, i64> = message.unpack()?;
        self.early.push_back((from, operation, numbers.collect()));
        Ok(())
    }

    /// Returns the next numbers of a rank in this operation, if they have come.
    fn take(&mut self, from: usize) -> Option<Vec<i64>> {
        let mut early = self.early.iter();
        let found = early.position(|it| (it.0, it.1) == (from, self.operation))?;
        self.early.remove(found).map(|(_, _, numbers)| numbers)
    }

    /// Waits until all ranks are here: rank 0 hears of each, then tells each.
    fn meet_again(&mut self) -> Result<(), Error> {
        self.operation += 1;
        let others = if self.rank == 0 {
            1..self.all.len()
        } else {
            0..1
        };
        let mut message = Message::new();
        message.pack(self.operation).pack(&[0_i64; 0][..]);
        if self.rank != 0 {
            self.all[0].post(&mut message)?;
        }
        for from in others.clone() {
            let mut heard = Message::new();
            while self.take(from).is_none() {
                self.mine.retrieve(&mut heard)?;
                self.keep(&mut heard)?;
            }
        }
        if self.rank == 0 {
            for to in others {
                self.all[to].post(&mut message)?;
            }
        }
        Ok(())
    }

    /// Runs an operation to its end, and returns its buffers.
    fn run(
        &mut self,
        steps: impl Iterator<Item = Step>,
        buffers: [Vec<i64>; 4],
        blocks: [usize; 3],
    ) -> Result<[Vec<i64>; 4], Error> {
        self.operation += 1;
        let begun = VecDeque::new();
        let mut operation = Operation {
            ranks: self,
            buffers,
            blocks,
            begun,
        };
        let mut execution = Execution::new(steps);
        while !execution.poll(&mut operation)? {}
        Ok(operation.buffers)
    }
}

impl<L: Channel + Send> Operation<'_, L> {
    fn slice(&mut self, piece: Piece) -> &mut [i64] {
        let [input, output, temporary] = self.blocks;
        let (values, blocks) = match piece.buffer {
            Buffer::Input => (&mut self.buffers[0], input),
            Buffer::Output => (&mut self.buffers[1], output),
            Buffer::Work => (&mut self.buffers[2], temporary),
            Buffer::Incoming => (&mut self.buffers[3], temporary),
        };
        let cut = Segments::into_blocks(values.len(), blocks);
        &mut values[cut.start(piece.first)..cut.start(piece.first + piece.blocks)]
    }

    /// Gives every message that has come to the oldest receive that wants it.
    fn distribute(&mut self) -> Result<(), Error> {
        let mut message = Message::new();
        while self.ranks.mine.try_retrieve(&mut message)? {
            self.ranks.keep(&mut message)?;
        }
        for at in 0..self.begun.len() {
            if let Begun::Wanted(from, piece) = self.begun[at]
                && let Some(numbers) = self.ranks.take(from)
            {
                self.slice(piece).copy_from_slice(&numbers);
                self.begun[at] = Begun::Done;
            }
        }
        Ok(())
    }
}

impl<L: Channel + Send> Executor for Operation<'_, L> {
    type Error = Error;

    fn send(&mut self, to: usize, piece: Piece) -> Result<bool, Error> {
        let mut message = Message::new();
        message.pack(self.ranks.operation).pack(&*self.slice(piece));
        // The large protocol, whatever the length: a post with a size class waits until the message has left, and the
        // other rank may be waiting for this one.
        let ticket = self.ranks.all[to].post_large(&mut message)?;
        self.begun.push_back(Begun::Posted(ticket));
        Ok(true)
    }

    fn receive(&mut self, from: usize, piece: Piece) -> Result<bool, Error> {
        self.begun.push_back(Begun::Wanted(from, piece));
        Ok(true)
    }

    fn are_complete(&mut self, open: usize) -> Result<bool, Error> {
        self.distribute()?;
        while self.begun.len() > open {
            let is_over = match &mut self.begun[0] {
                Begun::Posted(ticket) => ticket.wait_timeout(Duration::ZERO)?.is_some(),
                Begun::Wanted(..) => false,
                Begun::Done => true,
            };
            if !is_over {
                return Ok(false);
            }
            self.begun.pop_front();
        }
        Ok(true)
    }

    fn combine(&mut self, left: Piece, right: Piece) {
        let left = self.slice(left).to_vec();
        for (right, left) in self.slice(right).iter_mut().zip(left) {
            *right = left.wrapping_add(*right);
        }
    }

    fn copy(&mut self, from: Piece, into: Piece) {
        let from = self.slice(from).to_vec();
        self.slice(into).copy_from_slice(&from);
    }
}

/// Runs a broadcast, an all-reduce and an all-gather of short and long messages.
fn run<L: Channel + Send>(mailboxes: &Mailboxes<L>) -> Result<(), Error> {
    let mut ranks = Ranks::meet(mailboxes)?;
    let (me, all) = (ranks.rank, ranks.all.len());
    let own = |rank: usize, count| {
        (0..count)
            .map(|at| (rank * 1_000_003 + at) as i64)
            .collect()
    };
    for count in [0, 1, 1000, 40_000] {
        let root = count % all;
        let output = if me == root {
            own(root, count)
        } else {
            vec![0; count]
        };
        let tree = Rooted::new(Binomial, me, all, root);
        let blocks = 1 + count / 500;
        let buffers = [vec![], output, vec![], vec![]];
        let buffers = ranks.run(broadcast(tree, blocks), buffers, [1, blocks, 1])?;
        assert_eq!(buffers[1], own(root, count), "broadcast of {count}");

        let buffers = [own(me, count), vec![], vec![0; count], vec![0; count]];
        let steps = allreduce_recursive_doubling(me, all);
        let [_, _, sum, _] = ranks.run(steps, buffers, [1, 1, 1])?;
        let expected = |at| {
            (0..all)
                .map(|rank| (rank * 1_000_003 + at) as i64)
                .sum::<i64>()
        };
        assert_eq!(
            sum,
            (0..count).map(expected).collect::<Vec<_>>(),
            "sum of {count}"
        );

        let buffers = [own(me, count), vec![0; count * all], vec![], vec![]];
        let steps = allgather_recursive_doubling(me, all);
        let [_, gathered, ..] = ranks.run(steps, buffers, [1, all, 1])?;
        let expected = (0..all).flat_map(|rank| -> Vec<i64> { own(rank, count) });
        assert_eq!(
            gathered,
            expected.collect::<Vec<_>>(),
            "all-gather of {count}"
        );
    }
    // A mailbox that goes drops what others still send to it, so none goes before all are done.
    ranks.meet_again()?;
    if me == 0 {
        println!("{all} ranks: broadcast, all-reduce and all-gather over mailboxes are right");
    }
    Ok(())
}

/// Runs so many ranks in this process.
pub fn threads(ranks: u16) -> Result<(), Error> {
    let world = Loopback::world(ranks).into_iter();
    let world = world.map(|channel| Mailboxes::new(channel, SizeClasses::default()));
    let world = world.collect::<Result<Vec<_>, _>>()?;
    std::thread::scope(|scope| {
        let ranks: Vec<_> = world.iter().map(|rank| scope.spawn(|| run(rank))).collect();
        let mut ended = ranks
            .into_iter()
            .map(|rank| rank.join().expect("no rank panics"));
        ended.try_for_each(|ended| ended)
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some("threads") {
        return Ok(threads(4)?);
    }
    let (mailboxes, launcher) = pombo_job::enter_mailboxes::<RANKS>(SizeClasses::default())?;
    run(&mailboxes)?;
    Ok(pombo_job::leave_mailboxes(&mailboxes, launcher)?)
}
