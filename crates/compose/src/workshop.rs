//! Composed tools, kept in sync with the skills that an agent sees ([`ToolManager`]).

use std::collections::{BTreeMap, BTreeSet};

use agent::{AgentError, Catalogue, ListedSkill};
use serde::{Serialize, Serializer, ser::SerializeStruct as _};
use serde_json::{Value, json};
use skill::{
    Digest, Limits, SkillName,
    failure::{Fails, Failure, FailureKind, Hint, NextStep},
};
use thiserror::Error;

use crate::{
    access::Access,
    compile::{Compiler, Outcome, Source},
    host::ToolSpec,
    problem::Problem,
    store::{GONE, Store, StoreError, ToolEntry},
    tool::{ComposedTool, ToolDocument},
};

/// Names of skillhub's own MCP tools, which a skill's tool must not have.
pub const OWN_TOOLS: [&str; 9] = [
    "skill_manage", "skill_history", "skill_diff", "skill_rollback", "skill_status", "skill_review_list",
    "skill_review_show", "skill_codegen", "skill_read",
];

/// Reason for an absent tool whose skill is disabled.
const OFF: &str = "the skill is switched off";

/// Compiles, updates and removes composed tools.
pub struct ToolManager<'a> {
    /// Catalogue of all skills, including those that agents may not see.
    pub catalogue: &'a Catalogue,
    /// Tools that steps may call.
    pub tools: &'a [ToolSpec],
}

