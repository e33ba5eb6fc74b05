//! Runs the experiment `engines` of `layland lab` in a guest, and prints the table of `docs/engines.md`.
//!
//! `engines [KERNEL]`: the label of the kernel (`7.3`).
#![expect(clippy::print_stdout, reason = "it is a program")]

use layland_system_tests::engines::{Compared, commands};
use layland_system_tests::{Guest, Profile, carries_ext, static_layland};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let label = std::env::args().nth(1).unwrap_or_else(|| "7.3".to_owned());
    if !carries_ext() {
        return Err("needs the headers of libelf and zlib (libelf-dev, zlib1g-dev)".into());
    }
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let folder = target.join("tmp/kernels");
    std::fs::create_dir_all(&folder)?;
    let guest = Guest::fetch(&folder).map_err(|skipped| skipped.0)?;
    let found = guest.kernels.iter().find(|kernel| kernel.label == label);
    let kernel = found.ok_or_else(|| format!("there is no kernel {label} (kernels.txt)"))?;
    let layland = std::fs::read(static_layland(&target, Profile::Dev))?;
    let commands = commands("engines");
    let commands = commands.each_ref().map(|(name, line)| (*name, line.as_str()));
    let compared = Compared::read(&guest.boot(kernel, 4, &layland, &[], &commands)?);
    println!("{}\n\n{}\n{}", kernel.package, compared.markdown(), compared.text);
    Ok(())
}
