//! A table that is wrong is refused; a device that breaks the rules ends in an error and never beyond the buffers.

use crate::machine::{SLOTS, device, join, networks};
use crate::wire::{Fault, Wire, mac};
use pombo_kernel::channel::{Arrival, ChannelError};
use pombo_kernel::network::{Broadcast, Network};
use pombo_kernel::{Part, Peer};
use pombo_netdrivers::virtio::transport::DeviceType;
use pombo_netdrivers::virtio::{DEVICE_FAILED, MTU, VirtioError};

const BROKEN: ChannelError = ChannelError::Device(DEVICE_FAILED);

fn received(network: &mut impl Network) -> Result<Vec<(Peer, Vec<u8>)>, ChannelError> {
    let mut frames = Vec::new();
    network.poll(|frame| {
        let mut bytes = Vec::new();
        frame.for_each_chunk(0, frame.len(), |piece| bytes.extend_from_slice(piece));
        frames.push((frame.from(), bytes));
    })?;
    Ok(frames)
}

#[test]
fn what_joins_is_in_the_table() {
    let wire = Wire::new(1);
    let refused = |peer, macs: &[[u8; 6]]| join(device(&wire, 0, Fault::None), peer, macs).err();
    assert_eq!(refused(1, &[mac(0)]), Some(VirtioError::NoSuchPeer(1)));
    let (listed, device_mac) = (mac(9), mac(0));
    let mismatch = VirtioError::AddressMismatch {
        listed,
        device: device_mac,
    };
    assert_eq!(refused(0, &[listed]), Some(mismatch));
    let many = VirtioError::TooManyPeers { peers: 9, bound: 8 };
    assert_eq!(refused(0, &[mac(0); 9]), Some(many));
    let mut disk = device(&wire, 0, Fault::None);
    disk.kind = DeviceType::Block;
    assert_eq!(
        join(disk, 0, &[mac(0)]).err(),
        Some(VirtioError::NotANetwork)
    );
    assert!(join(device(&wire, 0, Fault::None), 0, &[mac(0)]).is_ok());
}

#[test]
fn frames_of_every_length_arrive_as_they_were_sent() {
    let mut nets = networks(3, Fault::None);
    let bytes: Vec<u8> = (0..MTU).map(|at| (at * 7) as u8).collect();
    for len in (1..MTU).step_by(61).chain([MTU]) {
        let (start, end) = bytes[..len].split_at(len / 3);
        let parts = [Part::Bytes(start), Part::Bytes(end)];
        nets[0].transmit(Peer(1), &parts).expect("it leaves");
        let expected = vec![(Peer(0), bytes[..len].to_vec())];
        assert_eq!(received(&mut nets[1]), Ok(expected.clone()), "{len} bytes");
        assert_eq!(received(&mut nets[2]), Ok(vec![]), "it is for another");
        nets[0].broadcast(&parts).expect("it leaves");
        for net in &mut nets[1..] {
            assert_eq!(received(net), Ok(expected.clone()), "{len} bytes to all");
        }
        assert_eq!(received(&mut nets[0]), Ok(vec![]));
    }
    let long = nets[0].transmit(Peer(1), &[Part::Bytes(&[0; MTU + 1])]);
    assert_eq!(long, Err(ChannelError::TooLong { limit: MTU }));
    let nobody = nets[0].transmit(Peer(3), &[Part::Bytes(&[0])]);
    assert_eq!(nobody, Err(ChannelError::NoSuchPeer(Peer(3))));
}

#[test]
fn frames_without_a_receive_buffer_are_lost() {
    let mut nets = networks(2, Fault::None);
    for number in 0..SLOTS as u8 + 3 {
        nets[0]
            .transmit(Peer(1), &[Part::Bytes(&[number])])
            .expect("it leaves");
    }
    let first = (0..SLOTS as u8).map(|number| (Peer(0), vec![number]));
    assert_eq!(received(&mut nets[1]), Ok(first.collect()));
    assert_eq!(received(&mut nets[1]), Ok(vec![]));
}

#[test]
fn buffers_that_were_not_given_do_not_come_back() {
    for (queue, slots) in [(0, 0..0), (1, 1..SLOTS as u32)] {
        // Of the receive queue the device has all buffers; of the transmit queue it has only the first.
        for id in slots.chain([SLOTS as u32, 0xffff, 0x1_ffff, u32::MAX]) {
            let mut nets = networks(2, Fault::Token(queue, id));
            nets[0]
                .transmit(Peer(1), &[Part::Bytes(b"a frame")])
                .expect("it leaves");
            let victim = &mut nets[1 - queue];
            assert_eq!(received(victim), Err(BROKEN), "queue {queue}, buffer {id}");
        }
    }
}

#[test]
fn a_buffer_does_not_come_back_twice() {
    let mut nets = networks(2, Fault::Twice);
    let sent = nets[0].transmit(Peer(1), &[Part::Bytes(b"a frame")]);
    sent.expect("it leaves");
    assert_eq!(received(&mut nets[0]), Err(BROKEN));
}

#[test]
fn own_broadcasts_that_return_are_dropped() {
    let mut nets = networks(2, Fault::Echo);
    nets[0]
        .broadcast(&[Part::Bytes(b"a frame")])
        .expect("it leaves");
    assert_eq!(received(&mut nets[0]), Ok(vec![]));
    let expected = vec![(Peer(0), b"a frame".to_vec())];
    assert_eq!(received(&mut nets[1]), Ok(expected));
}

#[test]
fn frames_from_another_interface_than_the_table_has_are_dropped() {
    let wire = Wire::new(2);
    let sender = join(device(&wire, 0, Fault::None), 0, &[mac(0), mac(1)]);
    let receiver = join(device(&wire, 1, Fault::None), 1, &[mac(9), mac(1)]);
    let (mut sender, mut receiver) = (sender.expect("it joins"), receiver.expect("it joins"));
    let sent = sender.transmit(Peer(1), &[Part::Bytes(b"a frame")]);
    sent.expect("it leaves");
    assert_eq!(received(&mut receiver), Ok(vec![]));
    assert_eq!(receiver.counts().foreign, 1);
}

#[test]
fn lengths_beyond_a_buffer_are_not_read() {
    for len in [0, 11, 12, 35, 1529, u32::MAX] {
        let mut nets = networks(2, Fault::Length(len));
        nets[0]
            .transmit(Peer(1), &[Part::Bytes(b"a frame")])
            .expect("it leaves");
        // Less than virtio's header is against the rules; the others are no frames.
        let expected = if len < 12 { Err(BROKEN) } else { Ok(vec![]) };
        assert_eq!(received(&mut nets[1]), expected, "{len} bytes");
        assert_eq!(nets[1].counts().truncated, u64::from(len >= 12));
    }
}
