//! Arguments, each command one call. Results on standard output, logs and errors on standard error.

mod components;
mod gates;
mod generate;
mod store;

use crate::app;
use crate::config::{self, Fault, Format, Loaded, Mode};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::io::Write;
use std::process::ExitCode;

/// A trace pipeline daemon with a durable store behind it. Without a command it runs.
#[derive(Debug, Parser)]
#[command(name = "sluice", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    sources: Sources,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the pipelines until SIGINT, SIGTERM or SIGHUP, then drain (what happens without a command)
    Run(Sources),
    /// Check a configuration: silent when it is good, else every fault on a line of its own
    Validate(Sources),
    /// List the component types of this binary, as YAML
    Components,
    /// Print the configuration as it is after merging and expanding, secrets redacted
    #[command(alias = "print-initial-config")]
    PrintConfig(PrintConfig),
    /// Look into a store's directory that no daemon holds
    #[command(subcommand)]
    Store(store::Store),
    Generate(generate::Generate),
}

/// Where the configuration comes from. Without any source: the built-in one.
#[derive(Debug, Args)]
struct Sources {
    /// A source: a path, file:PATH, env:NAME or yaml:TEXT. May be given several times; later ones are laid over earlier ones
    #[arg(long = "config", value_name = "SOURCE")]
    config: Vec<String>,
    /// One value over all sources, as in exporters::debug::verbosity=normal. May be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Features to switch: a,-b,+c. There are none so far, so that every name is an error
    #[arg(long, value_name = "GATES", value_delimiter = ',', allow_hyphen_values = true, value_parser = gates::parse)]
    feature_gates: Vec<gates::Gate>,
}

#[derive(Debug, Args)]
struct PrintConfig {
    #[command(flatten)]
    sources: Sources,
    /// Whether secrets are shown
    #[arg(long, value_enum, default_value = "redacted")]
    mode: Secrets,
    #[arg(long, value_enum, default_value = "yaml")]
    format: Notation,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Secrets {
    Redacted,
    Unredacted,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Notation {
    Yaml,
    Json,
}

/// Why a command failed, a line each.
type Failure = Vec<String>;

/// The whole program. 0: good, 1: failed, 2: the arguments make no sense.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come this way too; a closed output is no reason to fail.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match execute(cli.command.unwrap_or(Command::Run(cli.sources))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(lines) => {
            lines.iter().for_each(|line| complain("error", line));
            ExitCode::FAILURE
        }
    }
}

fn execute(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run(sources) => run(&sources),
        Command::Validate(sources) => validate(&sources),
        Command::Components => print(&components::yaml(&app::registry())),
        Command::PrintConfig(asked) => print(&asked.text()?),
        Command::Store(store) => store.execute(),
        Command::Generate(generate) => generate.execute(),
    }
}

fn validate(sources: &Sources) -> Result<(), Failure> {
    app::check(&sources.load()?.config).map_err(|error| vec![format!("{error:#}")])
}

fn run(sources: &Sources) -> Result<(), Failure> {
    let loaded = sources.load()?;
    app::run(&loaded.config, sources.config.is_empty()).map_err(|error| vec![format!("{error:#}")])
}

/// To standard error, where nobody may be listening.
fn complain(kind: &str, line: &str) {
    let _ = writeln!(std::io::stderr(), "{kind}: {line}");
}

/// A closed output ends the command quietly, as it does other tools in a pipe.
fn print(text: &str) -> Result<(), Failure> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(vec![format!("cannot write: {error}")]),
        _ => Ok(()),
    }
}

impl Sources {
    fn names(&self) -> Vec<String> {
        if self.config.is_empty() { vec![config::embedded(app::DEFAULT_CONFIG)] } else { self.config.clone() }
    }

    /// Reads and checks it all. Warnings go to standard error.
    fn load(&self) -> Result<Loaded, Failure> {
        let loaded = config::load(&self.names(), &self.set, &app::registry()).map_err(lines)?;
        loaded.warnings.iter().for_each(|warning| complain("warning", warning));
        Ok(loaded)
    }
}

impl PrintConfig {
    fn text(&self) -> Result<String, Failure> {
        let loaded = self.sources.load()?;
        let mode = match self.mode {
            Secrets::Redacted => Mode::Redacted,
            Secrets::Unredacted => Mode::Unredacted,
        };
        let format = match self.format {
            Notation::Yaml => Format::Yaml,
            Notation::Json => Format::Json,
        };
        Ok(config::print(&loaded.node, mode, format))
    }
}

fn lines(faults: Vec<Fault>) -> Failure {
    faults.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }
}
