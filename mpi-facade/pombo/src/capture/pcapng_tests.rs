//! Our own files can be read, files of other programs too, and no length of a file is trusted.

use proptest::prelude::*;

use super::*;

type Frames = Vec<(u64, Vec<u8>)>;

fn write(frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).expect("memory");
    for (time, bytes) in frames {
        writer.frame(*time, bytes.len() + 7, bytes).expect("memory");
    }
    writer.0
}

fn read(file: &[u8]) -> io::Result<Frames> {
    let mut reader = Reader::new(file);
    let mut all = Vec::new();
    while let Some(frame) = reader.next()? {
        all.push((frame.time, frame.bytes.to_vec()));
    }
    Ok(all)
}

fn big(kind: u32, body: &[u8]) -> Vec<u8> {
    let len = (12 + body.len() as u32).to_be_bytes();
    [&kind.to_be_bytes()[..], &len, body, &len].concat()
}

/// Opposite byte order, microseconds, a simple packet, an interface that is not Ethernet, an unknown block.
#[test]
fn files_of_others() {
    let mut file = big(
        SECTION,
        &[&MAGIC.to_be_bytes()[..], &[0, 1, 0, 0], &[0xff; 8]].concat(),
    );
    file.extend(big(INTERFACE, &[0, 1, 0, 0, 0, 0, 0, 0]));
    file.extend(big(INTERFACE, &[0, 113, 0, 0, 0, 0, 0, 0]));
    file.extend(big(0x0bad, &[1, 2, 3, 4]));
    let packet = |interface: u32, time: u32, bytes: &[u8]| {
        let numbers = [interface, 0, time, 4, 4].map(u32::to_be_bytes).concat();
        big(PACKET, &[&numbers, bytes].concat())
    };
    file.extend(packet(0, 5, b"four"));
    file.extend(packet(1, 6, b"none"));
    file.extend(big(SIMPLE, b"\0\0\0\x04word"));
    let read = read(&file).expect("a good file");
    assert_eq!(read, [(5000, b"four".to_vec()), (0, b"word".to_vec())]);
}

#[test]
fn units_of_time() {
    assert_eq!(nanoseconds(5, 6), 5000);
    assert_eq!(nanoseconds(5, 9), 5);
    assert_eq!(nanoseconds(5, 0), 5_000_000_000);
    assert_eq!(nanoseconds(1 << 20, 0x80 | 20), 1_000_000_000);
    assert_eq!(nanoseconds(u64::MAX, 0x7f), 0);
}

#[test]
fn what_is_no_such_file() {
    let good = write(&[(1, b"abc".to_vec())]);
    for file in [
        &b""[..],
        b"text",
        &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0],
    ] {
        assert!(read(file).is_err());
    }
    let begins_of_blocks = [28, good.len() - 36, good.len()];
    for len in 0..good.len() {
        let whole = begins_of_blocks.contains(&len);
        assert_eq!(read(&good[..len]).is_ok(), whole, "{len} of {}", good.len());
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        frames in prop::collection::vec((any::<u64>(), prop::collection::vec(any::<u8>(), 0..100)), 0..20),
    ) {
        prop_assert_eq!(read(&write(&frames)).expect("our own"), frames);
    }

    #[test]
    fn no_file_is_too_strange(
        at in 0..200_usize,
        noise in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let mut file = write(&[(1, vec![1; 30]), (2, vec![2; 60])]);
        let end = file.len().min(at + noise.len());
        if at < end {
            file[at..end].copy_from_slice(&noise[..end - at]);
        }
        let _ = read(&file);
    }
}
