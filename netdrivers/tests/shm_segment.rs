//! Who may join a segment, what it costs, how ranks meet without a launcher, and what damage does.
#![cfg(all(feature = "shm", target_os = "linux"))]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pombo_kernel::channel::{Arrival, Channel, ChannelError, Cookie, Event};
use pombo_kernel::header::Peer;
use pombo_kernel::memory::Part;
use pombo_netdrivers::shm::{
    FRAME_LIMIT, MAX_ANSWER, MAX_RANKS, RankState, Segment, Shm, ShmError,
};
use pombo_netdrivers::shm::{bootstrap, bootstrap_within};
use pombo_testing::conformance::HANG;

fn attach(segment: &Segment, rank: usize, fingerprint: u64) -> Result<Shm, ShmError> {
    Shm::attach(Segment::open(segment.fd())?, rank, fingerprint)
}

fn send(shm: &mut Shm, to: u16, bytes: &[u8]) -> Result<(), ChannelError> {
    let part = Part::Bytes(bytes);
    shm.try_send(Peer(to), Cookie(0), &[part]).map(drop)
}

/// Everything that one poll reports: senders and bytes, or lost peers.
fn poll(shm: &mut Shm) -> Vec<(u16, Option<Vec<u8>>)> {
    let mut events = Vec::new();
    let polled = shm.poll(|event| match event {
        Event::Arrival(arrival) => {
            let mut bytes = Vec::new();
            arrival.for_each_chunk(0, arrival.len(), |piece| bytes.extend_from_slice(piece));
            events.push((arrival.from().0, Some(bytes)));
        }
        Event::PeerLost(peer) => events.push((peer.0, None)),
        _ => panic!("a driver that copies completes nothing"),
    });
    assert_eq!(polled, Ok(!events.is_empty()));
    events
}

/// The file behind a segment, to look at it and to damage it.
fn file_of(segment: &Segment) -> File {
    let path = format!("/proc/self/fd/{}", segment.fd());
    File::options()
        .read(true)
        .write(true)
        .open(path)
        .expect("the segment's file")
}

#[test]
fn a_world_has_a_number_of_ranks() {
    for ranks in [0, MAX_RANKS + 1, usize::MAX] {
        let refused = Segment::create(ranks, 0).map(|_| ());
        assert_eq!(refused, Err(ShmError::Ranks { ranks }));
    }
    let largest = Segment::create(MAX_RANKS, 0).expect("the largest world");
    attach(&largest, MAX_RANKS - 1, 0).expect("the last rank");
}

#[test]
fn a_rank_is_taken_once() {
    let segment = Segment::create(2, 5).expect("a segment");
    assert_eq!(segment.state(0), Ok(RankState::NotStarted));
    let first = attach(&segment, 0, 5).expect("a free rank");
    assert_eq!(segment.state(0), Ok(RankState::Attached));
    let taken = Err(ShmError::RankTaken { rank: 0 });
    assert_eq!(attach(&segment, 0, 5).map(drop), taken);
    drop(first);
    assert_eq!(segment.state(0), Ok(RankState::Dead));
    assert_eq!(attach(&segment, 0, 5).map(drop), taken);

    let (rank, ranks) = (2, 2);
    let nobody = ShmError::NoSuchRank { rank, ranks };
    assert_eq!(attach(&segment, 2, 5).map(drop), Err(nobody));
    assert_eq!(segment.state(2), Err(nobody));
    assert_eq!(segment.mark_dead(2), Err(nobody));
}

#[test]
fn ranks_agree_on_their_composition() {
    let refused = |ours, theirs| Err(ShmError::Fingerprint { ours, theirs });
    let named = Segment::create(2, 5).expect("a segment");
    assert_eq!(attach(&named, 0, 6).map(drop), refused(6, 5));
    attach(&named, 0, 5).expect("the right composition");

    let open = Segment::create(2, 0).expect("a segment");
    attach(&open, 1, 9).expect("the first rank chooses");
    assert_eq!(attach(&open, 0, 8).map(drop), refused(8, 9));
    assert_eq!(
        open.state(0),
        Ok(RankState::NotStarted),
        "it may come again"
    );
    attach(&open, 0, 9).expect("the same composition");
}

