//! Creation, cloning and the end of mailboxes.

use super::*;
use pombo_kernel::aspect::{Buffered, Homogeneous, NoDatatypes, Rendezvous, Unobserved};
use pombo_kernel::mailbox::{Address, Name, System};
use pombo_kernel::matching::Binned;
use pombo_kernel::prelude::U64;
use pombo_kernel::{Capacities, Composition};
use pombo_netdrivers::HeapStorage;
use pombo_netdrivers::mailbox::{Error, Heap};

#[test]
fn a_name_is_found_from_everywhere_and_given_once() {
    let world = world(3, SizeClasses::default());
    let [one, two, three] = &world[..] else {
        panic!("three")
    };
    served(&world[1..], || {
        // Names that each of the three keeps.
        for name in ["a", "b", "c", "d", "e", "f"] {
            let mine = one.create(name, LONG).expect("a new name");
            for other in [one, two, three] {
                let taken = other.create(name, LONG);
                assert_eq!(taken.err(), Some(Error::Exists), "{name}");
                let clone = other.clone_mailbox(name, LONG).expect("it is there");
                clone.post(&mut message(name.as_bytes())).expect("posted");
            }
            for _ in 0..3 {
                let text = retrieve(&mine).unpack::<&[u8]>().map(<[u8]>::to_vec);
                assert_eq!(text, Ok(name.as_bytes().to_vec()));
            }
        }
        // The mailboxes are gone, and the names free.
        for name in ["a", "b", "c"] {
            two.create(name, LONG).expect("a free name");
        }
    });
}

#[test]
fn bad_names_are_refused() {
    let world = world(1, SizeClasses::default());
    for name in ["", "a\nb", &"n".repeat(49)] {
        assert!(matches!(
            world[0].create(name, LONG),
            Err(Error::BadName(_))
        ));
        let cloned = world[0].clone_mailbox(name, LONG);
        assert!(matches!(cloned, Err(Error::BadName(_))));
    }
    world[0].create(&"n".repeat(48), LONG).expect("the longest");
}

#[test]
fn a_clone_waits_for_the_name() {
    let world = world(2, SizeClasses::default());
    let missing = served(&world[1..], || world[0].clone_mailbox("late", SHORT).err());
    assert_eq!(missing, Some(Error::NoSuchName));
    std::thread::scope(|scope| {
        let creator = scope.spawn(|| {
            std::thread::sleep(SHORT);
            let late = world[1].create("late", LONG).expect("a new name");
            retrieve(&late).unpack::<u8>()
        });
        let late = world[0].clone_mailbox("late", LONG).expect("in time");
        let mut message = Message::new();
        late.post(message.pack(7_u8)).expect("posted");
        // The other may need this process as the keeper of the name.
        while !creator.is_finished() {
            world[0].settle(|_| true).expect("it works");
            let _ = late.retrieve_timeout(&mut message, SHORT);
            world[0].clone_mailbox("none", Duration::ZERO).err();
        }
        assert_eq!(creator.join().expect("no panic"), Ok(7));
    });
}

#[test]
fn a_silent_keeper_is_a_time_out_and_its_answer_is_undone() {
    let world = world(2, SizeClasses::default());
    // A name that the other keeps, which makes no call.
    let times_out = |name: &&str| world[0].create(name, SHORT).err() == Some(Error::TimedOut);
    let name = ["a", "b", "c", "d"].into_iter().find(times_out);
    let name = name.expect("the other keeps one of four");
    served(&world[1..], || {
        let again = world[0].create(name, LONG);
        assert!(again.is_ok(), "{:?}", again.err());
    });
}

