//! Trains the weights of `data/weights.bin`: `weigh FOLDER VALIDATION INPUT...`.
//!
//! VALIDATION and each INPUT that begins with a line of column names are lists in the format of `measure`, of which
//! only the benign skills are used. Each other INPUT is a list of passages with the columns kind, language, class and
//! text. It writes `weights.bin` and `weights.txt` into the folder. For each list of attacks, it prints the recall when
//! that list is left out of training, at several false positive rates on the validation skills.
//!
//! The weights are those of a linear support vector machine with squared hinge loss, trained by coordinate descent on
//! its dual (Hsieh et al., 2008). Training is deterministic. Only features of several attacks get a weight, to avoid
//! overfitting to single texts.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "an example for the desk, not for users"
)]

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
};

use skill::{Bundle, File, Limits, SkillPath};

/// Minimum number of attack passages in which a feature has to occur.
const ATTACKS: usize = 3;

/// False positive rates on the validation skills for which recall is printed.
const MISTAKEN: [f32; 3] = [0.01, 0.02, 0.04];

/// Constant added to the number of features before normalisation, the same as at prediction.
const STEADY: f32 = 16.0;

/// Number of training epochs.
const ROUNDS: usize = 25;

/// Factor that converts weights to integers.
const UNIT: f32 = 1000.0;

/// Training example: one passage.
struct Row {
    features: Vec<u32>,
    value: f32,
    attack: bool,
    /// Cost of an error on this example.
    counts: f32,
    /// Index of the input, followed by that of the skill or passage in it.
    input: usize,
    skill: usize,
}

#[derive(Default)]
struct Rows {
    input: usize,
    skill: usize,
    rows: Vec<Row>,
    /// Index of each feature by its key.
    known: HashMap<u32, u32>,
    keys: Vec<(u32, String)>,
}

impl Rows {
    fn add(&mut self, bundle: &Bundle, attack: bool, counts: f32) {
        self.skill += 1;
        let (input, skill) = (self.input, self.skill);
        for mut passage in scan::features_of(bundle) {
            passage.sort();
            passage.dedup_by_key(|(key, _)| *key);
            if passage.len() < 6 {
                continue;
            }
            let value = (passage.len() as f32 + STEADY).sqrt().recip();
            let features = passage.into_iter().map(|(key, name)| self.place(key, name)).collect();
            self.rows.push(Row { features, value, attack, counts, input, skill });
        }
    }

    fn place(&mut self, key: u32, name: String) -> u32 {
        *self.known.entry(key).or_insert_with(|| {
            self.keys.push((key, name));
            (self.keys.len() - 1) as u32
        })
    }

    fn add_skills(&mut self, labels: &str) {
        let wide =
            Limits { files_per_skill: 100_000, skill_bytes: 1 << 30, text_file_bytes: 1 << 30, ..Limits::default() };
        let base = Path::new(labels).parent().unwrap();
        for line in fs::read_to_string(labels).unwrap().lines().filter(|line| line.starts_with("benign\t")) {
            let folder = base.join(line.split('\t').nth(2).unwrap());
            let mut files = Vec::new();
            read(&folder, &folder, &mut files);
            self.add(&Bundle::from_files(files, &wide).unwrap(), false, 1.0);
        }
    }

    fn add_passages(&mut self, list: &str) {
        for (number, line) in fs::read_to_string(list).unwrap().lines().enumerate() {
            let [kind, _, class, text] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
            let counts = if kind == "attack" {
                10.0
            } else if class == "doc" {
                1.0
            } else {
                6.0
            };
            let top = ["invalid", "com", "example.io", "net.cc"][number % 4];
            let text = text.replace("{host}", &format!("intake{number}.relay.{top}"));
            let text = text.replace("{mail}", &format!("desk@relay{number}.{top}")).replace("{ip}", "91.20.33.4");
            let text = text.replace("\\n", "\n").replace("\\\\", "\\");
            self.add(&testkit::bundle(&[("SKILL.md", text)]), kind == "attack", counts);
        }
    }

    /// Returns for each feature whether it occurs in enough attacks among the selected rows.
    fn common(&self, is_used: impl Fn(&Row) -> bool) -> Vec<bool> {
        let mut attacks = vec![0; self.keys.len()];
        for row in self.rows.iter().filter(|row| row.attack && is_used(row)) {
            row.features.iter().for_each(|feature| attacks[*feature as usize] += 1);
        }
        attacks.into_iter().map(|attacks| attacks >= ATTACKS).collect()
    }

