//! The texts that ranks exchange through a launcher.

use crate::fixed_string::Text;

/// A text without spaces and '=', so that any launcher can transmit it.
pub(crate) type ExchangedText = Text<255>;
