//! Whether a refined mesh fits into memory, asked before any of it is made.

use crate::session::Failure;
use unsnarl::output::Depth;
use unsnarl_geometry::subdivision::check_size;

/// Bytes for every triangle of the finest mesh: its connectivity.
const BYTES_OF_MESH: u64 = 150;
/// Bytes for every triangle of a frame that is being refined: positions, targets, the tree of the detection.
const BYTES_OF_FRAME: u64 = 250;

/// A mesh before it is refined.
pub struct Coarse {
    /// Triangles of cloth.
    pub triangles: usize,
    /// How many frames are refined at once.
    pub frames_at_once: usize,
}

/// Refuses levels that do not fit; levels until a length become as many as do.
pub fn fitting(depth: Depth, coarse: &Coarse, name: &str) -> Result<Depth, Failure> {
    fitting_into(available_bytes(), depth, coarse, name)
}

fn fitting_into(available: Option<u64>, depth: Depth, coarse: &Coarse, name: &str) -> Result<Depth, Failure> {
    match depth {
        Depth::Levels(levels) => check(available, coarse, levels, name).map(|()| depth),
        Depth::Until { displacement, most } => {
            check(available, coarse, 1, name)?;
            let fits = |levels: &u32| check(available, coarse, *levels, name).is_ok();
            let most = (1..=most).take_while(fits).last().unwrap_or(1);
            Ok(Depth::Until { displacement, most })
        }
    }
}

fn check(available: Option<u64>, coarse: &Coarse, levels: u32, name: &str) -> Result<(), Failure> {
    check_size(coarse.triangles, levels).map_err(|error| Failure::input(format!("{name}: {error}")))?;
    let triangles = (coarse.triangles as u64) << (2 * levels);
    let needed = triangles * (BYTES_OF_MESH + BYTES_OF_FRAME * coarse.frames_at_once.max(1) as u64);
    match available {
        Some(available) if needed > available => Err(Failure::input(format!(
            "{name}: {triangles} triangles after {levels} levels take about {needed} bytes of memory, \
             {available} are free; give fewer levels"
        ))),
        _ => Ok(()),
    }
}

/// Bytes of memory that the system says are free, where it says so; those of a container count if they are fewer.
fn available_bytes() -> Option<u64> {
    let number = |path: &str| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let system = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let rest = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        rest.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    });
    let most = number("/sys/fs/cgroup/memory.max");
    let used = number("/sys/fs/cgroup/memory.current");
    let container = most.zip(used).map(|(most, used)| most.saturating_sub(used));
    [system, container].into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COARSE: Coarse = Coarse { triangles: 1000, frames_at_once: 1 };

    #[test]
    fn levels_that_do_not_fit_are_refused_with_the_number_of_bytes() {
        let at = |levels: u32, available: u64| fitting_into(Some(available), Depth::Levels(levels), &COARSE, "shirt");
        // 64,000 triangles of 400 bytes.
        assert!(at(3, 25_600_000).is_ok());
        let line = format!("{:?}", at(3, 25_599_999));
        assert!(line.contains("shirt: 64000 triangles after 3 levels take about 25600000 bytes"), "{line}");
        assert!(fitting_into(None, Depth::Levels(10), &COARSE, "shirt").is_ok());
        // More than can be numbered, whatever memory there is.
        assert!(at(11, u64::MAX).is_err());
        let two = Coarse { frames_at_once: 2, ..COARSE };
        assert!(fitting_into(Some(25_600_000), Depth::Levels(3), &two, "sim").is_err());
    }

    #[test]
    fn levels_until_a_length_are_as_many_as_fit() {
        let until = Depth::Until { displacement: 1e-3, most: 6 };
        let found = fitting_into(Some(25_600_000), until, &COARSE, "shirt").ok();
        assert_eq!(found, Some(Depth::Until { displacement: 1e-3, most: 3 }));
        assert!(fitting_into(Some(1000), until, &COARSE, "shirt").is_err());
    }
}
