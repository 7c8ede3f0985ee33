//! The number of frames that may be under way to a peer at once. Only `reliable` uses it.

/// A window that grows by an eighth of a frame for each frame that arrives and shrinks by half a frame for each that is
/// lost: random loss of less than a fifth leaves the window open, a queue that overflows somewhere closes it.
#[derive(Clone, Copy)]
pub(super) struct SendWindow {
    /// Size of the window, in eighths of a frame.
    open: u32,
    most: u32,
}

const FRAME: u32 = 8;
const LEAST: u32 = 2 * FRAME;

impl SendWindow {
    pub(super) fn new(window: u32) -> Self {
        let most = (window * FRAME).max(LEAST);
        SendWindow {
            open: most.min(16 * FRAME),
            most,
        }
    }

    pub(super) fn frames(&self) -> u32 {
        self.open / FRAME
    }

    pub(super) fn note(&mut self, arrived: u32, lost: u32) {
        let open = self.open.saturating_add(arrived);
        let open = open.saturating_sub(lost.saturating_mul(FRAME / 2));
        self.open = open.clamp(LEAST, self.most);
    }
}
