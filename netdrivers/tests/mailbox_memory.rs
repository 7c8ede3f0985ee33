//! The memory of idle mailboxes, in a process of its own: others would be counted too.
#![cfg(all(feature = "shm", target_os = "linux"))]

use pombo_netdrivers::Loopback;
use pombo_netdrivers::mailbox::{Mailboxes, Message, SizeClasses};
use std::time::Duration;

/// Longer than anything takes.
const LONG: Duration = Duration::from_secs(60);

/// A thousand mailboxes that nobody has used take little, as their buffers are provided when they are needed.
#[test]
fn idle_mailboxes_take_little_memory() {
    let channel = Loopback::world(1).remove(0);
    let mailboxes = Mailboxes::new(channel, SizeClasses::default()).expect("it fits");
    let resident = || {
        let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
        let data: usize = statm
            .split(' ')
            .nth(5)
            .expect("seven")
            .parse()
            .expect("pages");
        data * 4096
    };
    let before = resident();
    let name = |number| format!("mailbox {number}");
    let idle: Vec<_> = (0..1000)
        .map(|number| mailboxes.create(&name(number), LONG).expect("a new name"))
        .collect();
    let taken = resident() - before;
    println!("1000 idle mailboxes take {taken} bytes of address space");
    assert!(taken <= 16 << 20, "{taken}");
    // They work.
    for mailbox in [&idle[0], &idle[999]] {
        mailbox.post(Message::new().pack(1_u8)).expect("posted");
        let mut message = Message::new();
        mailbox
            .retrieve_timeout(&mut message, LONG)
            .expect("a message");
        assert_eq!(message.unpack::<u8>(), Ok(1));
    }
}
