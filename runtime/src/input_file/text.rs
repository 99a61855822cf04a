//! The text of a file, whatever it is wrapped in.
//!
//! In: an [`OpenedFile`]. Out: the bytes of its text. A gzip file (RFC 1952, any number of members) is unpacked while it is read; the
//! byte-order mark of UTF-8 is skipped. UTF-16 and other compressions are refused by name, with the command that converts them. Deflate
//! shrinks 1032 to 1 at most (`zlib`'s technical notes), so the size of an unpacked text is bounded before it is read; what unpacks to
//! more than [`RATIO`] times its file and [`FREE`] is refused, for no table of numbers does.

use super::{FileKind, OpenedFile, invalid, too_long};
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};
use std::path::Path;

/// Bytes read at a time.
const BUFFER: usize = 1 << 20;
/// Bytes to which any file may unpack.
const FREE: u64 = 64 << 20;
/// Bytes of text for each byte of a gzip file beyond these.
const RATIO: u64 = 128;
/// Bytes of text for each byte of a gzip file, at most.
const DEFLATE: u64 = 1032;
/// First bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The byte-order mark of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// First bytes of other files, what they are, and the command that makes a text of them.
const OTHERS: [(&[u8], &str, &str); 6] = [
    (b"\xff\xfe", "UTF-16 text", "iconv -f UTF-16 -t UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "iconv -f UTF-16 -t UTF-8"),
    (b"BZh", "a bzip2 file", "bunzip2"),
    (b"\xfd7zXZ", "an xz file", "unxz"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file", "unzstd"),
    (b"PK\x03\x04", "a zip archive", "unzip"),
];

/// A text that is read from its beginning.
#[derive(Debug)]
pub struct TextFile {
    text: Body,
    size: u64,
}

/// A source of which the first bytes were read already, and stand before the rest.
type Begun<S> = BufReader<Chain<Cursor<Vec<u8>>, S>>;

#[derive(Debug)]
enum Body {
    Plain(Begun<OpenedFile>),
    Unpacked(Begun<Unpacked>),
}

impl TextFile {
    /// Opens a regular file, or standard input for `-`.
    ///
    /// # Errors
    /// Errors of [`OpenedFile::open`]; UTF-16, or a compression other than gzip; a damaged gzip file.
    pub fn open(path: &Path, kind: FileKind) -> io::Result<TextFile> {
        let mut file = OpenedFile::open(path, kind)?;
        let bytes = file.size();
        let start = beginning(&mut file)?;
        if !start.starts_with(&GZIP) {
            let text = BufReader::with_capacity(BUFFER, unmarked(start)?.chain(file));
            return Ok(TextFile { text: Body::Plain(text), size: bytes });
        }
        let most = kind.limit.min(bytes.saturating_mul(RATIO).saturating_add(FREE));
        let packed = BufReader::with_capacity(BUFFER, Cursor::new(start).chain(file));
        let mut unpacked = Unpacked { gzip: Box::new(MultiGzDecoder::new(packed)), left: most, most, kind };
        let start = unmarked(beginning(&mut unpacked)?)?;
        let size = bytes.saturating_mul(DEFLATE).min(most);
        Ok(TextFile { text: Body::Unpacked(BufReader::with_capacity(BUFFER, start.chain(unpacked))), size })
    }

    /// Its length in bytes, or a bound of it if it is packed. What a text promises is compared with it before memory is taken.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Read for TextFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.text {
            Body::Plain(text) => text.read(buffer),
            Body::Unpacked(text) => text.read(buffer),
        }
    }
}

impl BufRead for TextFile {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match &mut self.text {
            Body::Plain(text) => text.fill_buf(),
            Body::Unpacked(text) => text.fill_buf(),
        }
    }

    fn consume(&mut self, amount: usize) {
        match &mut self.text {
            Body::Plain(text) => text.consume(amount),
            Body::Unpacked(text) => text.consume(amount),
        }
    }
}

/// A gzip file that is being unpacked, up to a limit.
#[derive(Debug)]
struct Unpacked {
    gzip: Box<MultiGzDecoder<Begun<OpenedFile>>>,
    left: u64,
    most: u64,
    kind: FileKind,
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.gzip.read(buffer).map_err(|error| {
            invalid(format!("the gzip file is damaged or cut off ({error}); `gunzip -t` checks it"))
        })?;
        self.left = match self.left.checked_sub(read as u64) {
            Some(left) => left,
            None if self.most == self.kind.limit => return Err(too_long(self.kind, self.most + 1)),
            None => {
                let most = self.most;
                return Err(invalid(format!(
                    "the gzip file unpacks to more than {most} bytes, over {RATIO} times its size: unpack it with gunzip if that is right"
                )));
            }
        };
        Ok(read)
    }
}

