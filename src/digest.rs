//! SHA-256 digests in lower-case hex, by which files are identified.

use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::regular;

/// Bytes read at a time.
const BLOCK: usize = 1 << 20;

/// The digest of bytes in memory.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The digest of a file's content, read block by block.
///
/// # Errors
/// If the file cannot be read or is not a regular file.
pub fn sha256_of_file(path: &Path) -> io::Result<String> {
    let mut file = regular::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; BLOCK];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(hex(&hasher.finalize()));
        }
        hasher.update(&buffer[..read]);
    }
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_files_have_the_standard_digest() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; // FIPS 180-2, appendix B.1
        assert_eq!(sha256(b"abc"), expected);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"abc").unwrap();
        assert_eq!(sha256_of_file(file.path()).unwrap(), expected);
    }
}
