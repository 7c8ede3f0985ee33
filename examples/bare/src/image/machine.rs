//! The machine as the rest of the image sees it: ports, clock, interrupts that end a sleep, console, exit. x86-64 with a
//! local APIC and an I/O APIC; console and exit are QEMU's.
//!
//! Interrupts are off but while the processor sleeps: their handler only ends the sleep.

use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

const LOCAL_APIC: usize = 0xfee0_0000;
const END_OF_INTERRUPT: usize = 0xb0;
const SPURIOUS: usize = 0xf0;
const TIMER: usize = 0x320;
const TIMER_START: usize = 0x380;
const TIMER_NOW: usize = 0x390;
const TIMER_DIVIDER: usize = 0x3e0;

const IO_APIC: usize = 0xfec0_0000;
const IO_APIC_DATA: usize = 0x10;

/// Vectors below are faults of the processor.
const FIRST_INTERRUPT: usize = 32;
const VECTOR: u32 = 0x30;
const VECTORS: usize = 64;

/// The local APIC's timer counts nanoseconds: hypervisors (QEMU, KVM) have a bus of 1 GHz.
const CALIBRATION: u32 = 1_000_000;
/// The longest sleep in nanoseconds, if an interrupt should be lost.
const LONGEST_SLEEP: u64 = 10_000_000;

const CONSOLE: u16 = 0xe9;
const EXIT: u16 = 0xf4;

/// Nanoseconds of 2^32 ticks of the time stamp counter.
static RATE: AtomicU64 = AtomicU64::new(0);

global_asm!(
    "interrupt:",
    "push rax",
    "mov eax, {end}",
    "mov dword ptr [rax], 0",
    "pop rax",
    "iretq",
    "fault:",
    "mov al, {code}",
    "out {exit}, al",
    "2: hlt",
    "jmp 2b",
    end = const LOCAL_APIC + END_OF_INTERRUPT,
    code = const crate::FAULT,
    exit = const EXIT,
);

unsafe extern "C" {
    fn interrupt();
    fn fault();
}

/// The table of interrupt handlers: two words for each vector.
static mut HANDLERS: [[u64; 2]; VECTORS] = [[0; 2]; VECTORS];

/// Writes a byte to a port.
pub(crate) fn write_port(port: u16, byte: u8) {
    // SAFETY: the devices behind the ports of this image (UART, console, exit) do not touch memory.
    unsafe {
        asm!("out dx, al", in("dx") port, in("al") byte, options(nomem, nostack, preserves_flags))
    }
}

/// Reads a byte from a port.
#[cfg(not(feature = "virtio"))]
pub(crate) fn read_port(port: u16) -> u8 {
    let byte;
    // SAFETY: as for `write_port`.
    unsafe {
        asm!("in al, dx", in("dx") port, out("al") byte, options(nomem, nostack, preserves_flags))
    }
    byte
}

fn write_register(address: usize, value: u32) {
    // SAFETY: the callers name registers of the two APICs, which are mapped and are no memory of the program.
    unsafe { (address as *mut u32).write_volatile(value) }
}

fn read_register(address: usize) -> u32 {
    // SAFETY: as for `write_register`.
    unsafe { (address as *const u32).read_volatile() }
}

fn ticks() -> u64 {
    // SAFETY: the instruction reads a counter; every x86-64 processor has it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Nanoseconds since the processor was reset.
pub(crate) fn now() -> u64 {
    ((u128::from(ticks()) * u128::from(RATE.load(Relaxed))) >> 32) as u64
}

/// Prepares interrupts and the clock. Called once.
pub(crate) fn begin() {
    let code = |handler: unsafe extern "C" fn()| {
        let at = handler as usize as u64;
        // Code segment 8, present, an interrupt gate.
        [
            at & 0xffff | 8 << 16 | 0x8e << 40 | (at >> 16 & 0xffff) << 48,
            at >> 32,
        ]
    };
    let handlers = (&raw mut HANDLERS).cast::<[u64; 2]>();
    for vector in 0..VECTORS {
        let handler = if vector < FIRST_INTERRUPT {
            fault
        } else {
            interrupt
        };
        // SAFETY: the index is below the table's length, and nothing else uses the table before it is loaded.
        unsafe { handlers.add(vector).write(code(handler)) };
    }
    let mut pointer = [0_u8; 10];
    pointer[..2].copy_from_slice(&(VECTORS as u16 * 16 - 1).to_le_bytes());
    pointer[2..].copy_from_slice(&(handlers as u64).to_le_bytes());
    // SAFETY: the pointer has the table's length and address; its gates lead to the handlers above.
    unsafe { asm!("lidt [{}]", in(reg) &pointer, options(readonly, nostack, preserves_flags)) }

    write_register(LOCAL_APIC + SPURIOUS, 0x100 | (VECTORS as u32 - 1));
    write_register(LOCAL_APIC + TIMER_DIVIDER, 0b1011);
    write_register(LOCAL_APIC + TIMER, 1 << 16 | VECTOR);
    write_register(LOCAL_APIC + TIMER_START, u32::MAX);
    let (first, before) = (read_register(LOCAL_APIC + TIMER_NOW), ticks());
    let mut passed = 0;
    while passed < CALIBRATION {
        passed = first.wrapping_sub(read_register(LOCAL_APIC + TIMER_NOW));
    }
    let counted = (ticks() - before).max(1);
    RATE.store((u64::from(passed) << 32) / counted, Relaxed);
    write_register(LOCAL_APIC + TIMER_START, 0);
    write_register(LOCAL_APIC + TIMER, VECTOR);
}

/// Lets the interrupts of that line end a sleep: those that come when the line is asserted anew.
pub(crate) fn enable_line(line: u8) {
    let entry = 0x10 + 2 * u32::from(line);
    for (index, value) in [(entry + 1, 0), (entry, VECTOR + 1)] {
        write_register(IO_APIC, index);
        write_register(IO_APIC + IO_APIC_DATA, value);
    }
}

/// Sleeps until an interrupt, or until that time. An interrupt since the last sleep ends it at once.
pub(crate) fn sleep(until: u64) {
    let left = until.saturating_sub(now()).min(LONGEST_SLEEP);
    if left == 0 {
        return;
    }
    write_register(LOCAL_APIC + TIMER_START, left as u32);
    // SAFETY: the handlers of all interrupts that are enabled save what they use, and the compiler keeps nothing below
    // the stack pointer here, as `nostack` is not among the options.
    unsafe { asm!("sti", "hlt", "cli") }
}

/// Writes to QEMU's debug console.
pub(crate) fn print(bytes: &[u8]) {
    for byte in bytes {
        write_port(CONSOLE, *byte);
    }
}

/// Ends the machine: QEMU's exit code is twice this one and 1.
pub(crate) fn exit(code: u8) -> ! {
    write_port(EXIT, code);
    loop {
        sleep(u64::MAX);
    }
}
