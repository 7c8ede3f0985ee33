//! What ranks tell each other through a launcher.

use crate::fixed_string::Text;

/// What a rank tells: without spaces and '=', so that it passes through any launcher.
pub(crate) type ExchangedText = Text<255>;