#[test]
fn what_is_no_segment_is_refused() {
    let refused = |fd| Segment::open(fd).map(drop).expect_err("no segment");
    let (call, errno) = ("fcntl", libc::EBADF);
    assert_eq!(refused(-1), ShmError::System { call, errno });
    let null = File::open("/dev/null").expect("a device");
    assert_eq!(refused(null.as_raw_fd()), ShmError::NotASegment);

    let written = |offset, damage: [u8; 8]| {
        let segment = Segment::create(2, 0).expect("a segment");
        file_of(&segment)
            .write_all_at(&damage, offset)
            .expect("a file");
        refused(segment.fd())
    };
    let foreign = u64::from_le_bytes(*b"pomboshm").to_be_bytes();
    if cfg!(target_endian = "little") {
        assert_eq!(written(0, foreign), ShmError::ByteOrder);
    }
    let damaged = |offset| written(offset, 77_u64.to_ne_bytes());
    let of_another_version = damaged(8);
    assert!(
        matches!(of_another_version, ShmError::Version { ours, theirs: 77 } if ours != 77),
        "{of_another_version}"
    );
    for offset in [0, 16, 24] {
        assert_eq!(damaged(offset), ShmError::NotASegment);
    }
}

#[test]
fn nobody_can_cut_a_segment_short() {
    let segment = Segment::create(2, 0).expect("a segment");
    let file = file_of(&segment);
    assert!(file.set_len(4096).is_err() && file.set_len(1 << 40).is_err());
}

#[test]
fn ranks_have_the_numbers_of_their_job_once_somebody_has_recorded_them() {
    let segment = Segment::create(2, 0).unwrap();
    segment.set_job_rank(1, 0);
    segment.set_job_rank(2, 9);
    let numbers = [0, 1, 2].map(|rank| segment.job_rank(rank));
    assert_eq!(numbers, [None, Some(0), None]);
}

#[test]
fn sixty_four_ranks_start_within_64_mib() {
    let segment = Segment::create(64, 0).expect("a segment");
    let attach = |rank| attach(&segment, rank, 1).expect("a free rank");
    let mut ranks: Vec<Shm> = (0..64).map(attach).collect();
    // Everybody says something to everybody, the most that a start can need.
    for rank in &mut ranks {
        (0..64).for_each(|to| send(rank, to, b"hello").expect("room"));
    }
    for rank in &mut ranks {
        let polls = (0..8).flat_map(|_| poll(rank));
        assert_eq!(polls.count(), 64);
    }
    let used = file_of(&segment).metadata().expect("a file").blocks() * 512;
    assert!(used <= 64 << 20, "{used} bytes are in use");
}

#[test]
fn a_finished_rank_leaves_its_frames() {
    let segment = Segment::create(2, 0).expect("a segment");
    let (mut stays, mut goes) = (
        attach(&segment, 0, 0).unwrap(),
        attach(&segment, 1, 0).unwrap(),
    );
    send(&mut goes, 0, b"last").expect("room");
    goes.finish();
    assert_eq!(segment.state(1), Ok(RankState::Finished));
    assert_eq!(
        send(&mut goes, 0, b"more"),
        Err(ChannelError::PeerLost(Peer(0)))
    );
    assert_eq!(
        send(&mut stays, 1, b"late"),
        Err(ChannelError::PeerLost(Peer(1)))
    );
    assert_eq!(poll(&mut stays), [(1, Some(b"last".to_vec())), (1, None)]);
    assert_eq!(poll(&mut stays), []);
    drop(goes);
    segment.mark_dead(1).expect("a rank");
    assert_eq!(segment.state(1), Ok(RankState::Finished), "it did not die");
}

