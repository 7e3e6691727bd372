//! Writes to files, archives and lists, for [`Analysis`].

use super::{
    super::program::{Call, Expr},
    Analysis, Called, End, PACKED,
    value::{Kind, Value},
};

/// Parts of names of archive objects, which read the files whose names they are given.
const ARCHIVES: &[&str] =
    &["ZipFile", "zipfile", "tarfile", "TarFile", "AdmZip", "archiver", "JSZip", "tar.c", "py7zr", "pyzipper"];

/// Returns whether a function adds the named files to an archive.
pub(super) fn is_archive(name: &str) -> bool {
    ARCHIVES.iter().any(|archive| name.contains(archive))
}

/// Returns whether a function loads settings from the named files.
fn is_config(name: &str, last: &str) -> bool {
    matches!(last, "read" | "read_file") && name.contains("ConfigParser()")
}

/// Returns the union of a call's arguments. It includes the whole project if the call packs the working directory.
fn given(last: &str, args: &[Value]) -> Value {
    let packs = matches!(last, "add" | "make_archive" | "addLocalFolder" | "directory");
    let is_all = packs && args.iter().any(|arg| matches!(arg.text.as_deref(), Some("." | "./")));
    let given = Value::any_of(args);
    if is_all { given.or(&Value::of(Kind::Project, PACKED)) } else { given }
}

/// Returns the end of the name of an archive that `shutil.make_archive` makes in a format.
fn archive_end(format: &str) -> &str {
    match format {
        "gztar" => "tar.gz",
        "bztar" => "tar.bz2",
        "xztar" => "tar.xz",
        other => other,
    }
}

impl Analysis<'_> {
    /// Records the data that a call writes to a file, or adds to its receiver.
    pub(super) fn store(&mut self, called: &Called<'_>, call: &Call, is_archive: bool) {
        let Called { name, receiver, args, .. } = *called;
        let last = name.rsplit('.').next().unwrap_or(name);
        self.set_callee(last);
        let mut given = given(last, args);
        if is_archive || is_config(name, last) {
            given.read();
            self.hand_to(call, &given);
        }
        match last {
            "write" | "write_text" | "write_bytes" | "writelines" => {
                self.note_picture(call.line, &given);
                if let Some(path) = receiver.text.clone() {
                    self.note_path(call.line, End::Steered, &path);
                    self.note_path(call.line, End::Removed, &path);
                    self.write_file(&path, &given);
                }
            }
            "extractall" | "unpack_archive" | "extract" => self.unpack(given, receiver, args),
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
                args.iter().for_each(|arg| self.note_picture(call.line, arg));
                if let Some(path) = args.get(at).and_then(|path| path.text.clone()) {
                    self.note_path(call.line, End::Steered, &path);
                    self.note_path(call.line, End::Removed, &path);
                    self.write_file(&path, &content);
                }
            }
            "print" | "log" | "info" => args.iter().for_each(|arg| self.note_picture(call.line, arg)),
            "make_archive" => {
                let [to, kind] = [0, 1].map(|at| args.get(at).and_then(|arg| arg.text.clone()).unwrap_or_default());
                given.read();
                self.write_file(&format!("{to}.{}", archive_end(&kind)), &given);
            }
            "urlretrieve" | "download_file" => {
                if let Some(path) = args.get(1).and_then(|path| path.text.clone()) {
                    let from = args.first().and_then(|from| from.text.clone()).unwrap_or_default();
                    self.write_file(&path, &Value::of(Kind::Remote, &from));
                }
            }
            "append" | "extend" | "update" | "add" | "push" | "insert" | "set" | "writestr" | "setdefault"
            | "unshift" | "attach" | "addLocalFile" | "addLocalFolder" | "file" | "directory" | "add_header"
            | "appendleft" | "put" | "add_attachment" | "addAttachment" | "set_content" | "set_payload"
            | "add_related" | "attach_file" | "add_alternative" => {
                self.note_path_of_modules(name, args, call.line);
                self.hand_to(call, &given);
            }
            _ => {}
        }
    }

    /// Records the content of an archive under the destination folder, the last argument with a known text.
    fn unpack(&mut self, given: Value, receiver: &Value, args: &[Value]) {
        if let Some(path) = args.iter().chain([receiver]).rev().find_map(|to| to.text.clone()) {
            self.write_file(&path, &given.or(receiver));
        }
    }

    /// Records a download that is added to the module search path.
    fn note_path_of_modules(&mut self, name: &str, args: &[Value], line: usize) {
        if name.starts_with("sys.path.") {
            let loaded = args.iter().filter_map(|arg| self.files().get(arg.text.as_deref()?)).cloned();
            let loaded: Vec<Value> = loaded.collect();
            self.note(line, End::Run, &Value::any_of(&loaded), String::new());
        }
    }

    /// Records data in the URL of an image or link, which a client requests as soon as the text is displayed.
    fn note_picture(&mut self, line: usize, text: &Value) {
        const SHOWN: &[&str] = &["](http", "src=\"http", "src='http"];
        let known = text.text.as_deref().unwrap_or("");
        if let Some((at, mark)) = SHOWN.iter().find_map(|mark| known.find(mark).map(|at| (at, mark))) {
            let address: String = known.get(at + mark.len() - 4..).unwrap_or("").chars().take(80).collect();
            self.note(line, End::Sent, text, address);
        }
    }

    /// Adds a value to the variable on which a method is called.
    fn hand_to(&mut self, call: &Call, given: &Value) {
        if let Expr::Attr(base, _) = &call.callee
            && let Expr::Name(variable) = base.as_ref()
        {
            let scope = self.scope_of(variable);
            self.set(self.program, scope, variable, &given.clone().without_name());
        }
    }
}
