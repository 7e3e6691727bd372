//! Model of `curl`, `wget` and similar clients, for [`Analysis`].

use super::{
    Analysis, End,
    value::{Kind, Value},
};

/// Options of curl and wget whose value is request data. [`LOGIN`] has those whose value is a credential.
const DATA: &[&str] = &[
    "-d", "--data", "--data-binary", "--data-raw", "--data-urlencode", "--json", "-F", "--form", "-T", "--upload-file",
    "--post-data", "--post-file", "--body-data", "--body-file",
];
const LOGIN: &[&str] = &["-H", "--header", "-u", "--user", "-b", "--cookie", "--oauth2-bearer"];
const VALUED: &[&str] = &[
    "-X", "--request", "-A", "--user-agent", "-e", "-m", "--max-time", "-w", "--write-out", "--proto", "--retry",
    "--unix-socket", "--connect-timeout", "--cacert", "-x", "--proxy", "--resolve", "-P", "--tries", "--timeout",
];
const OUTPUT: &[&str] = &["-o", "--output", "-O", "--output-document"];

impl Analysis<'_> {
    /// Records the data and credentials that a client sends, and the file to which it writes the response. With
    /// `is_plain`, arguments without an option are request data too. Returns the response.
    pub(super) fn transfer(&mut self, args: &[Value], input: &Value, line: usize, is_plain: bool) -> Value {
        let given: Vec<Value> = args.iter().map(|arg| self.given(arg)).collect();
        let text = |at: usize| args.get(at).and_then(|arg| arg.text.as_deref()).unwrap_or("");
        let (mut sent, mut output, mut address) = (Value::default(), None, String::new());
        let (mut at, mut is_local, mut is_unchecked) = (0, false, false);
        while at < args.len() {
            let (option, own) = option_of(text(at));
            let follows = own.is_none();
            let next = match own {
                Some(own) => self.given(&Value::of_text(own)).or(&given.get(at).cloned().unwrap_or_default()),
                None => given.get(at + 1).cloned().unwrap_or_default(),
            };
            let next_text = own.unwrap_or_else(|| text(at + 1));
            let mut is_pair = true;
            if DATA.contains(&option) {
                let mut next = next;
                if next_text.ends_with("@-") || next_text.ends_with("<-") || next_text == "-" {
                    next = next.or(input);
                }
                next.read();
                sent = sent.or(&next);
            } else if LOGIN.contains(&option) {
                sent.put("headers", &next);
            } else if OUTPUT.contains(&option) {
                output = Some(next_text.to_owned());
            } else {
                is_pair = VALUED.contains(&option);
                is_local |= option == "--unix-socket";
                is_unchecked |= (self.hosts.is_unchecked)(&format!("curl {}", text(at)));
                if !option.starts_with('-') {
                    if address.is_empty() || text(at).contains("://") {
                        address = text(at).to_owned();
                    }
                    let mut own = given.get(at).cloned().unwrap_or_default();
                    own.keys.clear();
                    if is_plain {
                        own = own.or(input);
                        own.read();
                    }
                    sent = sent.or(&own);
                }
            }
            at += if is_pair && follows { 2 } else { 1 };
        }
        if !is_local {
            self.note(line, End::Sent, &sent, address.clone());
        }
        let from = if is_unchecked { format!("{address} --insecure") } else { address };
        let fetched = Value::of(Kind::Remote, &from);
        if let Some(path) = output {
            self.write_file(&path, &fetched);
        }
        fetched
    }
}

/// Letters of short options that take a value, in the same word or the next.
const LETTERS: &[char] = &['d', 'F', 'T', 'H', 'u', 'b', 'o', 'O', 'X', 'A', 'e', 'm', 'w', 'x', 'P'];

/// Splits a word into its option, in the separate form, and the value that is attached to it.
fn option_of(word: &str) -> (&str, Option<&str>) {
    if word.starts_with("--") {
        return word.split_once('=').map_or((word, None), |(option, value)| (option, Some(value)));
    }
    let Some(letters) = word.strip_prefix('-') else { return (word, None) };
    let Some(at) = letters.find(LETTERS) else { return (word, None) };
    let value = letters.get(at + 1..).filter(|value| !value.is_empty());
    let option = letters.get(at..=at).and_then(|letter| {
        let all = [DATA, LOGIN, OUTPUT, VALUED].into_iter().flatten();
        all.copied().find(|option| option.strip_prefix('-') == Some(letter))
    });
    option.map_or((word, None), |option| (option, value))
}
