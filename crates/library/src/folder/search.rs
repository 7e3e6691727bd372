//! Search for skill folders below a folder ([`find_skills`]).

use std::{
    io,
    path::{Path, PathBuf},
};

use cap_std::fs::Dir;
use skill::SkillPath;

use super::listing::{self, Entry, Kind};

/// Folders that never contain skills, at any depth.
pub const SKIPPED: [&str; 5] = [".git", ".hg", ".svn", "node_modules", "__pycache__"];

/// Finds the folders with a `SKILL.md` at and below a path, at most `depth` levels down, sorted. Skills do not nest:
/// the search stops at a skill. Links and folders named in `skipped` are ignored.
///
/// # Errors
/// Returns the I/O error of a folder that cannot be listed.
pub fn find_skills(top: &Path, depth: usize, skipped: &[&str]) -> io::Result<Vec<PathBuf>> {
    let dir = listing::open_at(top)?;
    let mut found = Vec::new();
    if listing::exists(&dir, SkillPath::SKILL_MD) {
        found.push(top.to_owned());
    } else {
        look_below(&dir, top, depth, skipped, &mut found)?;
    }
    Ok(found)
}

fn look_below(dir: &Dir, path: &Path, depth: usize, skipped: &[&str], found: &mut Vec<PathBuf>) -> io::Result<()> {
    let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
    let mut folders: Vec<Entry> =
        listing::entries(dir)?.into_iter().filter(|entry| entry.kind == Kind::Folder).collect();
    folders.sort_by(|a, b| a.name.cmp(&b.name));
    for Entry { name, .. } in folders {
        let below = path.join(&name);
        // A skill's folder has a UTF-8 name.
        let Some(name) = name.to_str().filter(|name| !skipped.contains(name)) else { continue };
        if listing::exists(dir, &format!("{name}/{}", SkillPath::SKILL_MD)) {
            found.push(below);
        } else {
            look_below(&listing::open_child(dir, name)?, &below, depth, skipped, found)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_stops_at_skills_and_links() {
        let temp = tempfile::tempdir().unwrap();
        let dir = listing::open_at(temp.path()).unwrap();
        for folder in ["b/skill", "b/skill/inner", ".agents/a", "node_modules/x", "1/2/3/deep"] {
            dir.create_dir_all(folder).unwrap();
            dir.write(format!("{folder}/SKILL.md"), "").unwrap();
        }
        #[cfg(unix)]
        dir.symlink_contents("b", "link").unwrap();
        let found = |depth| {
            let found = find_skills(temp.path(), depth, &["node_modules"]).unwrap();
            found.iter().map(|path| path.strip_prefix(temp.path()).unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(found(4), [".agents/a", "1/2/3/deep", "b/skill"].map(PathBuf::from));
        assert_eq!(found(2), [".agents/a", "b/skill"].map(PathBuf::from));
        assert_eq!(find_skills(&temp.path().join("b/skill"), 4, &[]).unwrap(), [temp.path().join("b/skill")]);
    }
}