/// The first bytes, as many as any mark has.
fn beginning(source: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    source.by_ref().take(8).read_to_end(&mut start)?;
    Ok(start)
}

/// The beginning of a text without a mark.
fn unmarked(start: Vec<u8>) -> io::Result<Cursor<Vec<u8>>> {
    if let Some((_, what, command)) = OTHERS.iter().find(|(first, ..)| start.starts_with(first)) {
        return Err(invalid(format!(
            "it is {what}, expected UTF-8 text or a gzip file of it: convert it with `{command}`"
        )));
    }
    let is_utf_16 = |pair: &[u8]| matches!(pair, [0, 9..=126] | [9..=126, 0]);
    if start.len() >= 4 && start.chunks_exact(2).all(is_utf_16) {
        return Err(invalid(
            "it is UTF-16 text, expected UTF-8: convert it with `iconv -f UTF-16LE -t UTF-8`, or UTF-16BE".into(),
        ));
    }
    let skipped = if start.starts_with(MARK) { MARK.len() as u64 } else { 0 };
    let mut text = Cursor::new(start);
    text.set_position(skipped);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::super::{Lines, read_text};
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(text).unwrap();
        gzip.finish().unwrap()
    }

    fn read(bytes: &[u8], limit: u64) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, bytes).unwrap();
        read_text(&path, FileKind { name: "a test", limit }).map_err(|error| error.to_string())
    }

    #[test]
    fn marks_and_gzip_leave_the_text() {
        let text = "1.5 äß\n2\n";
        let marked = [MARK, text.as_bytes()].concat();
        let halves = [packed(b"1.5 \xc3\xa4"), packed("ß\n2\n".as_bytes())].concat();
        for bytes in [text.as_bytes(), &marked, &packed(text.as_bytes()), &packed(&marked), &halves] {
            assert_eq!(read(bytes, 1 << 10).unwrap(), text);
        }
        for short in ["", "\n", "1\n"] {
            assert_eq!(read(short.as_bytes(), 9).unwrap(), short);
            assert_eq!(read(&packed(short.as_bytes()), 99).unwrap(), short);
        }
    }

    #[test]
    fn what_is_no_text_is_refused_by_name() {
        let wide = |order: fn(u16) -> [u8; 2]| "&FCI NORB=2".encode_utf16().flat_map(order).collect::<Vec<u8>>();
        let marked = [b"\xff\xfe".to_vec(), wide(u16::to_le_bytes)].concat();
        for bytes in [marked, wide(u16::to_le_bytes), wide(u16::to_be_bytes)] {
            assert!(read(&bytes, 99).unwrap_err().starts_with("it is UTF-16 text"), "{bytes:?}");
        }
        for (bytes, said) in [("BZh91AY", "bunzip2"), ("PK\u{3}\u{4}aaaa", "unzip")] {
            assert!(read(bytes.as_bytes(), 99).unwrap_err().contains(said));
        }
        let whole = packed(&b"1 2 3 4\n".repeat(100));
        for cut in [3, 12, whole.len() - 9, whole.len() - 1] {
            assert!(read(&whole[..cut], 9999).unwrap_err().contains("damaged or cut off"), "{cut}");
        }
        assert!(read(&whole, 700).unwrap_err().contains("a test may have 700 at most"));
    }

    /// Line feeds pack 1000 to 1: they are refused before a reader has skipped them all.
    #[test]
    fn what_unpacks_to_far_too_much_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bomb.gz");
        let mut gzip = GzEncoder::new(std::fs::File::create(&path).unwrap(), Compression::best());
        let feeds = vec![b'\n'; 1 << 20];
        for _ in 0..160 {
            gzip.write_all(&feeds).unwrap();
        }
        gzip.finish().unwrap();
        let mut lines = Lines::new(TextFile::open(&path, FileKind::INTEGRALS).unwrap());
        let error = lines.next_where(|line| !line.is_empty()).unwrap_err().to_string();
        assert!(error.contains("unpacks to more than"), "{error}");
    }
}
