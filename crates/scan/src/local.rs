//! [`Scanner`]: our rules, with what a user or a company adds to them.
//!
//! What is added holds for the scans that the value does, and for the threads of one such scan alone.

mod rules;

use std::{
    cell::Cell,
    collections::BTreeMap,
    fmt,
    sync::{Mutex, PoisonError},
};

use skill::{Bundle, Digest, File, Limits, SkillPath};

use crate::{
    Acceptance, Answer, Evidence, Finding, JudgeSettings, Question, Report, Reports, Rule, Settings, SettingsError,
    Severity, capabilities::host_of, engine::Engine, judge::Judge, scanner::scan_with,
};

/// Hexadecimal digits that tell local rules and settings from others.
const DIGITS: usize = 12;

/// Scans by our rules, and by what a user or a company adds to them. The default adds nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scanner {
    local: Option<&'static Local>,
    judge: Option<&'static Judge>,
    /// Whether what is cleared is only looked at.
    is_reading: bool,
}

/// What is added.
pub(crate) struct Local {
    ruleset: String,
    pub engine: Engine,
    rules: &'static [Rule],
    /// What rules prove, where it is not what they say; nothing for those that are off.
    evidence: BTreeMap<String, Option<Evidence>>,
    settings: Settings,
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("ruleset", &self.ruleset).finish_non_exhaustive()
    }
}

impl Scanner {
    /// With settings, and the texts of the files in their folders of rules, each with its name for messages. The same
    /// ones again cost nothing.
    ///
    /// # Errors
    /// [`SettingsError`] with the file and the rule, or the key.
    pub fn new(settings: &Settings, files: &[(String, String)]) -> Result<Self, SettingsError> {
        static KNOWN: Mutex<BTreeMap<String, &'static Local>> = Mutex::new(BTreeMap::new());
        let settings = Settings { rules: Vec::new(), judge: None, ..settings.clone() };
        if settings == Settings::default() && files.is_empty() {
            return Ok(Self::default());
        }
        let texts: Vec<&String> = files.iter().map(|(_, text)| text).collect();
        let digest = Digest::of_bytes(format!("{settings:?}{texts:?}").as_bytes()).hex();
        let ruleset = format!("{}+{}", crate::ruleset(), digest.get(..DIGITS).unwrap_or(&digest));
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(local) = known.get(&ruleset) {
            return Ok(Self { local: Some(local), ..Self::default() });
        }
        let local: &'static Local = Box::leak(Box::new(Local::new(ruleset.clone(), &settings, files)?));
        known.insert(ruleset, local);
        Ok(Self { local: Some(local), ..Self::default() })
    }

    /// The same, with a judge: all that is cleared to be written is shown to `ask` first.
    #[must_use]
    pub fn judged_by(
        self,
        settings: JudgeSettings,
        ask: impl Fn(&Question<'_>) -> Result<Answer, String> + Send + Sync + 'static,
    ) -> Self {
        Self { judge: Some(Box::leak(Box::new(Judge::new(settings, Box::new(ask))))), ..self }
    }

    /// The same for those who only look at skills: no judge is asked, and where there is one, what is cleared cannot be
    /// written.
    #[must_use]
    pub fn reading(self) -> Self {
        Self { is_reading: true, ..self }
    }

    /// Asks the judge. Says whether there is one that was not asked.
    pub(crate) fn opine(self, report: &mut Report, bundle: &Bundle) -> bool {
        match self.judge {
            Some(judge) if !self.is_reading => judge.opine(report, bundle),
            judge => return judge.is_some(),
        }
        false
    }

    /// Scans a skill. All findings are new; [`crate::clear`] tells new from old.
    ///
    /// Never panics: a fault of the scanner is itself a critical finding.
    #[must_use]
    pub fn scan(self, bundle: &Bundle) -> Report {
        let mut report = self.during(|| scan_with(self, bundle));
        report.ruleset = self.ruleset().to_owned();
        self.accept(&mut report, bundle);
        report
    }

    /// The version of the rules, and of what is added to them.
    #[must_use]
    pub fn ruleset(self) -> &'static str {
        self.local.map_or(crate::ruleset(), |local| &local.ruleset)
    }

    /// All rules, those that were added last.
    pub fn rules(self) -> impl Iterator<Item = &'static Rule> {
        crate::rules().iter().chain(self.local.map_or(&[][..], |local| local.rules))
    }

    /// The rule with an id.
    #[must_use]
    pub fn rule(self, id: &str) -> Option<&'static Rule> {
        crate::rule(id).or_else(|| self.local?.rules.iter().find(|rule| rule.id == id))
    }

    /// The severity of a rule's findings in its own place; `None` where it is off.
    #[must_use]
    pub fn severity(self, rule: &Rule) -> Option<Severity> {
        self.during(|| weighed(rule, rule.evidence)).map(Evidence::severity)
    }

    /// Marks the findings that the settings accept, and no others but those that a person accepted.
    pub fn accept(self, report: &mut Report, bundle: &Bundle) {
        for finding in &mut report.findings {
            let by_person = finding.waiver.take().filter(|accepted| !accepted.is_of_configuration());
            finding.waiver = by_person.or_else(|| self.local?.acceptance(finding, bundle));
            finding.waived = finding.waiver.is_some();
        }
    }

    /// The first added rule that is silent on a harmful example of its own, or fires on a harmless one, and which.
    #[must_use]
    pub fn wrong_example(self) -> Option<(&'static Rule, &'static str)> {
        let rules = self.local.map_or(&[][..], |local| local.rules);
        rules.iter().find_map(|rule| {
            let fires = |(path, text): &(&str, &str)| self.fires(rule, path, text);
            let wrong = rule.harmful.iter().find(|example| !fires(example));
            wrong.or_else(|| rule.harmless.iter().find(|example| fires(example))).map(|(path, _)| (rule, *path))
        })
    }

    fn fires(self, rule: &Rule, path: &str, text: &str) -> bool {
        let file = File { bytes: text.as_bytes().into(), executable: false };
        let bundle = SkillPath::parse(path).ok().map(|path| Bundle::from_files([(path, file)], &Limits::default()));
        let Some(Ok(bundle)) = bundle else { return false };
        self.scan(&bundle).findings.iter().any(|finding| finding.rule == rule.id)
    }

    /// Does some work of a scan under these rules.
    pub(crate) fn during<T>(self, work: impl FnOnce() -> T) -> T {
        let _back = Back(CURRENT.replace(self.local));
        work()
    }
}

