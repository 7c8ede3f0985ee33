//! Boards of real processes: every text comes whole and once, sleepers wake, and the death of a member at any instruction
//! ends the others' waiting with an error that names it.

use pombo_kernel::channel::Channel;
use pombo_kernel::header::Peer;
use pombo_netdrivers::shm::Shm;
use pombo_netdrivers::shm::collective::{MAX_PAYLOAD, Unavailable};

use super::processes::{self, Crew, this_rank, until};
use super::{KILLS, sleeps};

const AREA: usize = 3;

/// One rank of a group of all.
struct Member {
    shm: Shm,
    ranks: usize,
    me: usize,
    text: Vec<u8>,
}

impl Member {
    fn new(mut shm: Shm) -> Self {
        let (me, ranks) = (shm.me().index(), shm.peers());
        let peers = (0..ranks).map(|peer| Peer(peer as u16));
        assert!(shm.enter_group(AREA, peers, 7), "the area is free");
        let text = (0..MAX_PAYLOAD + 256)
            .map(|i| (i * 31 % 251) as u8)
            .collect();
        Self {
            shm,
            ranks,
            me,
            text,
        }
    }

    /// What a rank publishes in a round: mostly short, sometimes as long as can be.
    fn text(&self, rank: usize, round: usize) -> &[u8] {
        let mut rng = (round as u64 * 64 + rank as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        rng ^= rng >> 29;
        let most = if rng & 3 == 0 { MAX_PAYLOAD } else { 150 };
        let len = (rng >> 8) as usize % (most + 1);
        let start = (rank * 7 + round) % 256;
        &self.text[start..start + len]
    }

    /// Everybody publishes and reads everybody.
    fn round(&mut self, round: usize) -> Result<(), Unavailable> {
        self.publish(round)?;
        for from in 0..self.ranks {
            self.read(from, round)?;
        }
        self.shm.group(AREA).expect("the group").release();
        Ok(())
    }

    fn publish(&mut self, round: usize) -> Result<(), Unavailable> {
        let text = self.text(self.me, round).to_vec();
        self.wait_until(|shm| {
            let mut group = shm.group(AREA).expect("the group");
            let filled = group.fill(text.len(), |room| room.copy_from_slice(&text))?;
            Ok(filled.map(|()| assert!(group.publish(text.len()), "there was room")))
        })
    }

    fn read(&mut self, from: usize, round: usize) -> Result<(), Unavailable> {
        let expected = self.text(from, round).to_vec();
        self.wait_until(|shm| {
            let mut group = shm.group(AREA).expect("the group");
            group.read(from, 0, |text, _| assert!(text == expected, "another text"))
        })
    }

    fn wait_until(
        &mut self,
        mut over: impl FnMut(&mut Shm) -> Result<Option<()>, Unavailable>,
    ) -> Result<(), Unavailable> {
        let mut idle = 0;
        while over(&mut self.shm)?.is_none() {
            let polled = self.shm.poll(|_| ());
            if polled.expect("a poll") {
                idle = 0;
            } else {
                self.shm.wait(idle).expect("a wait");
                idle += 1;
            }
        }
        Ok(())
    }

    fn rounds(mut self, rounds: usize) {
        for round in 0..rounds {
            self.round(round).expect("all are there");
        }
        self.shm.finish();
    }

    fn until_lost(mut self, gone: Peer) {
        let lost = (0..).find_map(|round| self.round(round).err());
        assert_eq!(lost, Some(Unavailable::PeerLost(gone)));
        self.shm.finish();
    }
}

#[test]
fn two_processes_read_each_other() {
    processes::run(path!(two_processes_read_each_other), 2, |shm| {
        Member::new(shm).rounds(20_000)
    });
}

#[test]
fn eight_processes_read_each_other() {
    processes::run(path!(eight_processes_read_each_other), 8, |shm| {
        Member::new(shm).rounds(1_000)
    });
}

/// One publishes, the others read: it runs ahead as far as it can.
#[test]
fn a_root_runs_ahead() {
    processes::run(path!(a_root_runs_ahead), 3, |shm| {
        let mut member = Member::new(shm);
        for round in 0..3_000 {
            let done = match member.me {
                0 => member.publish(round),
                _ => member.read(0, round),
            };
            done.expect("all are there");
            member.shm.group(AREA).expect("the group").release();
        }
        member.shm.finish();
    });
}

/// The area is free again when the others have left it, and the next group finds nothing of the one before.
#[test]
fn groups_follow_each_other() {
    processes::run(path!(groups_follow_each_other), 3, |shm| {
        let mut member = Member::new(shm);
        for number in 8..40 {
            for round in 0..5 {
                member.round(round).expect("all are there");
            }
            member.shm.leave_group(AREA);
            assert!(member.shm.group(AREA).is_none());
            while member.shm.free_regions()[AREA].is_none() {
                std::thread::yield_now();
            }
            let peers = (0..3).map(Peer);
            assert!(member.shm.enter_group(AREA, peers, number));
        }
        member.round(0).expect("all are there");
        member.shm.finish();
    });
}

#[test]
fn a_member_is_killed_in_the_middle_of_a_round() {
    if let Some(shm) = this_rank() {
        return Member::new(shm).until_lost(Peer(1));
    }
    let mut rng = 7_u64;
    for _ in 0..KILLS {
        let mut crew = Crew::start(path!(a_member_is_killed_in_the_middle_of_a_round), 3);
        crew.wait_until_attached();
        // At any instruction of any round.
        rng = rng.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        std::thread::sleep(std::time::Duration::from_nanos(rng >> 33 & 0x1f_ffff));
        crew.kill(1);
        crew.join();
    }
}

/// Nobody else publishes, so all but one sleep when it is killed.
#[test]
fn a_member_is_killed_while_the_others_sleep() {
    if let Some(shm) = this_rank() {
        let member = Member::new(shm);
        if member.me == 1 {
            loop {
                std::thread::park();
            }
        }
        return member.until_lost(Peer(1));
    }
    let mut crew = Crew::start(path!(a_member_is_killed_while_the_others_sleep), 3);
    crew.wait_until_attached();
    for rank in 0..3 {
        let process = crew.process(rank);
        until(|| sleeps(process));
    }
    crew.kill(1);
    crew.join();
}
