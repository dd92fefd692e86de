//! Damaged files: every reader answers, none panics, and what it promises holds. The same harness runs for as long as
//! one likes as `cargo run --release -p unsnarl-io --example fuzz_readers`.

mod fuzz_support;

use std::path::Path;
use std::time::Duration;

#[test]
fn readers_answer_damaged_files_without_a_panic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    for (extension, format) in fuzz_support::READERS {
        let corpus = fuzz_support::corpus(&folder, extension);
        assert!(!corpus.is_empty(), "no file with extension {extension}");
        let tally = fuzz_support::run(*format, &corpus, 1, 4000, Duration::from_secs(60));
        if let Some((bytes, why)) = tally.failures.first() {
            panic!("{extension}: {why}\n{}", String::from_utf8_lossy(bytes));
        }
        assert!(tally.meshes > 0 && tally.answers > 5, "{extension}: the damage reaches nothing");
    }
}