#[test]
fn what_was_sent_before_the_end_comes_before_the_loss() {
    for finishes in [false, true] {
        let segment = Segment::create(2, 0).expect("a segment");
        let [mut goes, mut stays] = [0, 1].map(|rank| attach(&segment, rank, 0).unwrap());
        // They answer each other, so the next frame is a mail where two processors are.
        send(&mut goes, 1, b"question").expect("room");
        assert_eq!(poll(&mut stays), [(0, Some(b"question".to_vec()))]);
        send(&mut stays, 0, b"answer").expect("room");
        assert_eq!(poll(&mut goes), [(1, Some(b"answer".to_vec()))]);
        send(&mut goes, 1, b"mail").expect("room");
        send(&mut goes, 1, b"frame").expect("room");
        match finishes {
            true => goes.finish(),
            false => drop(goes),
        }
        let mut events = Vec::new();
        let start = Instant::now();
        while events.last() != Some(&(0, None)) && start.elapsed() < HANG {
            events.extend(poll(&mut stays));
        }
        let sent = [b"mail".to_vec(), b"frame".to_vec()];
        let [mail, frame] = sent.map(|bytes| (0, Some(bytes)));
        assert_eq!(events, [mail, frame, (0, None)]);
    }
}

#[test]
fn a_rank_that_never_came_can_be_marked_dead() {
    let segment = Segment::create(2, 0).expect("a segment");
    let mut rank = attach(&segment, 0, 0).expect("a free rank");
    send(&mut rank, 1, b"early").expect("room");
    segment.mark_dead(1).expect("a rank");
    assert_eq!(poll(&mut rank), [(1, None)]);
    assert_eq!(
        attach(&segment, 1, 0).map(drop),
        Err(ShmError::RankTaken { rank: 1 })
    );
}

#[test]
fn a_world_of_one_needs_nobody() {
    let mut alone = Shm::alone().expect("a segment");
    assert_eq!((alone.me(), alone.peers()), (Peer(0), 1));
    send(&mut alone, 0, &[3; FRAME_LIMIT]).expect("room");
    assert_eq!(poll(&mut alone), [(0, Some(vec![3; FRAME_LIMIT]))]);
}

/// Whatever a file holds, ranks may lose each other but neither crash nor read beyond it.
#[test]
fn damage_is_survived() {
    // Where the rings of two or three ranks begin, the size of each, and that of the block of a pair at the end.
    const RINGS: u64 = 8192;
    const RING: u64 = (FRAME_LIMIT as u64 + 8) * 4;
    const MAIL: u64 = 1152;
    let mut rng = 1_u64;
    let mut roll = move || {
        rng = rng
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        rng >> 33
    };
    for round in 0..400 {
        // Ranks without processors of their own use no mail.
        let count = 2 + round % 2;
        let segment = Segment::create(count, 0).expect("a segment");
        let mut ranks: Vec<Shm> = (0..count)
            .map(|rank| attach(&segment, rank, 0).unwrap())
            .collect();
        let file = file_of(&segment);
        let size = file.metadata().expect("a file").len();
        for step in 0..60 {
            let rank = &mut ranks[roll() as usize % count];
            let len = roll() as usize % if step % 5 == 0 { FRAME_LIMIT } else { 300 };
            let _ = send(rank, (roll() % 4) as u16, &vec![roll() as u8; len + 1]);
            // Mostly where the next records of a ring are; else anywhere, the header and control blocks included.
            let (ring, granule) = (roll() % (count * count) as u64, roll() % 30);
            let place = match roll() % 4 {
                0 => roll() % (size / 64) * 64,
                1 => size - (1 + roll() % 3) * MAIL,
                _ => RINGS + ring * RING + granule * 64,
            };
            let word = match roll() % 4 {
                0 => u64::MAX,
                1 => roll() % 70_000,
                2 => (roll() % 30) << 33 | 1 << 32 | (roll() % 20_000),
                _ => roll() << 32 | roll(),
            };
            if step > round % 40 {
                file.write_all_at(&word.to_ne_bytes(), place)
                    .expect("a file");
            }
            let mut frames = 0;
            let rank = &mut ranks[roll() as usize % count];
            if step % 2 == 0 {
                // A damaged mail may be found here.
                rank.wait(0).expect("a wait");
            }
            let _ = rank.poll(|event| {
                if let Event::Arrival(arrival) = event {
                    assert!(arrival.len() <= FRAME_LIMIT);
                    arrival.for_each_chunk(0, arrival.len(), |piece| {
                        frames += usize::from(piece[0] < 9)
                    });
                }
            });
        }
    }
}

