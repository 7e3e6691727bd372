//! Test helpers: skills in memory, a seeded random generator, published schemas, and real skills from
//! `registry-index/seed` or a larger collection.
//!
//! `SKILLHUB_TEST_DATA` names the folder of a collection: `skills/` holds skill folders, `honest-dev.tar.gz` honest
//! skills by repository and `honest-dev.tsv` their list. Tests that need such a folder are ignored, and
//! `cargo test -- --include-ignored` runs them.

#![expect(clippy::expect_used, clippy::disallowed_methods, reason = "used by tests only")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use skill::{Bundle, File, Limits, SkillName, SkillPath};

/// Environment variable with the folder of a collection.
const VARIABLE: &str = "SKILLHUB_TEST_DATA";

/// Returns the folder of the collection.
///
/// # Panics
/// The environment variable is not set.
pub fn collection() -> PathBuf {
    chosen().expect("SKILLHUB_TEST_DATA names the folder of a collection of skills")
}

/// Returns skill folders sorted by name: those of the collection, or those of the tree without one.
///
/// # Panics
/// The folder cannot be read or holds none.
pub fn skills() -> Vec<PathBuf> {
    let seed = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../registry-index/seed");
    let folder = chosen().map_or_else(seed, |data| data.join("skills"));
    let entries = fs::read_dir(&folder).expect("the folder of skills can be read");
    let mut skills: Vec<_> =
        entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir()).collect();
    assert!(!skills.is_empty(), "{} holds no skill", folder.display());
    skills.sort();
    skills
}

/// Returns the files below a folder, each with its relative path.
///
/// # Panics
/// A file cannot be read, or its name is not UTF-8.
pub fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    read(folder, "", &mut files);
    files
}

/// Returns a skill's name.
///
/// # Panics
/// The name is invalid.
pub fn name(text: &str) -> SkillName {
    SkillName::parse(text).expect("a name of a skill")
}

/// Returns a skill of any size from the path and content of each file. No file is executable.
///
/// # Panics
/// A path is invalid, or two paths collide.
pub fn bundle<P: AsRef<str>, T: AsRef<[u8]>>(files: &[(P, T)]) -> Bundle {
    let files: Vec<_> = files.iter().map(|(path, content)| (path, content, false)).collect();
    bundle_with_modes(&files)
}

/// Returns a skill of any size from the path, content and executable bit of each file.
///
/// # Panics
/// A path is invalid, or two paths collide.
pub fn bundle_with_modes<P: AsRef<str>, T: AsRef<[u8]>>(files: &[(P, T, bool)]) -> Bundle {
    let files = files.iter().map(|(path, content, executable)| {
        let path = SkillPath::parse(path.as_ref()).expect("a path of a skill");
        (path, File { bytes: content.as_ref().into(), executable: *executable })
    });
    let wide =
        Limits { files_per_skill: usize::MAX, skill_bytes: u64::MAX, text_file_bytes: u64::MAX, ..Limits::default() };
    Bundle::from_files(files, &wide).expect("paths that do not collide")
}

/// Deterministic pseudorandom generator (SplitMix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns the next number, at least 0 and below 1.
    pub fn draw(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns the next number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.word() % end as u64) as usize
    }

    /// Returns true with this probability.
    pub fn happens(&mut self, chance: f64) -> bool {
        self.draw() < chance
    }
}

fn chosen() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

fn read(folder: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("a folder that can be read") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8");
        let name = format!("{prefix}{name}");
        if path.is_dir() {
            read(&path, &format!("{name}/"), files);
        } else {
            files.push((name, fs::read(&path).expect("a file that can be read")));
        }
    }
}

/// Asserts that `docs/schemas/NAME.json` is the JSON Schema of a type. With `SKILLHUB_WRITE_SCHEMAS` set, writes it.
///
/// # Panics
/// The file has another schema or cannot be read.
pub fn assert_published<T: schemars::JsonSchema>(name: &str) {
    let schema = schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    assert_published_value(name, &schema.into_root_schema_for::<T>().to_value());
}

/// Returns the JSON Schema of a type that is read from a TOML file. TOML has no null, so no value may be null.
#[must_use]
pub fn file_schema<T: schemars::JsonSchema>(title: &str) -> Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    remove_null(&mut schema);
    schema["title"] = title.into();
    schema
}

/// Removes null from the types and defaults of a schema and of those in it.
fn remove_null(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else { return };
    if keywords.get("default") == Some(&Value::Null) {
        keywords.remove("default");
    }
    if let Some(Value::Array(types)) = keywords.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = types.as_slice() {
            keywords["type"] = one.clone();
        }
    }
    if let Some(Value::Array(choices)) = keywords.get_mut("anyOf") {
        choices.retain(|one| one.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(one)] = choices.as_slice() {
            let one = one.clone();
            keywords.remove("anyOf");
            keywords.extend(one);
        }
    }
    for (keyword, value) in keywords {
        match (keyword.as_str(), value) {
            ("properties" | "$defs", Value::Object(schemas)) => schemas.values_mut().for_each(remove_null),
            ("anyOf" | "oneOf" | "allOf", Value::Array(schemas)) => schemas.iter_mut().for_each(remove_null),
            ("items" | "additionalProperties", one) => remove_null(one),
            _ => {}
        }
    }
}

/// Asserts that `docs/schemas/NAME.json` is a schema. With `SKILLHUB_WRITE_SCHEMAS` set, writes it.
///
/// # Panics
/// The file has another schema or cannot be read.
pub fn assert_published_value(name: &str, schema: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/schemas/{name}.json"));
    if std::env::var_os("SKILLHUB_WRITE_SCHEMAS").is_some() {
        fs::write(&path, format!("{schema:#}\n")).expect("the schema can be written");
    }
    let text = fs::read_to_string(&path).expect("the schema can be read");
    let published: Value = serde_json::from_str(&text).expect("the schema is JSON");
    assert_eq!(&published, schema, "{name}.json is made by this test with SKILLHUB_WRITE_SCHEMAS=1");
}
