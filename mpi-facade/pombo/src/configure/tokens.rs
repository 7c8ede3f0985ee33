//! The tokens of a preprocessed source in C or C++, with their places; strings, characters, numbers and comments are
//! told apart from names. `sources` reads them.

use std::rc::Rc;

use super::facts::Place;

/// A name, or one character of anything else; `"` stands for a literal, `0` for a number.
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) place: Place,
    /// Whether it comes from a header of the system.
    pub(super) is_system: bool,
}

impl Token<'_> {
    pub(super) fn is_name(&self) -> bool {
        self.text.starts_with(is_first_of_name)
    }
}

/// Returns the tokens of what a compiler prints with -E. Lines of the form `# 7 "file.c" 3` name the place of the next
/// line; the flag 3 says that the file belongs to the system.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer {
        rest: text,
        file: Rc::from(""),
        line: 1,
        is_system: false,
        is_first: true,
    };
    let mut tokens = Vec::new();
    while let Some(text) = lexer.next() {
        tokens.push(Token {
            text,
            place: Place {
                file: Rc::clone(&lexer.file),
                line: Some(lexer.line),
            },
            is_system: lexer.is_system,
        });
    }
    tokens
}

struct Lexer<'a> {
    rest: &'a str,
    file: Rc<str>,
    line: u32,
    is_system: bool,
    /// Whether nothing but spaces stands before it in its line.
    is_first: bool,
}

impl<'a> Lexer<'a> {
    fn next(&mut self) -> Option<&'a str> {
        loop {
            let first = self.rest.chars().next()?;
            let was_first = self.is_first;
            if first == '\n' {
                self.take(1);
                self.is_first = true;
            } else if first.is_whitespace() {
                self.take(first.len_utf8());
            } else if first == '#' && was_first {
                let line = self.rest.split('\n').next().unwrap_or_default();
                self.take(line.len());
                self.directive(line);
            } else if let Some(length) = comment(self.rest) {
                self.take(length);
            } else {
                self.is_first = false;
                return Some(self.token(first));
            }
        }
    }

    /// Takes so many bytes and counts their lines.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        let lines = taken.bytes().filter(|&byte| byte == b'\n').count();
        self.line = self
            .line
            .saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.rest = rest;
        taken
    }

    /// Reads `# 7 "file.c" 3`; other directives, such as pragmas, say nothing.
    fn directive(&mut self, line: &str) {
        let rest = line.trim_start_matches('#').trim_start();
        let rest = rest.strip_prefix("line").unwrap_or(rest).trim_start();
        let Some((number, rest)) = rest.split_once(" \"") else {
            return;
        };
        let (Ok(number), Some((file, flags))) = (number.parse::<u32>(), rest.rsplit_once('"'))
        else {
            return;
        };
        // The end of the directive's own line is still to come.
        self.line = number.saturating_sub(1);
        self.is_system = flags.split_whitespace().any(|flag| flag == "3");
        if *self.file != *file {
            self.file = Rc::from(file.replace("\\\\", "\\").replace("\\\"", "\""));
        }
    }

    fn token(&mut self, first: char) -> &'a str {
        if is_first_of_name(first) {
            let end = self.rest.find(|letter| !is_of_name(letter));
            let name = self.take(end.unwrap_or(self.rest.len()));
            return match self.rest.chars().next() {
                Some('"') if matches!(name, "R" | "LR" | "uR" | "UR" | "u8R") => {
                    self.take(raw(self.rest));
                    "\""
                }
                Some(quote @ ('"' | '\'')) if matches!(name, "L" | "u" | "U" | "u8") => {
                    self.take(quoted(self.rest, quote));
                    "\""
                }
                _ => name,
            };
        }
        if first == '"' || first == '\'' {
            self.take(quoted(self.rest, first));
            return "\"";
        }
        if first.is_ascii_digit() {
            self.take(number(self.rest));
            return "0";
        }
        self.take(first.len_utf8())
    }
}

fn is_first_of_name(letter: char) -> bool {
    letter.is_alphabetic() || letter == '_' || letter == '$'
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

/// Returns the length of a comment: there are some where the compiler was told to keep them.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    let inner = text.strip_prefix("/*")?;
    Some(inner.find("*/").map_or(text.len(), |end| end + 4))
}

/// Returns the length of a literal with its quotes; one that is not closed ends with its line.
fn quoted(text: &str, quote: char) -> usize {
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            '\n' => return at,
            letter if letter == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of `"delimiter(..)delimiter"`.
fn raw(text: &str) -> usize {
    let Some((delimiter, _)) = text[1..].split_once('(') else {
        return text.len();
    };
    let end = format!("){delimiter}\"");
    text.find(&end).map_or(text.len(), |at| at + end.len())
}

/// Returns the length of a number, with its exponent and with the quotes between its digits.
fn number(text: &str) -> usize {
    let mut before = '0';
    for (at, letter) in text.char_indices() {
        let is_sign = matches!(letter, '+' | '-') && matches!(before, 'e' | 'E' | 'p' | 'P');
        let next = || text[at + 1..].starts_with(is_of_name);
        let is_part = is_of_name(letter) || letter == '.' || is_sign || letter == '\'' && next();
        if !is_part {
            return at;
        }
        before = letter;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        tokens(text).iter().map(|token| token.text).collect()
    }

    #[test]
    fn names_and_nothing_else() {
        assert_eq!(texts("a(b1,_c);"), ["a", "(", "b1", ",", "_c", ")", ";"]);
        assert_eq!(
            texts("\"MPI_INT\" 'M' L\"x\\\"MPI_INT\" y"),
            ["\"", "\"", "\"", "y"]
        );
        assert_eq!(texts("R\"x(MPI_INT \" )\" )x\" y"), ["\"", "y"]);
        assert_eq!(texts("/* MPI_INT \n */ a // MPI_INT\nb"), ["a", "b"]);
        assert_eq!(
            texts("1'000'000 0x1p-3 1e+5 1.f a"),
            ["0", "0", "0", "0", "a"]
        );
        assert_eq!(texts("\"open\na"), ["\"", "a"]);
        assert_eq!(texts("#pragma MPI_INT\na"), ["a"]);
    }

    #[test]
    fn places() {
        let text =
            "# 1 \"a.c\"\nx\n\n# 70 \"/usr/include/b.h\" 1 3\ny z\n# 5 \"a \\\"c\" 2\nw\n\nv";
        let found = tokens(text);
        let places: Vec<String> = found.iter().map(|token| token.place.to_string()).collect();
        let file = "/usr/include/b.h:70";
        assert_eq!(places, ["a.c:1", file, file, "a \\\"c:5", "a \\\"c:7"]);
        let system: Vec<bool> = found.iter().map(|token| token.is_system).collect();
        assert_eq!(system, [false, true, true, false, false]);
    }

    #[test]
    fn any_bytes_end() {
        for text in [
            "", "\"", "'\\", "R\"(", "/*", "#", "# 1 \"", "1'", "é\"ü", "R\"é(", "1é",
        ] {
            let _ = tokens(text);
        }
    }
}
