//! Steps without skillhub: by hand, and by git. After a folder is placed by hand, `adopt` follows.

use std::{fs, os::unix::fs::symlink};

use super::world::{World, remove};
use crate::support::{
    Answer, hostile_script,
    layout::{put, text},
    write_files,
};

/// Branches of the user's repository.
const BRANCHES: [&str; 3] = ["main", "next", "old"];

pub fn edit_well(world: &mut World) -> Option<Answer> {
    let name = world.present_one()?;
    let version = world.next_version();
    world.touch(name);
    if world.chance(3) {
        write_files(&world.skill(name), &[("references/hand.md", format!("Hand {version}.\n").as_bytes(), false)]);
    } else {
        put(&world.layout.folder(".agents/skills"), name, version);
    }
    world.note(format!("{name} is edited by hand, version {version}"));
    None
}

/// Makes a hand edit that cannot be recorded: without frontmatter, with another name, or with a link inside the skill.
pub fn edit_badly(world: &mut World) -> Option<Answer> {
    let name = world.present_one()?;
    let folder = world.skill(name);
    world.touch(name);
    let what = world.random.below(3);
    match what {
        0 => write_files(&folder, &[("SKILL.md", b"No frontmatter.\n", false)]),
        1 => write_files(&folder, &[("SKILL.md", text("another-name", 1).as_bytes(), false)]),
        _ => {
            remove(&folder.join("link.md"));
            symlink("/etc/hostname", folder.join("link.md")).unwrap();
        }
    }
    world.note(format!("{name} is edited badly by hand, {what}"));
    None
}

pub fn edit_hostile(world: &mut World) -> Option<Answer> {
    let name = world.present_one()?;
    world.touch(name);
    write_files(&world.skill(name), &[("scripts/leak.sh", hostile_script().as_bytes(), true)]);
    world.note(format!("{name} is edited by hand, with a hostile script"));
    None
}

/// Reverts invalid and hostile hand edits of earlier steps, in every skill.
pub fn mend(world: &mut World) -> Option<Answer> {
    for name in world.present() {
        let folder = world.skill(name);
        let is_bad = !world.text(name).is_some_and(|text| text.contains(&format!("name: {name}\n")));
        let extra = ["link.md", "scripts/leak.sh"].map(|file| folder.join(file));
        if is_bad || extra.iter().any(|file| file.symlink_metadata().is_ok()) {
            world.touch(name);
            extra.iter().for_each(|file| remove(file));
            let version = world.next_version();
            put(&world.layout.folder(".agents/skills"), name, version);
            world.note(format!("{name} is mended by hand, version {version}"));
        }
    }
    None
}

pub fn git_commit(world: &mut World) -> Option<Answer> {
    world.note("git commit");
    world.layout.commit();
    None
}

/// Commits everything and switches to another branch.
pub fn git_switch(world: &mut World) -> Option<Answer> {
    world.layout.commit();
    let branch = world.pick(&BRANCHES)?;
    let exists = !world.git(&["branch", "--list", branch]).trim().is_empty();
    let args: &[&str] = if exists { &["checkout", "--quiet", branch] } else { &["checkout", "--quiet", "-b", branch] };
    world.git(args);
    world.unedited.clear();
    None
}

/// Creates a folder in an agent's folder, and adopts it.
pub fn adopt(world: &mut World) -> Option<Answer> {
    let free = world.free();
    let name = world.pick(&free)?;
    let version = world.next_version();
    let below = world.pick(&[".claude/skills", ".claude/skills", ".opencode/skills"])?;
    let folder = world.layout.folder(below);
    put(&folder, name, version);
    world.note(format!("{name} is put into {below}, version {version}"));
    world.begin();
    let path = folder.join(name);
    let path = path.to_str().unwrap();
    if world.chance(2) { world.change(&["adopt", "--link", path], b"") } else { world.change(&["adopt", path], b"") }
}

/// Returns an entry of an agent's folder that is a link.
fn link(world: &mut World) -> Option<std::path::PathBuf> {
    let folder = world.layout.folder(".claude/skills");
    let mut links: Vec<_> = fs::read_dir(folder).ok()?.map(|entry| entry.unwrap().path()).collect();
    links.retain(|path| path.is_symlink());
    links.sort();
    world.pick(&links)
}

pub fn remove_link(world: &mut World) -> Option<Answer> {
    let link = link(world)?;
    fs::remove_file(&link).unwrap();
    world.note(format!("the link {} is removed by hand", link.display()));
    None
}

/// Replaces a link by a plain folder, with the same or other content.
pub fn replace_link(world: &mut World) -> Option<Answer> {
    let link = link(world)?;
    let name = link.file_name()?.to_str()?.to_owned();
    let text_now = fs::read(link.join("SKILL.md")).ok();
    fs::remove_file(&link).unwrap();
    let version = world.next_version();
    match text_now.filter(|_| world.chance(2)) {
        Some(now) => write_files(&link, &[("SKILL.md", &now, false)]),
        None => put(link.parent()?, &name, version),
    }
    world.note(format!("the link {} is replaced by a folder", link.display()));
    None
}

pub fn remove_folder(world: &mut World) -> Option<Answer> {
    let name = world.present_one()?;
    world.touch(name);
    remove(&world.skill(name));
    world.note(format!("the folder of {name} is removed by hand"));
    None
}

/// Turns the whole folder of Claude Code into a link to the library, or back into a folder.
pub fn link_folder(world: &mut World) -> Option<Answer> {
    let folder = world.layout.folder(".claude/skills");
    let is_link = folder.is_symlink();
    remove(&folder);
    if is_link {
        fs::create_dir(&folder).unwrap();
    } else {
        symlink("../.agents/skills", &folder).unwrap();
    }
    world.note(format!(".claude/skills is a {} now", if is_link { "folder" } else { "link to the library" }));
    None
}
