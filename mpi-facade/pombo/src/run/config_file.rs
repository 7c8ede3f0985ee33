//! `-configfile`: the parts of a job, one on a line. Only `arguments` uses it.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use crate::error::Error;

/// Reads the lines of a file as words. Lines that are empty or begin with `#` count nothing; a backslash at the end of
/// a line continues it.
pub(super) fn read(path: &Path) -> Result<Vec<Vec<OsString>>, Error> {
    let text = fs::read_to_string(path).map_err(Error::file("read the -configfile", path))?;
    let text = text.replace("\\\n", " ");
    let mut parts = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        parts.push(words(line).ok_or_else(|| Error::Value {
            what: "a line of the -configfile",
            given: line.to_owned(),
            want: "a second quotation mark for every first one",
        })?);
    }
    match parts.is_empty() {
        true => Err(Error::Value {
            what: "-configfile",
            given: path.display().to_string(),
            want: "a file with options and a program on each line, such as: -n 2 ./program",
        }),
        false => Ok(parts),
    }
}

/// Splits a line at spaces that do not stand between quotation marks; `None` if one of these is missing.
fn words(line: &str) -> Option<Vec<OsString>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(mark), character) if mark == character => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, character) if character.is_whitespace() => {
                words.extend(word.take().map(OsString::from));
            }
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word.map(OsString::from));
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_of_a_line() {
        let split = words(r#"-n 2  ./a 'b c' d"e "f ''"#).unwrap();
        assert_eq!(split, ["-n", "2", "./a", "b c", "de f", ""]);
        assert_eq!(words("a 'b"), None);
    }
}
