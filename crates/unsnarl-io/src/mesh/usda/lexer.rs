//! The words, strings, brackets and line ends of a USD text file.

use super::super::error::{Flaw, Place};
use super::super::findings::FindingKind;
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One of `( ) [ ] { } = , ; :`.
    Mark(u8),
    /// A keyword, a name with its colons and dots, or a number.
    Word,
    /// The range is what stands between the quotes.
    Text,
    /// An asset `@...@` or a path `<...>`; the range is what stands between the marks.
    Reference,
    Newline,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: Kind,
    pub range: Range<usize>,
}

pub(super) struct Lexer<'a> {
    pub bytes: &'a [u8],
    at: usize,
}

impl<'a> Lexer<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The line of a byte.
    pub fn place(&self, at: usize) -> Place {
        let before = &self.bytes[..at.min(self.bytes.len())];
        Place::Line(1 + before.iter().filter(|&&byte| byte == b'\n').count())
    }

    pub fn text(&self, token: &Token) -> &'a [u8] {
        &self.bytes[token.range.clone()]
    }

    pub fn truncated(&self) -> Flaw {
        let detail = "the file ends before its brackets close";
        Flaw::new(self.place(self.bytes.len()), FindingKind::Truncated, detail)
    }

    /// The byte up to which tokens were taken.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The next token that is no line end, without taking it.
    pub fn peek_solid(&mut self) -> Result<Token, Flaw> {
        let at = self.at;
        let token = self.next_solid();
        self.at = at;
        token
    }

    /// The next token without taking it.
    pub fn peek(&mut self) -> Result<Option<Token>, Flaw> {
        let at = self.at;
        let token = self.next();
        self.at = at;
        token
    }

    /// The next token; `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<Token>, Flaw> {
        loop {
            let Some(&byte) = self.bytes.get(self.at) else { return Ok(None) };
            let start = self.at;
            match byte {
                b'\n' => return Ok(Some(self.take(Kind::Newline, start..start + 1, start + 1))),
                b'#' => {
                    let rest = &self.bytes[start..];
                    self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                }
                _ if byte.is_ascii_whitespace() => self.at += 1,
                b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'=' | b',' | b';' | b':' => {
                    return Ok(Some(self.take(Kind::Mark(byte), start..start + 1, start + 1)));
                }
                b'"' | b'\'' => return self.string(byte).map(Some),
                b'@' if self.bytes[start..].starts_with(b"@@@") => return self.until(b"@@@", 3).map(Some),
                b'@' => return self.until(b"@", 1).map(Some),
                b'<' => return self.until(b">", 1).map(Some),
                _ => {
                    let end = self.word_end(start);
                    return Ok(Some(self.take(Kind::Word, start..end, end)));
                }
            }
        }
    }

    /// The next token that is no line end; the file must have one.
    pub fn next_solid(&mut self) -> Result<Token, Flaw> {
        loop {
            match self.next()? {
                Some(token) if token.kind == Kind::Newline => {}
                Some(token) => return Ok(token),
                None => return Err(self.truncated()),
            }
        }
    }

    /// Steps over everything up to the bracket that closes the one just taken.
    pub fn skip_balanced(&mut self) -> Result<(), Flaw> {
        let mut depth = 1usize;
        while depth > 0 {
            match self.next_solid()?.kind {
                Kind::Mark(b'(' | b'[' | b'{') => depth += 1,
                Kind::Mark(b')' | b']' | b'}') => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    fn take(&mut self, kind: Kind, range: Range<usize>, end: usize) -> Token {
        self.at = end;
        Token { kind, range }
    }

    /// A name may hold colons, but `0: value` ends before its colon.
    fn word_end(&self, start: usize) -> usize {
        let mut at = start;
        while let Some(&byte) = self.bytes.get(at) {
            let inside = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'+' | b'-' | b'!' | b'|');
            let next_is_name = self.bytes.get(at + 1).is_some_and(|next| next.is_ascii_alphabetic() || *next == b'_');
            if !(inside || byte == b':' && next_is_name || byte >= 0x80) {
                break;
            }
            at += 1;
        }
        // A byte that starts nothing stands alone, so that reading goes on.
        at.max(start + 1)
    }

    fn string(&mut self, quote: u8) -> Result<Token, Flaw> {
        let start = self.at;
        let triple = self.bytes[start..].starts_with(&[quote; 3]);
        let width = if triple { 3 } else { 1 };
        let mut at = start + width;
        loop {
            match self.bytes.get(at) {
                None => return Err(self.truncated()),
                Some(b'\\') => at += 2,
                Some(b'\n') if !triple => {
                    return Err(Flaw::syntax(
                        self.place(at),
                        "expected the end of a string before the end of its line",
                    ));
                }
                Some(byte) if *byte == quote && self.bytes[at..].starts_with(&[quote; 3][..width]) => break,
                Some(_) => at += 1,
            }
        }
        Ok(self.take(Kind::Text, start + width..at, at + width))
    }

    fn until(&mut self, end: &[u8], width: usize) -> Result<Token, Flaw> {
        let start = self.at + width;
        let rest = self.bytes.get(start..).unwrap_or_default();
        match rest.windows(end.len()).position(|window| window == end) {
            None => Err(self.truncated()),
            Some(length) => Ok(self.take(Kind::Reference, start..start + length, start + length + end.len())),
        }
    }
}
