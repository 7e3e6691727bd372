//! [`Global`]: flags that every command takes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Flags that every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Run in this folder instead of the current one
    #[arg(short = 'C', global = true, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Work on the skills in this folder [env: SKILLHUB_LIBRARY]
    #[arg(long, global = true, value_name = "DIR", conflicts_with_all = ["project", "global"])]
    pub library: Option<PathBuf>,
    /// Work on the project's skills: .agents/skills in the git root
    #[arg(long, global = true, conflicts_with = "global")]
    pub project: bool,
    /// Work on the user's skills: ~/.agents/skills
    #[arg(long, short, global = true)]
    pub global: bool,
    /// Use this registry: a name from config.toml, a server, a git URL or a folder
    #[arg(long, global = true, value_name = "NAME_URL_OR_DIR", env = "SKILLHUB_REGISTRY")]
    pub registry: Option<String>,
    /// Trust the CA certificates in this PEM file instead of the system's [env: SSL_CERT_FILE]
    #[arg(long, global = true, value_name = "FILE", hide = true)]
    pub ca_file: Option<PathBuf>,
    /// Allow sending tokens over plain HTTP to other machines
    #[arg(long, global = true, hide = true)]
    pub insecure: bool,
    /// Accept a registry whose history was rewritten or reset to an older state (people only)
    #[arg(long, global = true)]
    pub accept_rewrite: bool,
    /// Print one JSON document
    #[arg(long, global = true)]
    pub json: bool,
    /// Answer yes to questions, except those about scanner findings
    #[arg(long, short, global = true)]
    pub yes: bool,
    /// Print results and errors only: no notes, next steps or progress
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Colour the output
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Record this actor in the history: agent:ID, person:ID or optimizer:ID; grants no rights
    #[arg(long, global = true, value_name = "KIND:ID")]
    pub actor: Option<String>,
}

/// When output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal without `NO_COLOR`.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
