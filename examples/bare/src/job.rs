//! What a rank is told, as words: by the loader's command line or the arguments of a process.

use crate::composition::PEERS;

/// The job that a rank is part of.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// `rank=N`: this rank.
    pub rank: u16,
    /// `peers=MAC,MAC,..`: the addresses of all ranks' interfaces, in their order.
    pub peers: Addresses,
    /// `job=N`: the number of the job, the same at all ranks.
    pub number: u16,
    /// `count=N`: the messages of ping-pong and stream.
    pub count: u32,
    /// `loss=N`: of 100 frames that arrive, how many are lost on purpose.
    pub loss: u8,
    /// `mpi=1`: the program of MPI in place of the others.
    pub is_mpi: bool,
    /// `virtio_mmio.device=SIZE@BASE:LINE`, as Linux has it: the address of the device, and its interrupt.
    pub device: Option<(usize, u8)>,
}

impl Job {
    /// Reads the words; those that it does not know are for others.
    ///
    /// # Errors
    /// The word that is wrong.
    pub fn parse<'a>(words: impl Iterator<Item = &'a str>) -> Result<Job, &'a str> {
        let mut job = Job {
            rank: 0,
            peers: Addresses::default(),
            number: 1,
            count: 1000,
            loss: 0,
            is_mpi: false,
            device: None,
        };
        for word in words {
            job.take(word).ok_or(word)?;
        }
        Ok(job)
    }

    fn take(&mut self, word: &str) -> Option<()> {
        let Some((name, value)) = word.split_once('=') else {
            return Some(());
        };
        match name {
            "rank" => self.rank = value.parse().ok()?,
            "job" => self.number = value.parse().ok()?,
            "count" => self.count = value.parse().ok()?,
            "loss" => self.loss = value.parse().ok().filter(|loss| *loss <= 50)?,
            "mpi" => self.is_mpi = value == "1",
            "peers" => {
                self.peers = Addresses::default();
                for mac in value.split(',') {
                    self.peers.push(mac_address(mac)?)?;
                }
            }
            // An image has the use of one device: the last one that is named, which QEMU fills first.
            "virtio_mmio.device" => {
                let (base, line) = value.split_once('@')?.1.split_once(':')?;
                let base = usize::from_str_radix(base.strip_prefix("0x")?, 16).ok()?;
                self.device = Some((base, line.parse().ok()?));
            }
            _ => {}
        }
        Some(())
    }
}

fn mac_address(text: &str) -> Option<[u8; 6]> {
    let (mut mac, mut bytes) = ([0; 6], text.split(':'));
    for byte in &mut mac {
        *byte = u8::from_str_radix(bytes.next()?, 16).ok()?;
    }
    bytes.next().is_none().then_some(mac)
}

/// The addresses of at most [`PEERS`] interfaces.
#[derive(Clone, Copy, Debug, Default)]
pub struct Addresses {
    all: [[u8; 6]; PEERS],
    len: usize,
}

impl Addresses {
    /// Adds one; `None` if there is no room.
    fn push(&mut self, mac: [u8; 6]) -> Option<()> {
        *self.all.get_mut(self.len)? = mac;
        self.len += 1;
        Some(())
    }
}

impl core::ops::Deref for Addresses {
    type Target = [[u8; 6]];

    fn deref(&self) -> &[[u8; 6]] {
        self.all.get(..self.len).unwrap_or_default()
    }
}
