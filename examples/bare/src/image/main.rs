//! The image: a rank on a machine without an operating system. It boots by PVH, has static memory alone, and says on the
//! console what it does. Its command line tells who it is: see `job.rs`.
#![no_std]
#![no_main]

mod boot;
#[cfg(feature = "virtio")]
mod dma;
mod machine;
mod memory;
#[cfg(not(feature = "virtio"))]
mod uart;

use machine::{exit, print};
use pombo_bare::{Failure, Job, Lossy, Report, Reported, Windows, programs};
use pombo_collective::SharedBytes;
use pombo_kernel::{Network, Peer};
use pombo_transport::Reliable;
use pombo_transport::reliable::Timing;
#[cfg(not(feature = "virtio"))]
use {pombo_bare::FRAME, pombo_kernel::Error, pombo_transport::serial_line::SerialLine};
#[cfg(feature = "virtio")]
use {
    pombo_bare::PEERS,
    pombo_netdrivers::virtio::{FrameAddress, Traffic},
};

/// Exit codes: all went well, a program failed, a panic, a fault of the processor.
const DONE: u8 = 0;
const FAILED: u8 = 1;
const PANICKED: u8 = 2;
const FAULT: u8 = 3;

/// Called by the boot code, once.
fn main(command_line: &'static [u8]) -> ! {
    machine::begin();
    let words = core::str::from_utf8(command_line).unwrap_or_default();
    let done = Job::parse(words.split_ascii_whitespace())
        .map_err(Failure::Wrong)
        .and_then(|job| start(&job));
    let mut print = print;
    let mut report = Report(&mut print);
    report
        .text("stack: ")
        .number(boot::unused_stack() as u64)
        .text(" bytes were never used\n");
    match done {
        Ok(()) => exit(DONE),
        Err(failure) => {
            report.text("failed: ").text(failure.name()).text("\n");
            exit(FAILED)
        }
    }
}

#[cfg(feature = "virtio")]
fn start(job: &Job) -> Result<(), Failure> {
    let address = FrameAddress {
        job: job.number,
        peer: Peer(job.rank),
        traffic: Traffic::Unicast,
    };
    let network = dma::device::<PEERS>(job, address).map_err(Failure::Wrong)?;
    rank(network, job, Timing::default())
}

#[cfg(not(feature = "virtio"))]
fn start(job: &Job) -> Result<(), Failure> {
    let line = SerialLine::<_, { FRAME + 4 }>::new(uart::Uart::begin(), Peer(job.rank));
    // Frames never overtake each other on a line.
    let timing = Timing {
        overtakers: 1,
        ..Timing::default()
    };
    rank(line.map_err(Error::from)?, job, timing)
}

fn rank(network: impl Network, job: &Job, timing: Timing) -> Result<(), Failure> {
    let network = Lossy::new(network, job.loss);
    let channel = || {
        let made = Reliable::<_, Windows>::with(network, job.number.into(), timing);
        made.map_err(Failure::from)
    };
    let mut memory = [0; programs::MEMORY];
    let memory = SharedBytes::new(&mut memory);
    let mut print = print;
    pombo_bare::start(
        channel,
        memory,
        job,
        &mut Report(&mut print),
        Reported::report,
    )
}

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    print(b"panic\n");
    exit(PANICKED)
}
