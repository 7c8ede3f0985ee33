//! Tests what crosses the wire between hosts, as a listener at the switch sees it, including the launcher's protocol.

use crate::common::{Hosts, on_hosts};
use crate::jobs::{NETS, alone, compile, expect_ok, job};
use crate::support::{directory, finish};
use pombo_transport::authenticated::{Coverage, Key};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Runs a job with raw Ethernet between its hosts, and returns all frames that a listener captured.
fn overheard(hosts: &Hosts) -> Option<Vec<Vec<u8>>> {
    let place = directory("hosts-wire-frames");
    let program = compile("hosts-wire", "tests/c/p2p.c");
    let listen = compile("hosts-wire-listen", "tests/hosts/listen.c");
    let mut job = job(hosts)?;
    let file = place.join("frames");
    let mut listener = Command::new(listen);
    // The listener captures all frames of the first host, where the launcher runs.
    listener
        .arg("v0")
        .stdout(File::create(&file).expect("room"));
    let mut listener = begin(listener);
    let net = ("POMBO_NET", "ethernet:eth0");
    let outcome = finish(job.arg(program).envs([net, ("POMBO_AUTH", "full")]));
    listener.kill().expect("it listens");
    listener.wait().expect("it ends");
    expect_ok(&outcome, "p2p");
    let bytes = std::fs::read(&file).expect("it is there");
    let (mut frames, mut rest) = (Vec::new(), &bytes[..]);
    while let Some((len, behind)) = rest.split_first_chunk() {
        let len = u32::from_le_bytes(*len) as usize;
        // The capture may cut the last frame.
        let Some((frame, behind)) = behind.split_at_checked(len) else {
            break;
        };
        frames.push(frame.to_vec());
        rest = behind;
    }
    Some(frames)
}

/// Starts the listener, and waits until it reports that it listens.
fn begin(mut command: Command) -> Child {
    let child = command.stderr(Stdio::piped()).spawn();
    let mut child = child.expect("it was just compiled");
    let mut said = String::new();
    let errors = child.stderr.take().expect("a pipe");
    let read = BufReader::new(errors).read_line(&mut said);
    assert!(read.is_ok() && said.ends_with("ing\n"), "{said}");
    child
}

/// Parses a frame between two ranks. Returns its tag, and the bytes that the tag covers, headers first.
fn authenticated(frame: &[u8]) -> Option<([u8; 8], Vec<u8>)> {
    const KIND: [u8; 4] = [0x88, 0xb5, 0x11, 0];
    let (source, len) = (frame.get(18..20)?, frame.get(22..24)?);
    let len = usize::from(u16::from_le_bytes([len[0], len[1]]));
    let bytes = frame.get(24..24 + len).filter(|_| frame[12..16] == KIND)?;
    // Greetings are short, or fill a frame with question marks.
    let (tag, rest) = bytes.split_first_chunk().filter(|_| bytes[0] != b'?')?;
    let covered = [&[Coverage::Whole as u8], source, rest].concat();
    Some((*tag, covered))
}

fn opens(secret: [u8; 16], epoch: u32, (tag, covered): &([u8; 8], Vec<u8>)) -> bool {
    let key = Key {
        secret,
        epoch: epoch.into(),
        domain: 0,
    };
    key.tag(covered) == *tag
}

/// Returns every 16 bytes of a text that could be a key: as they are, or as hexadecimal digits, in either order.
fn guesses(text: &[u8]) -> Vec<[u8; 16]> {
    let mut all: Vec<[u8; 16]> = Vec::new();
    let both = |guess: &[u8]| {
        let guess: [u8; 16] = guess.try_into().expect("16 bytes");
        let mut turned = guess;
        turned.reverse();
        [guess, turned]
    };
    all.extend(text.windows(16).flat_map(both));
    for digits in text.split(|letter| !letter.is_ascii_hexdigit()) {
        for digits in digits.windows(32) {
            let digits = std::str::from_utf8(digits).expect("digits");
            let number = u128::from_str_radix(digits, 16).expect("digits");
            all.extend(both(&number.to_be_bytes()));
        }
    }
    all
}

#[test]
fn no_word_on_the_wire_is_the_key_of_the_job() {
    let _alone = alone();
    let test = here!(no_word_on_the_wire_is_the_key_of_the_job);
    on_hosts(test, 2, |hosts| {
        let Some(frames) = overheard(hosts) else {
            return;
        };
        // The business cards were captured, and also the epoch, which rank 0 announces.
        let texts: Vec<&Vec<u8>> = frames
            .iter()
            .filter(|frame| frame.windows(5).any(|five| five == b"pombo"))
            .collect();
        let text = texts.iter().map(|frame| String::from_utf8_lossy(frame));
        let all: String = text.collect();
        let cards = all.split("pombo5.").skip(1);
        let epochs = cards.filter_map(|card| {
            let fields: Vec<&str> = card.split(['.', '\n', ' ']).collect();
            let epoch = fields.get(4).filter(|epoch| epoch.len() == 8)?;
            u32::from_str_radix(epoch, 16).ok()
        });
        let epochs: Vec<u32> = epochs.collect();
        let epoch = *epochs.first().expect("the card of rank 0");
        assert!(epochs.iter().all(|one| *one == epoch), "{epochs:x?}");
        let tagged: Vec<_> = frames
            .iter()
            .filter_map(|frame| authenticated(frame))
            .collect();
        assert!(tagged.len() > 10, "{} frames", tagged.len());
        // The method detects a known key: a frame that is made here with a key from a card.
        let secret = guesses(texts[0])[7];
        let key = Key {
            secret,
            epoch: epoch.into(),
            domain: 0,
        };
        let made = (key.tag(b"made here"), b"made here".to_vec());
        assert!(
            guesses(texts[0])
                .iter()
                .any(|one| opens(*one, epoch, &made))
        );
        // Nothing that the launcher transmitted is a key of any frame.
        for text in texts {
            for guess in guesses(text) {
                let opened = tagged
                    .iter()
                    .take(3)
                    .any(|frame| opens(guess, epoch, frame));
                assert!(!opened, "{} has the key", String::from_utf8_lossy(text));
            }
        }
    });
}

/// An attacker at the switch sends every frame again, with one bit changed. It displaces nothing that a rank stores,
/// whether frames have a tag or not.
#[test]
fn wrong_copies_of_all_frames_stall_no_job() {
    let _alone = alone();
    let test = here!(wrong_copies_of_all_frames_stall_no_job);
    on_hosts(test, 2, |hosts| {
        let meddle = compile("hosts-meddle", "tests/hosts/meddle.c");
        let program = compile("hosts-meddle-many", "tests/c/many.c");
        let meddling = |ways: [&str; 2]| {
            let mut command = Command::new(&meddle);
            command.args(ways);
            begin(command)
        };
        let mut strangers = [meddling(["v0", "v1"]), meddling(["v1", "v0"])];
        for net in NETS {
            for auth in ["off", "on"] {
                let Some(mut command) = job(hosts) else {
                    continue;
                };
                command.arg(&program).env("POMBO_NET", net);
                expect_ok(&finish(command.env("POMBO_AUTH", auth)), "many");
            }
        }
        for stranger in &mut strangers {
            assert_eq!(stranger.try_wait().expect("a child"), None, "it has gone");
            stranger.kill().expect("it is there");
            stranger.wait().expect("it ends");
        }
    });
}
