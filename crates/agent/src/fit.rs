//! [`Fit`]: the selection of skills for a prompt if not all of them fit.

use std::{cmp::Reverse, collections::HashMap};

use crate::{listed_skill::ListedSkill, search::search};

/// Estimated bytes per token, independent of any model's vocabulary.
const BYTES_PER_TOKEN: usize = 4;

/// Criteria for the selection and order of skills.
#[derive(Debug, Clone, Default)]
pub struct Fit<'a> {
    /// Largest size of the list in tokens, estimated at four bytes each.
    pub budget: Option<usize>,
    /// Task for which skills are selected.
    pub task: Option<&'a str>,
    /// Number of recent uses of each skill, by name.
    pub uses: HashMap<String, u64>,
}

/// Result of the selection.
#[derive(Debug, Clone, Default)]
pub struct Fitted<'a> {
    /// Selected skills, in order.
    pub skills: Vec<&'a ListedSkill>,
    /// Skills that exceed the budget.
    pub left_out: Vec<&'a ListedSkill>,
}

impl Fit<'_> {
    /// Selects skills by relevance to the task and then by use, up to the budget. Without a task and a budget, they
    /// keep their order. `bytes` returns the length of the list of given skills.
    pub fn choose<'a>(
        &self,
        mut skills: Vec<&'a ListedSkill>,
        bytes: impl Fn(&[&'a ListedSkill]) -> usize,
    ) -> Fitted<'a> {
        let used = |listed: &ListedSkill| self.uses.get(listed.name.as_str()).copied().unwrap_or_default();
        if let Some(task) = self.task {
            let hits = search(&skills, task, usize::MAX);
            let places: HashMap<&str, usize> =
                hits.iter().enumerate().map(|(place, hit)| (hit.listed.name.as_str(), place)).collect();
            let place = |listed: &ListedSkill| places.get(listed.name.as_str()).copied().unwrap_or(usize::MAX);
            skills.sort_by_cached_key(|listed| (place(listed), Reverse(used(listed))));
        } else if self.budget.is_some() {
            skills.sort_by_key(|listed| Reverse(used(listed)));
        }
        let Some(budget) = self.budget else { return Fitted { skills, left_out: Vec::new() } };
        // Text around the skills, computed from lists that are not empty, since an empty list may have another text.
        let frame = skills.first().map_or(0, |one| (2 * bytes(&[*one])).saturating_sub(bytes(&[*one, *one])));
        let mut total = frame;
        let fits = |listed: &&&'a ListedSkill| {
            total += bytes(&[**listed]).saturating_sub(frame);
            total.div_ceil(BYTES_PER_TOKEN) <= budget
        };
        let count = skills.iter().take_while(fits).count();
        let left_out = skills.split_off(count);
        Fitted { skills, left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relevant_and_used_skills_come_first() {
        let all = [
            ListedSkill::described("a", "Bakes bread."),
            ListedSkill::described("b", "Fills forms."),
            ListedSkill::described("c", "Cuts wood."),
        ];
        let chosen = |fit: Fit<'_>| {
            let fitted = fit.choose(all.iter().collect(), |skills| 8 + 40 * skills.len());
            let names =
                |skills: &[&ListedSkill]| skills.iter().map(|listed| listed.name.to_string()).collect::<String>();
            (names(&fitted.skills), names(&fitted.left_out))
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(chosen(Fit::default()), pair("abc", ""));
        let uses: HashMap<String, u64> = [("c".to_owned(), 3), ("b".to_owned(), 1)].into();
        assert_eq!(chosen(Fit { uses: uses.clone(), ..Fit::default() }), pair("abc", ""));
        assert_eq!(chosen(Fit { budget: Some(22), uses: uses.clone(), ..Fit::default() }), pair("cb", "a"));
        assert_eq!(chosen(Fit { budget: Some(12), uses, task: Some("fill in a form") }), pair("b", "ca"));
        assert_eq!(chosen(Fit { budget: Some(0), ..Fit::default() }), pair("", "abc"));
    }
}