/// Reason why nothing was compiled.
#[derive(Debug, Error)]
pub enum WorkshopError {
    /// No library exists in which to store tools.
    #[error("no library was found")]
    NoLibrary,
    /// The requested skill was never compiled.
    #[error("{0} is not a compiled skill")]
    NotCompiled(String),
    /// The skill is currently not a tool, for this reason.
    #[error("{0} is not available as a tool: {1}")]
    NoTool(String, String),
    /// The agent may not use the tool.
    #[error("{agent:?} is not allowed to use {tool}{}", if tool == barred { String::new() } else { format!(", which calls {barred}") })]
    Denied {
        /// Id of the agent.
        agent: String,
        /// Requested tool.
        tool: String,
        /// Denied tool: the requested one or one that it calls.
        barred: String,
    },
    /// A skill does not exist.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The stored tools cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Fails for WorkshopError {
    fn failure(&self) -> Failure {
        match self {
            Self::NoLibrary => Failure::new(FailureKind::NotFound, "not_found"),
            Self::NotCompiled(_) => Failure::new(FailureKind::NotFound, "not_found")
                .hint(Hint::from("list compiled skills with ").step(NextStep::ListTools)),
            Self::NoTool(skill, why) => {
                let hint = match why.as_str() {
                    GONE => Hint::from("install the skill again, or remove its tool with ")
                        .step(NextStep::RemoveTool(skill.to_string())),
                    OFF => Hint::from("enable it with ")
                        .step(NextStep::Enable(skill.to_string()))
                        .text("; if a person disabled it, only a person can"),
                    _ => Hint::from("fix the skill; see all of its errors with ")
                        .step(NextStep::CompileTool(skill.to_string())),
                };
                Failure::new(FailureKind::Invalid, "invalid_skill").hint(hint)
            }
            Self::Denied { .. } => Failure::new(FailureKind::Refused, "policy_denied")
                .hint("ask a person to allow it with [[permissions]] or [agents.ID.capabilities] in config.toml"),
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

/// Result of compiling the requested skills.
#[derive(Debug)]
pub struct Compiled {
    /// Outcomes by name of the skill.
    pub skills: BTreeMap<String, Outcome>,
}

impl Compiled {
    /// Returns whether any of the skills does not compile.
    pub fn has_faults(&self) -> bool {
        self.skills.values().any(|outcome| matches!(outcome, Outcome::Broken(_)))
    }

    /// Returns the result as JSON:
    /// `{"ok","skills":[{"name","status":"compiled|unchanged|plain|broken","tool","problems"}]}`.
    pub fn document(&self) -> Value {
        json!(self)
    }
}

/// JSON of one skill.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    status: &'static str,
    tool: Option<ToolDocument<'a>>,
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
        Self { name, status, tool: outcome.tool().map(ComposedTool::json_fields), problems }
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

impl<'a> ToolManager<'a> {
    /// Returns the store of the tools, which belongs to the library that is written to.
    ///
    /// # Errors
    /// No library exists.
    pub fn store(&self) -> Result<Store<'a>, WorkshopError> {
        self.catalogue.libraries().first().map(Store::of).ok_or(WorkshopError::NoLibrary)
    }

    /// Compiles the named skills. From then on their tools follow the skills.
    ///
    /// # Errors
    /// A skill does not exist, or the stored tools cannot be used. A skill that does not compile is not an error but
    /// part of the result.
    pub fn compile(&self, names: &[SkillName]) -> Result<Compiled, WorkshopError> {
        for name in names {
            self.catalogue.find(name)?;
        }
        let wanted: BTreeSet<&str> = names.iter().map(SkillName::as_str).collect();
        let store = self.store()?;
        let known = store.read()?;
        let mut outcomes = self.outcomes(&known, &wanted, &|_| false);
        for name in names.iter().filter(|name| !outcomes.contains_key(name.as_str())).collect::<Vec<_>>() {
            outcomes.insert(name.to_string(), Outcome::Broken(vec![self.unusable(name)]));
        }
        let is_news = |(name, outcome): &(&String, &Outcome)| match outcome {
            Outcome::Unchanged(_) => false,
            // A skill without a declaration is only stored if it had one before.
            Outcome::Plain => known.contains_key(*name),
            Outcome::Compiled(_) | Outcome::Broken(_) => true,
        };
        let news: Vec<(String, ToolEntry)> = outcomes
            .iter()
            .filter(is_news)
            .map(|(name, outcome)| (name.clone(), self.entry(name, outcome.clone())))
            .collect();
        if !news.is_empty() {
            store.change(|skills| skills.extend(news))?;
        }
        Ok(Compiled { skills: outcomes })
    }

    /// Updates the tools: recompiles changed skills, and withdraws tools of skills that are gone.
    ///
    /// # Errors
    /// The stored tools cannot be used.
    pub fn follow(&self) -> Result<BTreeMap<String, ToolEntry>, WorkshopError> {
        let store = self.store()?;
        let known = store.read()?;
        if known.is_empty() {
            return Ok(known);
        }
        let wanted = known.keys().map(String::as_str).collect();
        // The tools that it calls are stored with it.
        let outcomes = self.outcomes(&known, &wanted, &|_| false);
        let mut now: BTreeMap<String, ToolEntry> =
            outcomes.into_iter().map(|(name, outcome)| (name.clone(), self.entry(&name, outcome))).collect();
        for name in known.keys().filter(|name| !now.contains_key(*name)).cloned().collect::<Vec<_>>() {
            now.insert(name.clone(), ToolEntry::Absent { why: self.absence(&name) });
        }
        if now == known {
            return Ok(known);
        }
        let stored = store.change(|skills| {
            // Another process may have removed one in the meantime.
            let (before, now) = (std::mem::take(skills), now);
            *skills =
                now.into_iter().filter(|(name, _)| before.contains_key(name) || !known.contains_key(name)).collect();
            before.into_iter().for_each(|(name, entry)| {
                skills.entry(name).or_insert(entry);
            });
        })?;
        Ok(stored)
    }

    /// Removes the tools of these skills. The skills themselves stay.
    ///
    /// # Errors
    /// One of them was never compiled. Nothing is removed then.
    pub fn remove(&self, names: &[SkillName]) -> Result<(), WorkshopError> {
        let store = self.store()?;
        let known = store.read()?;
        if let Some(missing) = names.iter().find(|name| !known.contains_key(name.as_str())) {
            return Err(WorkshopError::NotCompiled(missing.to_string()));
        }
        store.change(|skills| skills.retain(|name, _| !names.iter().any(|removed| removed.as_str() == name)))?;
        Ok(())
    }

    /// Returns the entries as an agent may know them: without those of hidden skills, whose tools are unknown to the
    /// steps of others.
    pub fn seen_by(&self, access: &Access<'_>, entries: &BTreeMap<String, ToolEntry>) -> BTreeMap<String, ToolEntry> {
        let is_affected = |entry: &ToolEntry| match entry {
            ToolEntry::Compiled { tool } => access.hides_tool(tool, entries),
            // The problems may name hidden skills.
            ToolEntry::Broken { .. } => true,
            ToolEntry::Absent { .. } => false,
        };
        let affected =
            entries.iter().filter(|(_, entry)| is_affected(entry)).map(|(skill, _)| skill.as_str()).collect();
        let mut outcomes = self.outcomes(&BTreeMap::new(), &affected, &|skill| access.hides(skill));
        outcomes.retain(|skill, outcome| affected.contains(skill.as_str()) && matches!(outcome, Outcome::Broken(_)));
        let seen = entries.iter().filter(|(skill, _)| !access.hides(skill));
        seen.map(|(skill, entry)| {
            let broken = outcomes.remove(skill).map(|outcome| self.entry(skill, outcome));
            (skill.clone(), broken.unwrap_or_else(|| entry.clone()))
        })
        .collect()
    }

    /// Compiles the wanted skills that agents may see, and the skills whose tools they call. Those that satisfy `hides`
    /// do not exist.
    fn outcomes(
        &self,
        known: &BTreeMap<String, ToolEntry>,
        wanted: &BTreeSet<&str>,
        hides: &dyn Fn(&str) -> bool,
    ) -> BTreeMap<String, Outcome> {
        let visible: Vec<&ListedSkill> =
            self.catalogue.visible().filter(|listed| !hides(listed.name.as_str())).collect();
        let sources: Vec<Source> = visible.iter().map(|listed| self.source(listed)).collect();
        let tools: Vec<&ComposedTool> = known.values().filter_map(ToolEntry::tool).collect();
        let limits = Limits::default();
        let read = |source: &Source| {
            let name = SkillName::parse(&source.skill).map_err(|error| error.to_string())?;
            self.catalogue.find(&name).and_then(|listed| self.text(listed)).map_err(|error| error.to_string())
        };
        Compiler::new(self.tools, &OWN_TOOLS, &limits).compile(&sources, wanted, &tools, &read)
    }

    fn source(&self, listed: &ListedSkill) -> Source {
        let digest = match listed.digest() {
            Some(digest) => digest.to_owned(),
            None => self.catalogue.files(listed).map(|files| Digest::of_bundle(&files).to_string()).unwrap_or_default(),
        };
        Source { skill: listed.name.to_string(), description: listed.description.clone(), digest }
    }

    fn text(&self, listed: &ListedSkill) -> Result<String, AgentError> {
        let files = self.catalogue.files(listed)?;
        Ok(files.skill_md().unwrap_or_default().to_owned())
    }

    fn entry(&self, name: &str, outcome: Outcome) -> ToolEntry {
        match outcome {
            Outcome::Compiled(tool) | Outcome::Unchanged(tool) => ToolEntry::Compiled { tool },
            Outcome::Plain => ToolEntry::Absent { why: "it declares no tool".to_owned() },
            Outcome::Broken(problems) => {
                let listed = SkillName::parse(name).ok().and_then(|name| self.catalogue.find(&name).ok());
                let digest = listed.map(|listed| self.source(listed).digest).unwrap_or_default();
                ToolEntry::Broken { digest, problems }
            }
        }
    }

    /// Returns the problem of an existing skill that agents may not use.
    fn unusable(&self, name: &SkillName) -> Problem {
        let listed = self.catalogue.find(name).ok();
        let is_off = listed.is_some_and(|listed| !listed.enabled);
        let fault = listed.and_then(|listed| listed.fault.clone());
        let hint = match is_off {
            true => format!("enable it with `skillhub enable {name}`; if a person disabled it, only a person can"),
            false => format!("see why agents cannot use {name} with `skillhub debug`"),
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
            Some(listed) => listed.fault.clone().unwrap_or_else(|| "the skill is not usable".to_owned()),
        }
    }
}