#[test]
fn a_mailbox_that_vanished_is_an_error_everywhere() {
    let world = world(2, SizeClasses::default());
    let mine = served(&world[1..], || world[0].create("soon gone", LONG)).expect("a new name");
    let clone = served(&world[..1], || world[1].clone_mailbox("soon gone", LONG)).expect("there");
    let here = mine.clone();
    let mut message = message(b"read by nobody");
    assert_eq!(
        clone.retrieve_timeout(&mut message, SHORT),
        Err(Error::NotHere)
    );
    clone.post(&mut message).expect("posted");
    drop(mine);
    assert_eq!(here.post(&mut message), Err(Error::Vanished));
    assert_eq!(
        here.retrieve_timeout(&mut message, LONG),
        Err(Error::Vanished)
    );
    served(&world[..1], || {
        // The notice is under way.
        let outcome = (0..1000).find_map(|_| {
            let _ = world[1].clone_mailbox("soon gone", SHORT);
            clone.post(&mut message).err()
        });
        assert_eq!(outcome, Some(Error::Vanished));
        // Its number is used again, and nothing of the first arrives in the second.
        let again = world[0].create("another", LONG).expect("a new name");
        let other = world[1].clone_mailbox("another", LONG).expect("there");
        assert_eq!(clone.post(&mut message), Err(Error::Vanished));
        let mut news = Message::new();
        other.post(news.pack(1_u32)).expect("posted");
        assert_eq!(retrieve(&again).unpack::<u32>(), Ok(1));
        assert!(!again.try_retrieve(&mut news).expect("it lives"));
    });
}

/// Who waits at a mailbox that another thread destroys is told.
#[test]
fn who_waits_is_told_of_the_end() {
    let world = world(1, SizeClasses::default());
    let owner = world[0].create("end", LONG).expect("a new name");
    let waiting = [owner.clone(), owner.clone()];
    std::thread::scope(|scope| {
        let waiting = waiting.map(|mailbox| {
            scope.spawn(move || mailbox.retrieve_timeout(&mut Message::new(), LONG))
        });
        std::thread::sleep(SHORT);
        drop(owner);
        for thread in waiting {
            assert_eq!(thread.join().expect("no panic"), Err(Error::Vanished));
        }
    });
}

#[test]
fn a_lost_process_is_an_error() {
    let mut world = world(2, SizeClasses::default());
    let times_out = |name: &&str| world[0].create(name, SHORT).err() == Some(Error::TimedOut);
    let name = ["a", "b", "c", "d"].into_iter().find(times_out);
    let name = name.expect("the other keeps one of four");
    world.pop();
    let lost = world[0].create(name, LONG).err();
    assert!(matches!(lost, Some(Error::Kernel(_))), "{lost:?}");
}

/// The core, with tables of 24 places.
type Small = System<
    Loopback,
    Heap,
    Composition<
        U64,
        Rendezvous<64>,
        Binned,
        HeapStorage,
        Capacities<24, 8, 64, 4>,
        Unobserved,
        NoDatatypes,
        Homogeneous,
        Buffered,
    >,
>;

/// Creates a mailbox in the last of these processes, while all make progress.
fn create(world: &mut [Small], name: &str) -> Result<Address, Error> {
    let last = world.len() - 1;
    let request = world[last].create(Name::new(name)?)?;
    loop {
        for process in &mut *world {
            process.progress()?;
        }
        if let Some(answer) = world[last].found(&request) {
            return answer;
        }
    }
}

/// A keeper whose table is full has room again when a process is lost whose names it keeps.
#[test]
fn the_names_of_a_lost_process_make_room() {
    let channels = Loopback::world(3).into_iter();
    let systems = channels.map(|channel| Small::new(channel, SizeClasses::new(3, 1)));
    let mut world: Vec<_> = systems.map(|system| system.expect("it fits")).collect();
    // Names that the first keeps: it needs nobody's help for them.
    let mut kept = Vec::new();
    for number in 0.. {
        let name = format!("name {number}");
        let request = world[0]
            .create(Name::new(&name).expect("short"))
            .expect("room");
        for _ in 0..4 {
            world[0].progress().expect("it works");
        }
        if let Some(Ok(address)) = world[0].found(&request) {
            world[0].destroy(address).expect("live");
            kept.push(name);
        } else {
            world[0].withdraw(&request);
        }
        if kept.len() == 26 {
            break;
        }
        for process in (0..4).flat_map(|_| 0..3) {
            world[process].progress().expect("it works");
        }
    }
    let names: [&[String]; 3] = [&kept[..14], &kept[14..24], &kept[24..]];
    for name in names[0] {
        create(&mut world, name).expect("room");
    }
    let lost = world.pop();
    for name in names[1] {
        create(&mut world, name).expect("room");
    }
    assert_eq!(create(&mut world, &names[2][0]), Err(Error::TooManyNames));
    drop(lost);
    create(&mut world, &names[2][1]).expect("room again");
    create(&mut world, &names[0][0]).expect("the name is free again");
}
