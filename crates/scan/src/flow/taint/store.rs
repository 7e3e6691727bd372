//! What calls write into files, archives and lists, for [`Analysis`].

use super::{
    super::program::{Call, Expr},
    Analysis, End,
    value::{Kind, Value},
};

/// Parts of the names of things that take in the files whose names they are given.
const ARCHIVES: &[&str] =
    &["ZipFile", "zipfile", "tarfile", "TarFile", "AdmZip", "archiver", "JSZip", "tar.c", "py7zr", "pyzipper"];

impl Analysis<'_> {
    /// What a call writes: into a file, or into what it is called on.
    pub(super) fn store(&mut self, name: &str, call: &Call, receiver: &Value, args: &[Value]) {
        let last = name.rsplit('.').next().unwrap_or(name);
        let mut given = Value::any_of(args);
        if ARCHIVES.iter().any(|archive| name.contains(archive)) {
            given.read();
            self.hand_to(call, &given);
        }
        match last {
            "write" | "write_text" | "write_bytes" | "writelines" => {
                if let Some(path) = receiver.text.clone() {
                    self.note_path(call.line, End::Steered, &path);
                    self.note_path(call.line, End::Removed, &path);
                    self.write_file(&path, &given);
                }
            }
            "pipe" => {
                if let Some(path) = args.first().and_then(|to| to.text.clone()) {
                    self.write_file(&path, receiver);
                }
            }
            "copy" | "copyfile" | "copyFile" | "copyFileSync" | "cp" | "cpSync" | "copy2" | "copytree" | "rename"
            | "renameSync" | "move" | "symlink" | "symlinkSync" | "replace" => {
                if let Some(path) = args.get(1).and_then(|to| to.text.clone()) {
                    given.read();
                    self.note_path(call.line, End::Steered, &path);
                    self.write_file(&path, &given);
                }
            }
            "writeFile" | "writeFileSync" | "appendFileSync" | "appendFile" | "outputFile" | "outputFileSync"
            | "outputJson" | "writeJson" | "writeJsonSync" | "writeTextFile" | "writeTextFileSync" | "dump" => {
                let at = usize::from(last == "dump");
                let content = Value::any_of(args);
                if let Some(path) = args.get(at).and_then(|path| path.text.clone()) {
                    self.note_path(call.line, End::Steered, &path);
                    self.note_path(call.line, End::Removed, &path);
                    self.write_file(&path, &content);
                }
            }
            "make_archive" => {
                let [to, kind] = [0, 1].map(|at| args.get(at).and_then(|arg| arg.text.clone()).unwrap_or_default());
                let end = match kind.as_str() {
                    "gztar" => "tar.gz",
                    "bztar" => "tar.bz2",
                    "xztar" => "tar.xz",
                    other => other,
                };
                given.read();
                self.write_file(&format!("{to}.{end}"), &given);
            }
            "urlretrieve" | "download_file" => {
                if let Some(path) = args.get(1).and_then(|path| path.text.clone()) {
                    let from = args.first().and_then(|from| from.text.clone()).unwrap_or_default();
                    self.write_file(&path, &Value::of(Kind::Remote, &from));
                }
            }
            "append" | "extend" | "update" | "add" | "push" | "insert" | "set" | "writestr" | "setdefault"
            | "unshift" | "attach" | "addLocalFile" | "addLocalFolder" | "file" | "directory" | "add_header"
            | "appendleft" | "put" => {
                self.hand_to(call, &given);
            }
            _ => {}
        }
    }

    /// Gives a value to the variable on which something is called.
    fn hand_to(&mut self, call: &Call, given: &Value) {
        if let Expr::Attr(base, _) = &call.callee
            && let Expr::Name(variable) = base.as_ref()
        {
            let scope = self.scope_of(variable);
            self.set(self.program, scope, variable, &given.clone().without_name());
        }
    }
}
