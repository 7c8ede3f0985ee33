//! Random schedules: whoever has the most to do is killed in the middle of a step, newcomers in the middle of their
//! admission, links are cut, messages are lost.

use crate::world::{MOST_STEPS, Random, World};

/// Returns the number of schedules, and the first seed.
fn schedules(usual: u64) -> std::ops::Range<u64> {
    let variable = |name, default| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(default)
    };
    let first = variable("POMBO_GROUP_SEED", 1);
    first..first + variable("POMBO_GROUP_SCHEDULES", usual)
}

/// A partition after which a member that could reach nobody's majority was the lowest, and kept the one that could decide
/// waiting: it had accepted an entry that might have been decided.
const ONCE_FAILED: u64 = 2_682_234_229;

/// Runs `f` for each schedule, and prints the seed of one that fails.
fn for_each_schedule(usual: u64, mut f: impl FnMut(u64)) {
    struct Seed(u64);
    impl Drop for Seed {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!(
                    "POMBO_GROUP_SEED={} POMBO_GROUP_SCHEDULES=1 repeats it",
                    self.0
                );
            }
        }
    }
    for seed in schedules(usual).chain([ONCE_FAILED]) {
        let seed = Seed(seed);
        f(seed.0);
    }
}

/// Every process that has the most to do is killed, after up to [`MOST_STEPS`] steps, until one lives.
#[test]
fn survivors_of_kills_agree() {
    let (mut views, mut deliveries) = (0, 0);
    let (mut joined, mut admitted) = (0, 0);
    for_each_schedule(400, |seed| {
        let mut random = Random(seed);
        let first = 1 + random.below(7);
        let mut world = World::new(first, first + 1 + random.below(4), random.next());
        world.loses = random.one_in(3);
        for _ in 0..random.below(600) {
            world.go_on(true);
        }
        world.kill_in = Some(1 + random.below(MOST_STEPS));
        let end = 1 + random.below(3);
        for _ in 0..5000 {
            world.go_on(true);
            if world.living().len() <= end {
                break;
            }
        }
        world.rest();
        assert_eq!(world.check_rest(), world.living().len());
        views += world.views();
        deliveries += world.deliveries();
        joined += world.joined;
        admitted += world.admitted;
    });
    println!("{views} views, {deliveries} messages to groups, {admitted} of {joined} admitted");
    assert!(views > 0 && deliveries > 0 && admitted > 0 && admitted < joined);
}

/// A partition, in which processes are killed too, leaves one side at most; the other is a minority.
#[test]
fn a_partition_leaves_one_side() {
    let mut sides = [0; 2];
    for_each_schedule(400, |seed| {
        let mut random = Random(seed);
        let first = 2 + random.below(5);
        let size = first + random.below(4);
        let mut world = World::new(first, size, random.next());
        world.loses = random.one_in(3);
        let mut kills = random.one_in(2).then_some(1 + random.below(40));
        for _ in 0..random.below(300) {
            world.go_on(true);
        }
        world.kill_in = kills.take();
        let side = random.next();
        let is_cut = |one: usize, other: usize| (side >> one ^ side >> other) & 1 == 1;
        for one in 0..size {
            for other in (one + 1..size).filter(|&other| is_cut(one, other)) {
                world.cut(one, other);
                for _ in 0..random.below(4) {
                    world.go_on(true);
                }
            }
        }
        for _ in 0..random.below(300) {
            world.go_on(true);
        }
        world.rest();
        let whole = world.check_rest();
        sides[usize::from(whole > 0)] += 1;
    });
    println!("{sides:?} schedules without and with a majority");
    assert!(sides[1] > 0);
}

/// Links between single pairs are cut, so that processes do not agree on who can be reached. All that go on agree on
/// every view, which the world checks at each step; in most schedules they also come to rest in one view of just them.
#[test]
fn cuts_between_pairs_leave_one_view() {
    let mut rests = [0; 2];
    for_each_schedule(400, |seed| {
        let mut random = Random(seed);
        let first = 2 + random.below(5);
        let size = first + 1 + random.below(2);
        let mut world = World::new(first, size, random.next());
        for _ in 0..1 + random.below(size) {
            for _ in 0..random.below(200) {
                world.go_on(true);
            }
            world.cut(0, 1 + random.below(size - 1));
            if random.one_in(2) {
                let one = random.below(size);
                world.cut(one, (one + 1) % size);
            }
        }
        for _ in 0..random.below(300) {
            world.go_on(true);
        }
        world.rest();
        rests[usize::from(world.is_in_one_view())] += 1;
    });
    println!("{rests:?} schedules that end in several views and in one");
    assert!(rests[1] > rests[0]);
}

/// Links between pairs are cut while processes join, and any leave or are killed, up to all but one: a newcomer may be the last who
/// knows what a majority has decided. Nobody decides anything else, which the world checks at each step.
#[test]
fn newcomers_where_pairs_are_cut_and_processes_killed_have_one_log() {
    let mut admitted = 0;
    for_each_schedule(400, |seed| {
        let mut random = Random(seed);
        let first = 2 + random.below(4);
        let size = first + 1 + random.below(3);
        let mut world = World::new(first, size, random.next());
        world.require_majorities();
        for _ in 0..2 + random.below(2 * size) {
            for _ in 0..random.below(200) {
                world.go_on(true);
            }
            let one = random.below(size);
            let may_end = world.living().len() > 1 && world.living().contains(&one);
            match random.below(4) {
                0 if may_end => world.kill(one),
                1 if may_end => world.leave(one),
                2 => world.join(),
                _ => world.cut(one, (one + 1 + random.below(size - 1)) % size),
            }
        }
        world.rest();
        admitted += world.admitted;
    });
    println!("{admitted} admitted");
    assert!(admitted > 0);
}