impl Reports for Scanner {
    fn scanner(&self) -> Scanner {
        *self
    }

    fn report(&self, bundle: &Bundle) -> Report {
        self.scan(bundle)
    }
}

impl Local {
    fn new(ruleset: String, settings: &Settings, files: &[(String, String)]) -> Result<Self, SettingsError> {
        let settings = settings.checked()?;
        let added = rules::rules(files)?;
        let mut evidence: BTreeMap<_, _> = added.evidence.into_iter().map(|(id, new)| (id, Some(new))).collect();
        let is_rule = |id: &String| crate::rule(id).is_some() || added.rules.contains_key(id);
        let named = settings.severities.keys().map(|id| ("severities", id));
        for (key, id) in named.chain(settings.accepted.iter().map(|accepted| ("accepted", &accepted.rule))) {
            let message = match is_rule(id) {
                true if crate::can_be_waived(id) => continue,
                true => format!("{id}: it can be neither accepted nor switched off"),
                false => format!("there is no rule {id:?}"),
            };
            return Err(SettingsError::Value { key: key.to_owned(), message });
        }
        evidence.extend(settings.severities.iter().map(|(id, weight)| (id.clone(), weight.0.map(Evidence::of))));
        let rules: &'static [Rule] = Box::leak(added.rules.into_values().collect());
        Ok(Self { ruleset, engine: Engine::new(rules), rules, evidence, settings })
    }

    fn acceptance(&self, finding: &Finding, bundle: &Bundle) -> Option<Acceptance> {
        let content = || {
            let file = bundle.get(&SkillPath::parse(&finding.path).ok()?)?;
            Some(Digest::of_bytes(&file.bytes))
        };
        let accepted = self.settings.accepted.iter().find(|accepted| {
            accepted.rule == finding.rule
                && accepted.path.as_ref().is_none_or(|path| *path == finding.path)
                && accepted.content.as_ref().is_none_or(|digest| digest.parse().ok() == content())
        })?;
        Some(Acceptance::of_configuration(&accepted.reason, accepted.until.as_deref()))
    }
}

thread_local! {
    /// What is added to the rules of the scan that this thread is at.
    static CURRENT: Cell<Option<&'static Local>> = const { Cell::new(None) };
}

/// Puts back what was added before.
struct Back(Option<&'static Local>);

impl Drop for Back {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// What is added to the rules of the scan at hand.
pub(crate) fn current() -> Option<&'static Local> {
    CURRENT.get()
}

/// What a signal of a rule proves, by the settings of the scan at hand; nothing where the rule is off.
pub(crate) fn weighed(rule: &Rule, evidence: Evidence) -> Option<Evidence> {
    match current().and_then(|local| local.evidence.get(rule.id)) {
        None => Some(evidence),
        Some(new) if evidence >= rule.evidence => *new,
        Some(new) => new.map(|new| new.elsewhere(rule.role)),
    }
}

/// Whether a host is the company's own, so that skills may send there.
pub(crate) fn is_own_host(host: &str) -> bool {
    current().is_some_and(|local| local.settings.own_hosts.iter().any(|own| is_within(host, own)))
}

/// Whether packages of the company's own come from the host with which a text begins.
pub(crate) fn is_own_registry(text: &str) -> bool {
    let is_own = |local: &Local| {
        host_at(text).is_some_and(|host| local.settings.own_registries.iter().any(|own| is_within(&host, own)))
    };
    current().is_some_and(is_own)
}

/// Whether a text begins with a host, and a path, of the company's own installers.
pub(crate) fn is_own_installer(text: &str) -> bool {
    let is_at = |own: &String| match own.contains('/') {
        true => text.strip_prefix(own.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/')),
        false => host_at(text).is_some_and(|host| is_within(&host, own)),
    };
    current().is_some_and(|local| local.settings.own_installers.iter().any(is_at))
}

/// Whether a package is the company's own.
pub(crate) fn is_own_package(name: &str) -> bool {
    let is_it = |own: &String| own.strip_suffix('*').map_or(name == own, |start| name.starts_with(start));
    current().is_some_and(|local| local.settings.own_packages.iter().any(is_it))
}

/// The host with which a text begins.
fn host_at(text: &str) -> Option<String> {
    let ends = |c: char| c.is_whitespace() || "/?#\"'`)]}<>,;|\\".contains(c);
    host_of(text.split(ends).next()?.rsplit('@').next()?)
}

/// Whether a host is one, or stands below it. A name without a dot stands for itself alone.
fn is_within(host: &str, own: &str) -> bool {
    let before = host.strip_suffix(own);
    before.is_some_and(|before| before.is_empty() || own.contains('.') && before.ends_with('.'))
}
