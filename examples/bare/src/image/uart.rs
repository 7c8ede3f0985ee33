//! A serial line: the UART of a PC (16550) at its first port.

use crate::machine::{enable_line, now, read_port, sleep, write_port};
use pombo_kernel::ChannelError;
use pombo_transport::serial_line::ByteStream;

const PORT: u16 = 0x3f8;
const INTERRUPTS: u16 = PORT + 1;
const FIFO: u16 = PORT + 2;
const FORMAT: u16 = PORT + 3;
const MODEM: u16 = PORT + 4;
const STATUS: u16 = PORT + 5;
const LINE: u8 = 4;

const RECEIVED: u8 = 1;
const SENT: u8 = 0x20;
/// Bytes of the queue for what leaves.
const ROOM: usize = 16;
/// The longest sleep in nanoseconds: no interrupt says that there is room again.
const NAP: u64 = 1_000_000;
const POLLS_BEFORE_SLEEP: u32 = 64;

/// The UART.
pub(crate) struct Uart(());

impl Uart {
    /// Sets up the UART: 115200 baud, 8 bits, queues, an interrupt when bytes come, 14 or a while ago.
    pub(crate) fn begin() -> Self {
        for (port, byte) in [
            (FORMAT, 0x80),
            (PORT, 1),
            (INTERRUPTS, 0),
            (FORMAT, 3),
            (FIFO, 0xc7),
            (MODEM, 0xb),
            (INTERRUPTS, 1),
        ] {
            write_port(port, byte);
        }
        enable_line(LINE);
        Uart(())
    }
}

impl ByteStream for Uart {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, ChannelError> {
        let mut count = 0;
        for byte in into {
            if read_port(STATUS) & RECEIVED == 0 {
                break;
            }
            *byte = read_port(PORT);
            count += 1;
        }
        Ok(count)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, ChannelError> {
        if read_port(STATUS) & SENT == 0 {
            return Ok(0);
        }
        let some = bytes.iter().take(ROOM);
        let count = some.len();
        some.for_each(|byte| write_port(PORT, *byte));
        Ok(count)
    }

    fn now(&self) -> u64 {
        now()
    }

    fn wait(&mut self, idle: u32, until: u64) -> Result<(), ChannelError> {
        if idle >= POLLS_BEFORE_SLEEP && read_port(STATUS) & RECEIVED == 0 {
            sleep(until.min(now() + NAP));
        }
        Ok(())
    }
}