#[test]
fn ranks_meet_without_a_launcher() {
    let job = job("meet");
    let start = |rank| {
        let job = job.clone();
        std::thread::spawn(move || {
            let mut shm = bootstrap(&job, rank, 4, 3).expect("the others");
            for to in 0..4 {
                send(&mut shm, to, &[rank as u8]).expect("room");
            }
            let mut frames = Vec::new();
            let mut idle = 0;
            while frames.len() < 4 {
                let events = poll(&mut shm);
                if events.is_empty() {
                    shm.wait(idle).expect("a wait");
                    idle += 1;
                }
                frames.extend(events.into_iter().filter(|(_, bytes)| bytes.is_some()));
            }
            shm.finish();
            frames.sort();
            frames
        })
    };
    // Rank 0 neither first nor last.
    let ranks: Vec<_> = [2, 0, 3, 1].map(start).into();
    let expected: Vec<_> = (0..4_u16)
        .map(|rank| (rank, Some(vec![rank as u8])))
        .collect();
    for rank in ranks {
        assert_eq!(join(rank), expected);
    }
}

#[test]
fn ranks_that_do_not_come_are_missed() {
    let soon = Duration::from_millis(300);
    let job = job("missing");
    let alone = bootstrap_within(&job, 0, 3, 0, soon).map(drop);
    assert_eq!(
        alone,
        Err(ShmError::RanksMissing {
            joined: 1,
            ranks: 3
        })
    );
    let alone = bootstrap_within(&job, 1, 3, 0, soon).map(drop);
    assert_eq!(alone, Err(ShmError::NoAnswer));
    let one = bootstrap_within(&job, 0, 1, 0, soon).expect("nobody else is needed");
    assert_eq!(one.peers(), 1);
}

#[test]
fn strangers_are_turned_away() {
    let job = job("strangers");
    let host = {
        let job = job.clone();
        std::thread::spawn(move || {
            bootstrap_within(&job, 0, 3, 0, Duration::from_secs(20)).map(drop)
        })
    };
    let first = bootstrap(&job, 1, 3, 0).expect("rank 0");
    let refused = |rank, ranks| {
        bootstrap(&job, rank, ranks, 0)
            .map(drop)
            .expect_err("refused")
    };
    assert_eq!(refused(1, 3), ShmError::RankTaken { rank: 1 });
    assert_eq!(refused(1, 5), ShmError::OtherJob { ranks: 3 });
    assert_eq!(refused(0, 3), ShmError::RankTaken { rank: 0 });
    assert_eq!(refused(3, 3), ShmError::NoSuchRank { rank: 3, ranks: 3 });
    let last = bootstrap(&job, 2, 3, 0).expect("rank 0");
    join(host).expect("all came");
    drop((first, last));

    let limit = |job: &str| bootstrap(job, 0, 2, 0).map(drop).expect_err("a bad name");
    let limit = (limit(""), limit(&"x".repeat(200)));
    assert!(matches!(
        limit,
        (ShmError::JobName { .. }, ShmError::JobName { .. })
    ));
}

/// The result of a thread that must end.
fn join<T>(thread: JoinHandle<T>) -> T {
    let start = Instant::now();
    while !thread.is_finished() {
        assert!(start.elapsed() < HANG, "a rank hangs");
        std::thread::sleep(Duration::from_millis(1));
    }
    thread.join().expect("a rank")
}

/// A name that no other run of this test uses.
fn job(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

#[test]
fn a_question_is_answered_once_by_each_rank() {
    let segment = Segment::create(2, 0).expect("a segment");
    let mut rank = attach(&segment, 1, 0).expect("a rank");
    assert_eq!(rank.open_question(), None);
    let question = segment.ask();
    assert_eq!(rank.open_question(), Some(question));
    assert_eq!(segment.answer(1, question), None);
    let text = "it waits".repeat(700);
    rank.answer(question, text.as_bytes());
    assert_eq!(rank.open_question(), None);
    let cut = text.as_bytes()[..MAX_ANSWER].to_vec();
    assert_eq!(
        segment.answer(1, question),
        Some(cut),
        "it is cut to the room"
    );
    assert_eq!(segment.answer(0, question), None);
    assert_eq!(segment.answer(2, question), None, "there is no such rank");

    let (first, second) = (segment.ask(), segment.ask());
    rank.answer(second, b"");
    let answers = [first, second].map(|question| segment.answer(1, question));
    assert_eq!(
        answers,
        [Some(vec![]), Some(vec![])],
        "a later answer counts"
    );
}
