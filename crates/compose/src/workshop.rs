//! [`Workshop`]: the composed tools of the skills that an agent sees, kept in step with these.

use std::collections::{BTreeMap, BTreeSet};

use agent::{AgentError, Catalogue, Listed};
use serde::{Serialize, Serializer, ser::SerializeStruct as _};
use serde_json::{Value, json};
use skill::{
    Digest, Limits, SkillName,
    failure::{Fails, Failure, FailureKind},
};
use thiserror::Error;

use crate::{
    compile::{Compiler, Outcome, Source},
    host::ToolSpec,
    problem::Problem,
    store::{Entry, GONE, Store, StoreError},
    tool::{ComposedTool, Told},
};

/// Names of skillhub's own tools, which no skill's may have.
pub const OWN_TOOLS: [&str; 9] = [
    "skill_manage",
    "skill_history",
    "skill_diff",
    "skill_rollback",
    "skill_status",
    "skill_review_list",
    "skill_review_show",
    "skill_codegen",
    "skill_read",
];

/// Why a tool is none: nobody uses its skill.
const OFF: &str = "the skill is switched off";

/// Compiles, follows and removes.
pub struct Workshop<'a> {
    /// The skills that there are.
    pub catalogue: &'a Catalogue,
    /// The tools that steps may call.
    pub tools: &'a [ToolSpec],
}

/// Why nothing was compiled.
#[derive(Debug, Error)]
pub enum WorkshopError {
    /// There is no library to keep tools for.
    #[error("there is no library here")]
    NoLibrary,
    /// Somebody asked for the tool of a skill that was never compiled.
    #[error("{0} is not among the compiled skills")]
    NotCompiled(String),
    /// The skill is no tool now.
    #[error("{0} is no tool now: {1}")]
    NoTool(String, String),
    /// An agent may not use it.
    #[error("{agent:?} may not use {tool}{}", if tool == barred { String::new() } else { format!(", which calls {barred}") })]
    Denied {
        /// The agent.
        agent: String,
        /// What it asked for.
        tool: String,
        /// That or the one below it that it may not use.
        barred: String,
    },
    /// A skill is not there.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// What is stored cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Fails for WorkshopError {
    fn failure(&self) -> Failure {
        match self {
            Self::NoLibrary => Failure::new(FailureKind::NotFound, "not_found"),
            Self::NotCompiled(_) => {
                Failure::new(FailureKind::NotFound, "not_found").hint("`skillhub tools list` shows the compiled ones")
            }
            Self::NoTool(skill, why) => {
                let hint = match why.as_str() {
                    GONE => format!("install the skill again, or forget its tool with `skillhub tools remove {skill}`"),
                    OFF => format!("`skillhub enable {skill}` switches it on, by a person where a person disabled it"),
                    _ => format!("mend the skill; `skillhub tools compile {skill}` tells everything that is wrong"),
                };
                Failure::new(FailureKind::Invalid, "invalid_skill").hint(hint)
            }
            Self::Denied { .. } => Failure::new(FailureKind::Refused, "policy_denied")
                .hint("a person allows it with [[permissions]] or [agents.ID.capabilities] in config.toml"),
            Self::Agent(error) => error.failure(),
            Self::Store(error) => error.failure(),
        }
    }

    fn details(&self) -> Value {
        match self {
            Self::Agent(error) => error.details(),
            _ => json!({}),
        }
    }
}

/// What compiling made of the skills that were asked for.
#[derive(Debug)]
pub struct Compiled {
    /// By skill: what became of it.
    pub skills: BTreeMap<String, Outcome>,
}

impl Compiled {
    /// Whether anything that was asked for cannot be a tool.
    #[must_use]
    pub fn has_faults(&self) -> bool {
        self.skills.values().any(|outcome| matches!(outcome, Outcome::Broken(_)))
    }

    /// As a document: `{"ok","skills":[{"name","status":"compiled|unchanged|plain|broken","tool","problems"}]}`.
    #[must_use]
    pub fn document(&self) -> Value {
        json!(self)
    }
}

