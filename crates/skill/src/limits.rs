//! Every bound of skillhub in one place, each with its unit in its name.

/// The bounds that skills, archives and requests are held to.
///
/// [`Limits::default`] is what every command uses. 512 files and 16 MiB a skill is what MCP hosts
/// accept of a skill; 64, 1,024, 500 characters and the advice on body size come from the Agent
/// Skills standard; the rest are our own choices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Files in one skill.
    pub files_per_skill: usize,
    /// Bytes of all files of one skill together.
    pub skill_bytes: u64,
    /// Bytes of one text file.
    pub text_file_bytes: u64,
    /// Characters of `SKILL.md`.
    pub skill_md_chars: usize,
    /// Bytes between the two `---` lines; bounds the work of the YAML parser.
    pub frontmatter_bytes: usize,
    /// Characters of a skill's name.
    pub name_chars: usize,
    /// Characters of a description.
    pub description_chars: usize,
    /// Characters of the `compatibility` field.
    pub compatibility_chars: usize,
    /// Advice: lines of the body of `SKILL.md`.
    pub body_lines_advised: usize,
    /// Advice: tokens of the body of `SKILL.md`, counted as four bytes each.
    pub body_tokens_advised: usize,
    /// Segments of a path inside a skill.
    pub path_segments: usize,
    /// Bytes of one segment of a path.
    pub path_segment_bytes: usize,
    /// Bytes of a whole path inside a skill.
    pub path_bytes: usize,
    /// Bytes of a packed `.skill` file.
    pub archive_bytes: u64,
    /// How many times larger than its packed form one archive member may be.
    pub archive_ratio: u64,
    /// Bytes of one `skill_manage` request.
    pub request_bytes: u64,
    /// Edits in one request.
    pub operations_per_request: usize,
    /// Characters of a reason, run or thread.
    pub note_chars: usize,
    /// Proposals of one library that wait for a decision at the same time.
    pub open_proposals: usize,
    /// Those of them that are about one skill.
    pub open_proposals_per_skill: usize,
    /// Bytes of all their files: they are read whenever a change is held. The largest skill there may be
    /// takes a third of it.
    pub open_proposals_bytes: u64,
    /// Decided proposals that a collection of garbage leaves. Revisions and log have what became of all.
    pub decided_proposals: usize,
    /// Bytes of the files of those.
    pub decided_proposals_bytes: u64,
    /// Days after which a proposal that nobody decided about can no longer be accepted.
    pub proposal_days: u32,
    /// Days of a waiver whose end nobody named.
    pub waiver_days: u32,
    /// Days of the longest waiver.
    pub waiver_days_at_most: u32,
    /// Waivers of one skill, those that have ended aside.
    pub waivers_per_skill: usize,
    /// Bytes of `config.toml`, and of other files that a person writes.
    pub settings_bytes: u64,
    /// Bytes of a lock file: some 10,000 skills.
    pub lock_file_bytes: u64,
    /// Bytes of `state.toml` and other small files in the home: a state with three links for each skill has 290 bytes a
    /// skill, so that this is enough for three times the skills that a lock file can name.
    pub state_bytes: u64,
    /// Skills of one library of which anything is set.
    pub state_skills: usize,
    /// Bytes that git may fetch for one source.
    pub fetch_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files_per_skill: 512,
            skill_bytes: 16 << 20,
            text_file_bytes: 1 << 20,
            skill_md_chars: 100_000,
            frontmatter_bytes: 64 << 10,
            name_chars: 64,
            description_chars: 1024,
            compatibility_chars: 500,
            body_lines_advised: 500,
            body_tokens_advised: 5000,
            path_segments: 16,
            path_segment_bytes: 200,
            path_bytes: 512,
            archive_bytes: 20 << 20,
            archive_ratio: 200,
            request_bytes: 16 << 20,
            operations_per_request: 100,
            note_chars: 2000,
            open_proposals: 100,
            open_proposals_per_skill: 20,
            open_proposals_bytes: 64 << 20,
            decided_proposals: 1000,
            decided_proposals_bytes: 64 << 20,
            proposal_days: 30,
            waiver_days: 90,
            waiver_days_at_most: 365,
            waivers_per_skill: 100,
            settings_bytes: 1 << 20,
            lock_file_bytes: 4 << 20,
            state_bytes: 8 << 20,
            state_skills: 30_000,
            fetch_bytes: 512 << 20,
        }
    }
}
