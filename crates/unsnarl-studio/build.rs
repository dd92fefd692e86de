//! Embeds the built page, from copies, so that the page can be built again meanwhile. Without `page/dist/site` a notice is embedded that says how to build it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=page/dist");
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut files = Vec::new();
    collect(&root.join("page/dist/site"), "", &mut files);
    files.sort();
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let mut list = String::from("&[\n");
    for (index, (name, path)) in files.iter().enumerate() {
        let copy = out.join(format!("page_file_{index}"));
        std::fs::copy(path, &copy).expect("the built page can be read");
        writeln!(list, "    ({name:?}, include_bytes!({copy:?})),").expect("a string takes everything");
    }
    list.push_str("]\n");
    std::fs::write(out.join("page_files.rs"), list).expect("the output folder can be written");
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let path = entry.path();
        if path.is_dir() {
            collect(&path, &format!("{name}/"), files);
        } else {
            files.push((name, path));
        }
    }
}
