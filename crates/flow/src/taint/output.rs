//! [`output`]: programs that print something else than what they are given.

use super::{
    Analysis,
    value::{Kind, Value},
};

/// Programs that print the content of a database. Their arguments only log in.
const DUMPERS: &[&str] = &["pg_dump", "pg_dumpall", "mysqldump", "mariadb-dump", "mongodump"];

/// Parts of names of variables that log in to a database.
const LOGINS: &[&str] = &["DATABASE", "DB_", "_DB", "PG", "POSTGRES", "MYSQL", "MARIADB", "MONGO", "SQL", "DSN"];

/// Returns the output of a program from the data that it is given. A dump of a database does not hold the login, and
/// the public half of a key pair not the private one. Other data stays, because error messages repeat it.
pub(super) fn output(program: &str, args: &[Value], mut given: Value) -> Value {
    let count = given.taints.len();
    if DUMPERS.contains(&program) {
        given.taints.retain(|taint| {
            let name = taint.what.to_ascii_uppercase();
            taint.kind != Kind::Variable || !LOGINS.iter().any(|part| name.contains(part))
        });
        let is_dump = given.taints.len() < count;
        return if is_dump { given.or(&Value::of(Kind::Database, program)) } else { given };
    }
    if program == "ssh-keygen" && args.iter().any(prints_public_half) {
        given.taints.retain(|taint| !matches!(taint.kind, Kind::Path | Kind::Secret));
    }
    given
}

/// Returns whether an argument is the option `-y` of `ssh-keygen`, alone or before `-f`.
fn prints_public_half(arg: &Value) -> bool {
    matches!(arg.text.as_deref(), Some("-y" | "-yf"))
}

impl Analysis<'_> {
    /// Forgets that a path is one of secrets, if it is that of a public key and no script puts a secret in the place of
    /// a public key.
    pub(super) fn leave_public_key(&self, value: &mut Value, path: &str) {
        let is_secret = |file: &Value| file.taints.iter().any(|taint| matches!(taint.kind, Kind::Path | Kind::Secret));
        let mut files = self.files().iter();
        if !files.any(|(path, file)| path.ends_with(".pub") && is_secret(file)) {
            value.forget_public_key(path);
        }
    }
}
