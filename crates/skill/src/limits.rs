//! All limits of skillhub in one struct, each with its unit in its name.

/// Limits on skills, archives and requests.
///
/// Every command uses [`Limits::default`]. 512 files and 16 MiB per skill are the limits of MCP hosts. 64, 1,024 and
/// 500 characters and the advice on body size come from the Agent Skills standard. The remaining values are choices of
/// this project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Number of files in one skill.
    pub files_per_skill: usize,
    /// Total size of the files of one skill, in bytes.
    pub skill_bytes: u64,
    /// Size of one text file, in bytes.
    pub text_file_bytes: u64,
    /// Length of `SKILL.md` in characters.
    pub skill_md_chars: usize,
    /// Bytes between the two `---` lines, which bounds the work of the YAML parser.
    pub frontmatter_bytes: usize,
    /// Length of a skill's name in characters.
    pub name_chars: usize,
    /// Length of a title in characters. The rest is cut off.
    pub title_chars: usize,
    /// Length of a description in characters.
    pub description_chars: usize,
    /// Length of the `compatibility` field in characters.
    pub compatibility_chars: usize,
    /// Advised number of lines in the body of `SKILL.md`.
    pub body_lines_advised: usize,
    /// Advised number of tokens in the body of `SKILL.md`, at four bytes per token.
    pub body_tokens_advised: usize,
    /// Number of segments of a path inside a skill.
    pub path_segments: usize,
    /// Length of one path segment in bytes.
    pub path_segment_bytes: usize,
    /// Length of a path inside a skill in bytes.
    pub path_bytes: usize,
    /// Size of a packed `.skill` file in bytes.
    pub archive_bytes: u64,
    /// Largest ratio of an archive member's size to its packed size.
    pub archive_ratio: u64,
    /// Size of one `skill_manage` request in bytes.
    pub request_bytes: u64,
    /// Number of edits in one request.
    pub operations_per_request: usize,
    /// Length of a reason, run or thread in characters.
    pub note_chars: usize,
    /// Number of proposals of one library that can be pending at the same time.
    pub open_proposals: usize,
    /// Number of pending proposals for one skill.
    pub open_proposals_per_skill: usize,
    /// Total size of the files of all pending proposals, in bytes. They are read whenever a change is held. The largest
    /// possible skill takes a third of this.
    pub open_proposals_bytes: u64,
    /// Number of decided proposals that garbage collection keeps. Revisions and the log record the decisions on all of
    /// them.
    pub decided_proposals: usize,
    /// Total size of the files of decided proposals that are kept, in bytes.
    pub decided_proposals_bytes: u64,
    /// Days after which an undecided proposal can no longer be accepted.
    pub proposal_days: u32,
    /// Default lifetime of a waiver in days.
    pub waiver_days: u32,
    /// Longest lifetime of a waiver in days.
    pub waiver_days_at_most: u32,
    /// Number of unexpired waivers of one skill.
    pub waivers_per_skill: usize,
    /// Size of `config.toml`, and of other files written by a person, in bytes.
    pub settings_bytes: u64,
    /// Size of a lock file in bytes, enough for some 10,000 skills.
    pub lock_file_bytes: u64,
    /// Size in bytes of `state.toml` and other small files in the home. A state with three links per skill takes 290
    /// bytes per skill, so this suffices for three times the skills that a lock file can hold.
    pub state_bytes: u64,
    /// Number of skills of one library that have a state entry.
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
            title_chars: 100,
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
