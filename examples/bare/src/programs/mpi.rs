//! A program of MPI: messages round the ring, to whoever asks, broadcasts, reductions and barriers. Every rank checks all
//! that arrives.

use super::fill;
use crate::composition::Small;
use crate::report::{Failure, Report};
use pombo_basic::{ANY_SOURCE, ANY_TAG, Combining, SharedBytes, Status, World};
use pombo_kernel::Channel;

/// A rank of MPI in the composition of the other programs.
type Mpi<'buf, L> = pombo_basic::Mpi<'buf, L, Small>;

/// For so many nanoseconds a rank goes on answering others that have not heard yet that all of theirs has arrived.
const LINGER: u64 = 300_000_000;
/// Numbers of a reduction.
const NUMBERS: usize = 16;
/// Tags of the messages to rank 0.
const FIRST_TAG: u32 = 1000;

/// Bytes of memory that it takes: two messages for the ring, which are those of reductions later, and their scratch.
pub const MEMORY: usize = 1024 + 8 * NUMBERS;

/// Runs `count` rounds, and returns what `MPI_Finalize` does. `memory` has [`MEMORY`] bytes.
///
/// # Errors
/// The first failure: of the channel, of the kernel, or of a check that the program makes.
// One at a time of what a job may run has its communicator on the stack.
#[inline(never)]
pub(crate) fn run<L: Channel>(
    channel: impl FnOnce() -> Result<L, Failure>,
    memory: SharedBytes<'_>,
    count: u32,
    report: &mut Report<'_>,
    told: fn(&L, &mut Report<'_>),
) -> Result<(), Failure> {
    let mut mpi = Mpi::init(World::new(channel()?)?);
    let scratch = memory.part(1024, MEMORY);
    let (first, second) = (memory.part(0, 512), memory.part(512, 1024));
    for round in 0..count {
        ring(&mut mpi, first, second, round)?;
        if round % 8 == 0 {
            to_one(&mut mpi, first, round)?;
            bcast(&mut mpi, first, round)?;
            reduce(&mut mpi, [first, second, scratch], round)?;
            mpi.barrier()?;
        }
    }
    report.text("MPI: rank ").number(mpi.rank() as u64);
    report.text(" of ").number(mpi.size() as u64).text(", ");
    report.number(count.into()).text(" rounds\n");
    mpi.finalize()?;
    if mpi.size() > 1 {
        mpi.linger(LINGER)?;
    }
    told(mpi.channel(), report);
    Ok(())
}

/// `MPI_Irecv` from the left, `MPI_Isend` to the right, `MPI_Wait` for both.
fn ring<'buf, L: Channel>(
    mpi: &mut Mpi<'buf, L>,
    sent: SharedBytes<'buf>,
    came: SharedBytes<'buf>,
    round: u32,
) -> Result<(), Failure> {
    let (rank, size) = (mpi.rank(), mpi.size());
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let (mut own, mut expected, mut got) = ([0; 512], [0; 512], [0; 512]);
    let own = fill(&mut own, number(rank, round));
    let expected = fill(&mut expected, number(left, round));
    let receive = mpi.irecv(came, Some(left), Some(round))?;
    sent.write(own);
    let send = mpi.isend(sent.part(0, own.len()), right, round)?;
    let status = mpi.wait(receive)?;
    let none = mpi.wait(send)?;
    came.read(&mut got);
    let must = Status {
        source: left,
        tag: round,
        bytes: expected.len(),
    };
    match status == Some(must) && none.is_none() && got.get(..expected.len()) == Some(expected) {
        true => Ok(()),
        false => Err(Failure::Wrong("MPI: a message round the ring is wrong")),
    }
}

/// All send to rank 0, which takes any message and answers where it came from.
fn to_one<'buf, L: Channel>(
    mpi: &mut Mpi<'buf, L>,
    buffer: SharedBytes<'buf>,
    round: u32,
) -> Result<(), Failure> {
    let (rank, size) = (mpi.rank(), mpi.size());
    let (mut own, mut came) = ([0; 512], [0; 512]);
    if rank != 0 {
        let own = fill(&mut own, number(rank, round));
        buffer.write(own);
        mpi.send(buffer.part(0, own.len()), 0, FIRST_TAG + rank as u32)?;
        buffer.write(&[0; 512]);
        let status = mpi.recv(buffer, Some(0), ANY_TAG)?;
        buffer.read(&mut came);
        let answer = came.get(..status.bytes).unwrap_or_default();
        return match answer == own && status.tag == FIRST_TAG {
            true => Ok(()),
            false => Err(Failure::Wrong("MPI: an answer of rank 0 is wrong")),
        };
    }
    for _ in 1..size {
        let status = mpi.recv(buffer, ANY_SOURCE, ANY_TAG)?;
        buffer.read(&mut came);
        let question = came.get(..status.bytes).unwrap_or_default();
        let expected = fill(&mut own, number(status.source, round));
        if question != expected || status.tag != FIRST_TAG + status.source as u32 {
            return Err(Failure::Wrong("MPI: a message to rank 0 is wrong"));
        }
        mpi.send(buffer.part(0, status.bytes), status.source, FIRST_TAG)?;
    }
    Ok(())
}

fn bcast<'buf, L: Channel>(
    mpi: &mut Mpi<'buf, L>,
    buffer: SharedBytes<'buf>,
    round: u32,
) -> Result<(), Failure> {
    for root in 0..mpi.size() {
        let (mut made, mut came) = ([0; 512], [0; 512]);
        let made = fill(&mut made, number(root, round));
        let buffer = buffer.part(0, made.len());
        buffer.write(if mpi.rank() == root { made } else { &[0; 512] });
        mpi.bcast(buffer, root)?;
        buffer.read(&mut came);
        if came.get(..made.len()) != Some(&*made) {
            return Err(Failure::Wrong("MPI: a broadcast is wrong"));
        }
    }
    Ok(())
}

/// Sums of all ranks' numbers, at every root in turn. On the wire they have their least significant byte first.
fn reduce<'buf, L: Channel>(
    mpi: &mut Mpi<'buf, L>,
    [input, output, scratch]: [SharedBytes<'buf>; 3],
    round: u32,
) -> Result<(), Failure> {
    let (rank, size) = (mpi.rank(), mpi.size());
    let value = |rank: usize, at: usize| number(rank, round).wrapping_mul(at as u32 + 1);
    let place = |at: usize| (4 * at, 4 * at + 4);
    for root in 0..size {
        for at in 0..NUMBERS {
            let (from, to) = place(at);
            input.part(from, to).write(&value(rank, at).to_le_bytes());
        }
        let sum = Combining::by(|a: [u8; 4], b: [u8; 4]| {
            let (a, b) = (u32::from_le_bytes(a), u32::from_le_bytes(b));
            a.wrapping_add(b).to_le_bytes()
        });
        mpi.reduce(input.part(0, 4 * NUMBERS), output, scratch, sum, root)?;
        for at in (0..NUMBERS).filter(|_| rank == root) {
            let (mut got, (from, to)) = ([0; 4], place(at));
            output.part(from, to).read(&mut got);
            let ranks = 0..size;
            let must = ranks.fold(0_u32, |sum, rank| sum.wrapping_add(value(rank, at)));
            if u32::from_le_bytes(got) != must {
                return Err(Failure::Wrong("MPI: a sum is wrong"));
            }
        }
    }
    Ok(())
}

fn number(rank: usize, round: u32) -> u32 {
    (round * 4).wrapping_add(rank as u32)
}
