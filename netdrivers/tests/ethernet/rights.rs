//! A process without the right to open raw sockets gets one from a helper that has it.

use crate::inside::inside;
use crate::segment::{frame_address, joined, opened, segment};
use crate::strangers::next;
use pombo_kernel::network::Network;
use pombo_kernel::{Part, Peer};
use pombo_netdrivers::Ethernet;
use pombo_netdrivers::ethernet::{EthernetError, Traffic, parse_arguments, pass_socket};
use std::os::unix::fs::PermissionsExt;

/// What the helper was asked for.
const ASKED: &str = "POMBO_TEST_ASKED";

/// This program is the helper as well.
#[test]
fn is_the_helper_when_it_is_asked() {
    let Ok(words) = std::env::var(ASKED) else {
        return;
    };
    let words: Vec<&str> = words.split(' ').collect();
    let (interface, frame_address) = parse_arguments(&words).expect("what a driver asks for");
    pass_socket(interface, frame_address).expect("it has the right");
}

#[test]
fn a_helper_lends_what_the_process_may_not_open() {
    inside!(a_helper_lends_what_the_process_may_not_open, || {
        segment(2, 1500);
        let (mut all, mut table) = opened(2, 1, Traffic::Unicast);
        drop(all.remove(0));
        give_up_raw_sockets();
        let helper = std::env::temp_dir().join(format!("pombo-helper-{}", std::process::id()));
        let named = |path: &std::path::Path| {
            // SAFETY: nothing else runs in this process but the thread that waits for this one.
            unsafe { std::env::set_var("POMBO_ETHERNET_HELPER", path) };
        };
        named(&helper);
        let refused = Ethernet::open("host0", frame_address(0, Traffic::Unicast)).err();
        let interface = "host0".to_string();
        let expected = EthernetError::NotPermitted { interface };
        assert_eq!(refused, Some(Box::new(expected)));

        let program = std::env::current_exe().expect("this program");
        let test = "rights::is_the_helper_when_it_is_asked";
        let script = format!(
            "#!/bin/sh\n{ASKED}=\"$*\" exec '{}' --exact {test} >/dev/null\n",
            program.display()
        );
        std::fs::write(&helper, script).expect("a file");
        let rights = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&helper, rights).expect("ours");
        let lent = Ethernet::open("host0", frame_address(0, Traffic::Unicast));
        std::fs::remove_file(&helper).expect("it was there");
        let lent = lent.expect("the helper opens it");
        table[0] = lent.address();
        let mut peers = joined((vec![lent, all.remove(0)], table));
        for (from, to) in [(0, 1), (1, 0)] {
            let parts = [Part::Bytes(b"lent")];
            peers[from].transmit(Peer(to as u16), &parts).expect("room");
            assert_eq!(next(&mut peers[to]), (Peer(from as u16), b"lent".to_vec()));
        }
    });
}

/// This thread loses it; programs that it starts have it again, as a helper would.
fn give_up_raw_sockets() {
    const VERSION_3: u32 = 0x2008_0522;
    const CAP_NET_RAW: u32 = 13;
    let mut header = [VERSION_3, 0];
    // Effective, permitted, inheritable; twice 32 of them.
    let mut sets = [[0_u32; 3]; 2];
    // SAFETY: header and sets have the form and the sizes of version 3.
    unsafe {
        let (header, sets) = (header.as_mut_ptr(), sets.as_mut_ptr());
        assert_eq!(libc::syscall(libc::SYS_capget, header, sets), 0);
        (*sets)[0] &= !(1 << CAP_NET_RAW);
        (*sets)[1] &= !(1 << CAP_NET_RAW);
        assert_eq!(libc::syscall(libc::SYS_capset, header, sets), 0);
    }
}