    /// Returns the weights trained on the selected rows. The last one is the bias.
    fn learn(&self, is_used: impl Fn(&Row) -> bool) -> Vec<f32> {
        let common = self.common(&is_used);
        let used: Vec<(&Row, Vec<u32>)> = self
            .rows
            .iter()
            .filter(|row| is_used(row))
            .map(|row| (row, row.features.iter().copied().filter(|feature| common[*feature as usize]).collect()))
            .collect();
        let mut weights = vec![0.0; self.keys.len() + 1];
        let mut alphas = vec![0.0; used.len()];
        let mut order: Vec<usize> = (0..used.len()).collect();
        let mut random = 1u64;
        for _ in 0..ROUNDS {
            for at in (1..order.len()).rev() {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                order.swap(at, (random >> 33) as usize % (at + 1));
            }
            for at in &order {
                let (row, features) = &used[*at];
                descend(row, features, &mut alphas[*at], &mut weights);
            }
        }
        weights
    }

    /// Returns the weight of the heaviest passage of each selected skill or passage, in descending order.
    fn heaviest(&self, weights: &[f32], is_asked: impl Fn(&Row) -> bool) -> Vec<f32> {
        let mut best: BTreeMap<usize, f32> = BTreeMap::new();
        for row in self.rows.iter().filter(|row| is_asked(row)) {
            let sum: f32 = row.features.iter().map(|feature| weights[*feature as usize]).sum();
            let weight = sum * row.value + weights[weights.len() - 1];
            let known = best.entry(row.skill).or_insert(weight);
            *known = known.max(weight);
        }
        let mut all: Vec<f32> = best.into_values().collect();
        all.sort_by(|a, b| b.total_cmp(a));
        all
    }

    /// Prints the recall on each list of attacks with weights trained without it.
    fn print_left_out(&self, names: &[String], skills: usize) {
        for (left_out, name) in names.iter().enumerate().skip(1) {
            if !self.rows.iter().any(|row| row.attack && row.input == left_out) {
                continue;
            }
            let weights = self.learn(|row| row.input != left_out && row.input != 0);
            let honest = self.heaviest(&weights, |row| row.input == 0);
            let attacks = self.heaviest(&weights, |row| row.attack && row.input == left_out);
            print!("left out {name}: {} attacks", attacks.len());
            for share in MISTAKEN {
                let limit = honest[(share * skills as f32) as usize];
                let found = attacks.partition_point(|weight| *weight > limit);
                print!(", {:.2} found at {share} mistaken (limit {limit:.2})", found as f32 / attacks.len() as f32);
            }
            println!();
        }
    }
}

/// Performs one step of coordinate descent.
fn descend(row: &Row, features: &[u32], alpha: &mut f32, weights: &mut [f32]) {
    let sign = if row.attack { 1.0 } else { -1.0 };
    let soft = 0.5 / row.counts;
    let sum: f32 = features.iter().map(|feature| weights[*feature as usize]).sum();
    let slope = sign * (sum * row.value + weights[weights.len() - 1]) - 1.0 + soft * *alpha;
    let curve = features.len() as f32 * row.value * row.value + 1.0 + soft;
    let next = (*alpha - slope / curve).max(0.0);
    let step = (next - *alpha) * sign;
    *alpha = next;
    if step != 0.0 {
        features.iter().for_each(|feature| weights[*feature as usize] += step * row.value);
        *weights.last_mut().unwrap() += step;
    }
}

fn read(root: &Path, folder: &Path, files: &mut Vec<(SkillPath, File)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            read(root, &path, files);
        } else if path.is_file()
            && let Ok(name) = SkillPath::parse(path.strip_prefix(root).unwrap().to_str().unwrap_or("\0"))
        {
            files.push((name, File { bytes: fs::read(&path).unwrap().into(), executable: false }));
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap();
    let inputs: Vec<String> = arguments.collect();
    let mut rows = Rows::default();
    let mut skills = 0;
    for (number, input) in inputs.iter().enumerate() {
        rows.input = number;
        if fs::read_to_string(input).unwrap().starts_with("label\t") {
            rows.add_skills(input);
        } else {
            rows.add_passages(input);
        }
        if number == 0 {
            skills = rows.skill;
        }
    }
    rows.print_left_out(&inputs, skills);
    let weights = rows.learn(|row| row.input != 0);
    let kept: BTreeMap<u32, (i16, &str)> = rows
        .keys
        .iter()
        .zip(weights.iter().copied())
        .map(|((key, name), weight)| (*key, ((weight * UNIT) as i16, name.trim())))
        .filter(|(_, (weight, _))| *weight != 0)
        .collect();
    let mut table = ((weights[weights.len() - 1] * UNIT) as i16).to_le_bytes().to_vec();
    table.extend(kept.keys().flat_map(|key| key.to_le_bytes()));
    table.extend(kept.values().flat_map(|(weight, _)| weight.to_le_bytes()));
    fs::write(Path::new(&folder).join("weights.bin"), table).unwrap();
    let mut lines: Vec<_> = kept.values().collect();
    lines.sort_by_key(|(weight, name)| (-weight, *name));
    let list: String = lines.iter().map(|(weight, name)| format!("{weight} {name}\n")).collect();
    fs::write(Path::new(&folder).join("weights.txt"), list).unwrap();
    println!("{} passages, {} features, {} kept", rows.rows.len(), rows.keys.len(), kept.len());
}