/// What a document says of one skill.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    status: &'static str,
    tool: Option<Told<'a>>,
    problems: &'a [Problem],
}

impl<'a> Row<'a> {
    fn of(name: &'a str, outcome: &'a Outcome) -> Self {
        let (status, problems): (_, &[Problem]) = match outcome {
            Outcome::Compiled(_) => ("compiled", &[]),
            Outcome::Unchanged(_) => ("unchanged", &[]),
            Outcome::Plain => ("plain", &[]),
            Outcome::Broken(problems) => ("broken", problems),
        };
        Self { name, status, tool: outcome.tool().map(ComposedTool::told), problems }
    }
}

impl Serialize for Compiled {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows: Vec<Row<'_>> = self.skills.iter().map(|(name, outcome)| Row::of(name, outcome)).collect();
        let mut document = serializer.serialize_struct("Compiled", 2)?;
        document.serialize_field("ok", &!self.has_faults())?;
        document.serialize_field("skills", &rows)?;
        document.end()
    }
}

impl<'a> Workshop<'a> {
    /// Where the tools are kept: with the library that is written to.
    ///
    /// # Errors
    /// There is no library.
    pub fn store(&self) -> Result<Store<'a>, WorkshopError> {
        self.catalogue.libraries().first().map(Store::of).ok_or(WorkshopError::NoLibrary)
    }

    /// Compiles the skills of these names, or all that agents may see where none is named. From then on their tools follow the skills.
    ///
    /// # Errors
    /// One of them is not there, or what is stored cannot be used. That a skill cannot be a tool is in what is given back.
    pub fn compile(&self, names: &[SkillName]) -> Result<Compiled, WorkshopError> {
        for name in names {
            self.catalogue.find(name)?;
        }
        let wanted: BTreeSet<&str> = match names.is_empty() {
            true => self.catalogue.visible().map(|listed| listed.name.as_str()).collect(),
            false => names.iter().map(SkillName::as_str).collect(),
        };
        let store = self.store()?;
        let known = store.read()?;
        let mut outcomes = self.outcomes(&known, &wanted);
        for name in names.iter().filter(|name| !outcomes.contains_key(name.as_str())).collect::<Vec<_>>() {
            outcomes.insert(name.to_string(), Outcome::Broken(vec![self.unusable(name)]));
        }
        let is_news = |(name, outcome): &(&String, &Outcome)| match outcome {
            Outcome::Unchanged(_) => false,
            // That a skill declares nothing is worth a note only where it did before.
            Outcome::Plain => known.contains_key(*name),
            Outcome::Compiled(_) | Outcome::Broken(_) => true,
        };
        let news: Vec<(String, Entry)> = outcomes
            .iter()
            .filter(is_news)
            .map(|(name, outcome)| (name.clone(), self.entry(name, outcome.clone())))
            .collect();
        if !news.is_empty() {
            store.change(|skills| skills.extend(news))?;
        }
        Ok(Compiled { skills: outcomes })
    }

    /// The compiled skills as they are now: what changed since is compiled again, what is gone is no tool any more.
    ///
    /// # Errors
    /// What is stored cannot be used.
    pub fn follow(&self) -> Result<BTreeMap<String, Entry>, WorkshopError> {
        let store = self.store()?;
        let known = store.read()?;
        if known.is_empty() {
            return Ok(known);
        }
        let wanted = known.keys().map(String::as_str).collect();
        // What a tool calls is kept with it.
        let outcomes = self.outcomes(&known, &wanted);
        let mut now: BTreeMap<String, Entry> =
            outcomes.into_iter().map(|(name, outcome)| (name.clone(), self.entry(&name, outcome))).collect();
        for name in known.keys().filter(|name| !now.contains_key(*name)).cloned().collect::<Vec<_>>() {
            now.insert(name.clone(), Entry::Absent { why: self.absence(&name) });
        }
        if now == known {
            return Ok(known);
        }
        let stored = store.change(|skills| {
            // Somebody may have taken one away meanwhile.
            let (before, now) = (std::mem::take(skills), now);
            *skills =
                now.into_iter().filter(|(name, _)| before.contains_key(name) || !known.contains_key(name)).collect();
            before.into_iter().for_each(|(name, entry)| {
                skills.entry(name).or_insert(entry);
            });
        })?;
        Ok(stored)
    }

    /// Takes the tools of these skills away; the skills stay.
    ///
    /// # Errors
    /// One of them was never compiled; then none is taken away.
    pub fn remove(&self, names: &[SkillName]) -> Result<(), WorkshopError> {
        let store = self.store()?;
        let known = store.read()?;
        if let Some(missing) = names.iter().find(|name| !known.contains_key(name.as_str())) {
            return Err(WorkshopError::NotCompiled(missing.to_string()));
        }
        store.change(|skills| skills.retain(|name, _| !names.iter().any(|removed| removed.as_str() == name)))?;
        Ok(())
    }

    /// Compiles the skills that are wanted, as far as agents may see them, and those whose tools they call.
    fn outcomes(&self, known: &BTreeMap<String, Entry>, wanted: &BTreeSet<&str>) -> BTreeMap<String, Outcome> {
        let visible: Vec<&Listed> = self.catalogue.visible().collect();
        let sources: Vec<Source> = visible.iter().map(|listed| self.source(listed)).collect();
        let tools: Vec<&ComposedTool> = known.values().filter_map(Entry::tool).collect();
        let limits = Limits::default();
        let read = |source: &Source| {
            let name = SkillName::parse(&source.skill).map_err(|error| error.to_string())?;
            self.catalogue.find(&name).and_then(|listed| self.text(listed)).map_err(|error| error.to_string())
        };
        Compiler::new(self.tools, &OWN_TOOLS, &limits).compile(&sources, wanted, &tools, &read)
    }

    fn source(&self, listed: &Listed) -> Source {
        let digest = match listed.digest() {
            Some(digest) => digest.to_owned(),
            None => self.catalogue.files(listed).map(|files| Digest::of_bundle(&files).to_string()).unwrap_or_default(),
        };
        Source { skill: listed.name.to_string(), description: listed.description.clone(), digest }
    }

    fn text(&self, listed: &Listed) -> Result<String, AgentError> {
        let files = self.catalogue.files(listed)?;
        Ok(files.skill_md().unwrap_or_default().to_owned())
    }

    fn entry(&self, name: &str, outcome: Outcome) -> Entry {
        match outcome {
            Outcome::Compiled(tool) | Outcome::Unchanged(tool) => Entry::Compiled { tool },
            Outcome::Plain => Entry::Absent { why: "it declares no tool".to_owned() },
            Outcome::Broken(problems) => {
                let listed = SkillName::parse(name).ok().and_then(|name| self.catalogue.find(&name).ok());
                let digest = listed.map(|listed| self.source(listed).digest).unwrap_or_default();
                Entry::Broken { digest, problems }
            }
        }
    }

    /// Why a skill that is there is none that agents may use.
    fn unusable(&self, name: &SkillName) -> Problem {
        let listed = self.catalogue.find(name).ok();
        let is_off = listed.is_some_and(|listed| !listed.enabled);
        let fault = listed.and_then(|listed| listed.fault.clone());
        let hint = match is_off {
            true => format!("`skillhub enable {name}` switches it on, by a person where a person disabled it"),
            false => format!("`skillhub debug` says why agents do not see {name}"),
        };
        Problem {
            code: if is_off { "skill_disabled" } else { "unreadable" }.into(),
            message: fault.filter(|_| !is_off).unwrap_or_else(|| self.absence(name.as_str())),
            hint: Some(hint),
            path: "SKILL.md".into(),
            line: 1,
            column: 1,
            pointer: String::new(),
        }
    }

    fn absence(&self, name: &str) -> String {
        let listed = SkillName::parse(name).ok().and_then(|name| self.catalogue.find(&name).ok());
        match listed {
            None => GONE.to_owned(),
            Some(listed) if !listed.enabled => OFF.to_owned(),
            Some(listed) => listed.fault.clone().unwrap_or_else(|| "the skill cannot be used".to_owned()),
        }
    }
}
