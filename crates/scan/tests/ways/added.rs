//! Texts that commonly accompany honest skills and are unrelated to a skill's behaviour.

use super::{Change, Skill, one};

const LICENCE: &str = "# Licence\n\nYou may use, copy and change this work free of charge. You must keep this notice in all copies. \
THE WORK COMES WITHOUT ANY WARRANTY; the authors are not liable for any damage. You may not remove this notice, nor \
use the names of the authors to endorse what you make of it, without written permission.\n";

const MIT: &str = "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software, to deal \
in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, \
distribute, sublicense, and/or sell copies.\n\nTHE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND. IN NO EVENT SHALL \
THE AUTHORS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY.\n";

const FLAGS: &str = "\n## Flags\n\n| Flag | Meaning |\n|---|---|\n| `--force` | do not ask before overwriting |\n\
| `--quiet` | print nothing |\n| `--no-verify` | skip the checks |\n| `--token TEXT` | the token to sign in with |\n";

const OPTIONS: &str = "\n## Options\n\n- `-y`, `--yes`: answer every question with yes\n- `--no-color`: no colours\n- `--dry-run`: \
say what would be done, and do nothing\n- `--config FILE`: read this file instead of `~/.config/tool.toml`\n- `--insecure`: accept any \
certificate; for tests alone\n";

const PARAGRAPH: &str = "\n## History\n\nThe first version was written for a workshop in a library. Readers asked for \
shorter chapters, so that each now fits on a page, and the pictures were drawn again.\n";

const BAKING: &str = "\n## Example\n\nKnead the dough for ten minutes and let it rest under a cloth. Never open the oven before twenty \
minutes have passed. Send the finished loaf to the table while it is warm, and keep the rest in a tin.\n";

const SHELL: &str = "\n## Installation\n\n```bash\ngit clone https://github.com/pages/press.git\ncd press\npython3 -m venv .venv\n\
. .venv/bin/activate\npip install -r requirements.txt\nnpm ci\nmake test\n```\n";

const KEY: &str = "\n## Set up\n\nThe key is read from the environment:\n\n```bash\nexport OPENAI_API_KEY=\"sk-...\"\ncurl https://api.openai.com/v1/models \
-H \"Authorization: Bearer $OPENAI_API_KEY\"\n```\n\nDo not commit `.env`.\n";

const PYTHON: &str = "\n## In Python\n\n```python\nimport json\nimport subprocess\nfrom pathlib import Path\n\nout = subprocess.run([\"git\", \
\"log\", \"--oneline\"], capture_output=True, text=True, check=True)\nPath(\"build/log.json\").write_text(json.dumps(out.stdout.splitlines()))\n```\n";

const CLEAN: &str =
    "\n## Clean up\n\n```bash\nrm -rf build dist node_modules\ndocker compose down\nkill \"$(cat server.pid)\"\n```\n";

const CHANGES: &str = "# Changelog\n\n## 1.2.0\n\n- Security: tokens are no longer printed to the log.\n- Fixed: the upload of large files stopped \
without a message.\n- Removed: the command `purge`, which deleted files without asking.\n\n## 1.1.0\n\n- Added: passwords are read from the key ring.\n\
- Changed: telemetry is off by default.\n";

const CONDUCT: &str = "# Contributing\n\nBe kind. Harassment is reported to the maintainers. Run the tests before you send a patch, and do not send \
secrets, keys or the data of users. Reports of weaknesses go to security@example.org, not to the public tracker.\n";

const TROUBLE: &str = "\n## Troubleshooting\n\n- *Permission denied*: run `chmod +x scripts/*.sh`.\n- *Port in use*: find the process with `lsof -i \
:8080` and stop it.\n- *401*: the token has expired; sign in again with `gh auth login`.\n- *Proxy*: set `HTTPS_PROXY`.\n";

const WORKFLOW: &str = "name: test\non: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n      \
- run: npm ci && npm test\n        env:\n          NPM_TOKEN: ${{ secrets.NPM_TOKEN }}\n";

const PACKAGE: &str = "{\n  \"name\": \"press\",\n  \"version\": \"1.0.0\",\n  \"license\": \"MIT\",\n  \"scripts\": {\n    \"test\": \"vitest run\",\n    \
\"build\": \"tsc -p .\"\n  },\n  \"dependencies\": {\n    \"yaml\": \"^2.4.0\"\n  }\n}\n";

/// Additions, each with its name, the target file and alternative texts.
const TEXTS: &[(&str, &str, &[&str])] = &[
    ("licence", "LICENSE", &[LICENCE, MIT]),
    ("flags", "SKILL.md", &[FLAGS, OPTIONS]),
    ("paragraph", "SKILL.md", &[PARAGRAPH, BAKING]),
    ("commands", "SKILL.md", &[SHELL, CLEAN]),
    ("key", "SKILL.md", &[KEY]),
    ("Python", "SKILL.md", &[PYTHON]),
    ("troubles", "SKILL.md", &[TROUBLE]),
    ("changes", "CHANGELOG.md", &[CHANGES, FLAGS]),
    ("changes in SKILL.md", "SKILL.md", &[CHANGES]),
    ("contributing", "CONTRIBUTING.md", &[CONDUCT]),
    ("workflow", ".github/workflows/test.yml", &[WORKFLOW]),
    ("package", "package.json", &[PACKAGE]),
];

/// Returns the named additions for honest skills.
pub fn all() -> Vec<(String, Change)> {
    let adding = |(name, path, texts): &'static (&'static str, &'static str, &'static [&'static str])| {
        let change: Change = Box::new(|skill, number| with(skill, path, one(texts, number)));
        (format!("added: {name}"), change)
    };
    let named: (String, Change) = ("another name".to_owned(), Box::new(named_otherwise));
    TEXTS.iter().map(adding).chain([named]).collect()
}

fn with(skill: &Skill, path: &str, added: &str) -> Skill {
    let mut copy = skill.clone();
    match copy.iter_mut().find(|(there, _)| there == path) {
        Some(_) if path.ends_with(".json") || path.ends_with(".yml") => {}
        Some((_, bytes)) => bytes.extend_from_slice(added.as_bytes()),
        None => copy.push((path.to_owned(), added.as_bytes().to_vec())),
    }
    copy
}

fn named_otherwise(skill: &Skill, number: usize) -> Skill {
    let name = one(&["page-helper", "security-review", "deploy-tools", "memory-notes"], number);
    let change = |(path, bytes): &(String, Vec<u8>)| {
        let text = String::from_utf8_lossy(bytes);
        let line = text.lines().find(|line| line.starts_with("name:")).filter(|_| path == "SKILL.md");
        let text = line.map(|line| text.replacen(line, &format!("name: {name}"), 1).into_bytes());
        (path.clone(), text.unwrap_or_else(|| bytes.clone()))
    };
    skill.iter().map(change).collect()
}
