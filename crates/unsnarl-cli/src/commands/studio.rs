//! `unsnarl studio`: the page on which a person looks at a garment and untangles it.

use crate::session::{Failure, Session};
use clap::Args;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use unsnarl_studio::log::Log;
use unsnarl_studio::{StudioSettings, page};

/// Look at a garment, drag it and watch it come undone, or sculpt a volume, on a page in the browser.
///
/// A level set (`.level`) opens the sculpting page; so does a closed mesh with `--resolution`.
/// Serves this machine only, until Ctrl-C. The page reads and writes the folder of PATH and nothing else.
#[derive(Args)]
#[command(
    after_help = "Example:\n  unsnarl studio samples/hanky_bli.obj\n  unsnarl studio body.level\n  unsnarl studio body.obj --resolution 256"
)]
pub struct Flags {
    /// A mesh, a simulation cache or a folder [default: the current folder]
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
    /// A body, as an obstacle; in the same folder
    #[arg(long, value_name = "MESH", requires = "path")]
    body: Option<PathBuf>,
    /// Sculpt the mesh: make a level set of so many samples across its longest side
    #[arg(long, value_name = "N", requires = "path", conflicts_with = "body")]
    resolution: Option<u32>,
    /// The port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    port: u16,
    /// Print the link and do not open a browser
    #[arg(long)]
    no_browser: bool,
}

/// The variable with a token of the user's own, so that the link stays the same from run to run.
const TOKEN_VARIABLE: &str = "UNSNARL_STUDIO_TOKEN";

/// Runs the command.
pub fn run(flags: &Flags, session: &Session) -> Result<ExitCode, Failure> {
    let settings = StudioSettings {
        path: flags.path.clone(),
        body: flags.body.clone(),
        resolution: flags.resolution,
        port: flags.port,
        token: std::env::var(TOKEN_VARIABLE).ok(),
    };
    if flags.resolution.is_some_and(|resolution| !(8..=4096).contains(&resolution)) {
        return Err(Failure::usage("--resolution takes a number from 8 to 4096"));
    }
    if !page::is_built() {
        session.warn("the page was not built with this program; run ./demo, which builds it");
    }
    let log = Log::new(|line| eprintln!("studio: {line}"));
    let ready = |link: &str| {
        session.say(format!("The studio is open at {link}\nCtrl-C closes it."));
        if !flags.no_browser && std::io::stdout().is_terminal() {
            open_browser(link);
        }
    };
    unsnarl_studio::run(&settings, log, ready).map_err(Failure::input)?;
    Ok(ExitCode::SUCCESS)
}

/// Asks the desktop to open a link; where there is none, the printed link serves.
fn open_browser(link: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let _ = Command::new(program).arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}
