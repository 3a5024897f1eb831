//! A Python with the OpenTelemetry SDK in it, made once and used again by later runs.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PACKAGES: [&str; 2] = ["opentelemetry-sdk", "opentelemetry-exporter-otlp"];
const IMPORTS: &str = "import opentelemetry.sdk.trace, opentelemetry.exporter.otlp.proto.grpc.trace_exporter, \
                       opentelemetry.exporter.otlp.proto.http.trace_exporter";

/// The interpreter, or `None`, with a word about it, where it cannot be had. `SLUICE_REQUIRE_PYTHON` makes that a failure.
pub fn interpreter() -> Option<PathBuf> {
    let made = make();
    if let Err(why) = &made {
        assert!(std::env::var_os("SLUICE_REQUIRE_PYTHON").is_none(), "{why}");
        // Not `eprintln`, which the test harness keeps to itself.
        let _ = writeln!(std::io::stderr(), "skipped: no Python with the OpenTelemetry SDK: {why}");
    }
    made.ok()
}

fn make() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    fs::create_dir_all(env!("CARGO_TARGET_TMPDIR")).map_err(|error| error.to_string())?;
    // Tests run side by side, and so may test runs.
    let lock = File::create(folder.with_extension("lock")).map_err(|error| error.to_string())?;
    lock.lock().map_err(|error| error.to_string())?;
    let python = folder.join("bin/python");
    if run(Command::new(&python).args(["-c", IMPORTS])).is_ok() {
        return Ok(python);
    }
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(PACKAGES))?;
    run(Command::new(&python).args(["-c", IMPORTS]))?;
    Ok(python)
}

/// Standard output of a command that succeeds.
pub fn run(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_owned();
    let failed = |why: String| format!("{}: {why}", program.display());
    match command.output() {
        Err(error) => Err(failed(error.to_string())),
        Ok(Output { status, stdout, stderr }) => {
            let (out, errors) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
            if status.success() { Ok(out.into_owned()) } else { Err(failed(format!("{status}\n{errors}"))) }
        }
    }
}
