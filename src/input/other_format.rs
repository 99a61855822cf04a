//! Files of other formats that are given in place of a model file: what they are, and which verb or key takes them.
//!
//! In: the beginning of a file. Out: the format and what to do, if the bytes tell. Magic numbers are those of file(1).

use super::InputError;
use std::path::Path;

/// Bytes in which the header of an FCIDUMP begins, after blank lines.
const HEADER: usize = 4096;

/// A byte-order mark of UTF-8, which some editors write.
const MARK: &[u8] = b"\xef\xbb\xbf";

const COMPRESSED: &str = "unpack it first";

/// Formats by their first bytes.
const MAGIC: [(&[u8], &str, &str); 14] = [
    (
        b"%%MatrixMarket",
        "a Matrix Market file",
        "name it FILE.mtx: `eigenforge solve` diagonalises it, and `eigenforge spmv` multiplies it",
    ),
    (
        b"PK\x03\x04",
        "a zip archive, as .npz is",
        "name it FILE.npz if scipy.sparse.save_npz wrote it: `eigenforge solve` diagonalises such a matrix, and `eigenforge spmv` multiplies it",
    ),
    (b"PK\x05\x06", "an empty zip archive", "`eigenforge spmv FILE` takes a matrix that scipy.sparse.save_npz wrote"),
    (
        b"\x93NUMPY",
        "an array of NumPy (.npy)",
        "`eigenforge spmv FILE` takes a sparse matrix that scipy.sparse.save_npz wrote",
    ),
    (b"\x1f\x8b", "compressed by gzip", COMPRESSED),
    (b"BZh", "compressed by bzip2", COMPRESSED),
    (b"\xfd7zXZ\0", "compressed by xz", COMPRESSED),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", COMPRESSED),
    (
        b"\x89HDF\r\n\x1a\n",
        "an HDF5 file",
        "write the integrals as an FCIDUMP file for [ci], or the matrix as .mtx for `eigenforge solve` or `spmv`",
    ),
    (b"\x7fELF", "a program", "give the model file that it was to run"),
    (b"\xff\xfe", "text in UTF-16", "save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16", "save it as UTF-8"),
    (b"%PDF", "a PDF", "give a model file, like those in examples/"),
    (b"{", "JSON", "a list of terms in JSON is named in a model file: [model] with `quspin`, `pauli` or `xdiag`"),
];

/// The error of a file of another format, if it is one.
pub(super) fn refusal(path: &Path, bytes: &[u8]) -> Option<InputError> {
    let text = bytes.strip_prefix(MARK).unwrap_or(bytes).trim_ascii_start();
    let by_magic = MAGIC.iter().find(|(magic, ..)| bytes.starts_with(magic) || text.starts_with(magic));
    let (found, advice) = match by_magic {
        Some((_, found, advice)) => (*found, *advice),
        None => is_fcidump(text).then_some((
            "an FCIDUMP file",
            "name it in a model file, `fcidump = \"FILE\"` in [ci]; `eigenforge count --fcidump FILE` counts its determinants",
        ))?,
    };
    Some(InputError::OtherFormat { path: path.into(), found, advice })
}

/// The namelist &FCI, of which some programs write `$FCI`.
fn is_fcidump(text: &[u8]) -> bool {
    let begin = text.get(..4).unwrap_or_default();
    let begins = |name: &[u8]| begin.eq_ignore_ascii_case(name);
    (begins(b"&FCI") || begins(b"$FCI")) && text.iter().take(HEADER).any(|byte| *byte == b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_formats_are_told_by_their_first_bytes() {
        let found = |bytes: &[u8]| refusal(Path::new("x"), bytes).map(|error| error.to_string());
        for (bytes, word) in [
            (&b"%%MatrixMarket matrix coordinate real symmetric\n"[..], "spmv"),
            (b" &FCI NORB=2,NELEC=2,\n&END\n", "[ci]"),
            (b"\xef\xbb\xbf\n&fci norb=2\n", "[ci]"),
            (b"\x93NUMPY\x01\0", "NumPy"),
            (b"\xff\xfe[\0m\0", "UTF-16"),
            (b"{\"pauli\": []}", "JSON"),
        ] {
            assert!(found(bytes).is_some_and(|text| text.contains(word)), "{word}");
        }
        for bytes in [&b""[..], b"[model]\nname = \"xxz\"\n", b"# %%MatrixMarket\n", b"fcidump = 1", b"&FCI"] {
            assert_eq!(found(bytes), None);
        }
    }
}
