//! [`Fit`]: which skills are told of when not all of them fit.

use std::{cmp::Reverse, collections::HashMap};

use crate::{listed::Listed, search::search};

/// Bytes that count as one token: an estimate that needs no model's vocabulary.
const BYTES_PER_TOKEN: usize = 4;

/// What decides which skills are told of, and in which order.
#[derive(Debug, Clone, Default)]
pub struct Fit<'a> {
    /// The most tokens that the list may have, by an estimate of four bytes each.
    pub budget: Option<usize>,
    /// What is to be done.
    pub task: Option<&'a str>,
    /// How often each skill was read lately, by name.
    pub uses: HashMap<String, u64>,
}

/// Skills that are told of, and the others.
#[derive(Debug, Clone, Default)]
pub struct Fitted<'a> {
    /// Those that are told of, in order.
    pub skills: Vec<&'a Listed>,
    /// Those for which there is no room.
    pub left_out: Vec<&'a Listed>,
}

impl Fit<'_> {
    /// Puts the skills that fit the task first and then, where there is not room for all, those that are
    /// used most; without a task and with room for all they keep their order. `bytes` says how long the
    /// list of some skills is.
    pub fn choose<'a>(&self, mut skills: Vec<&'a Listed>, bytes: impl Fn(&[&'a Listed]) -> usize) -> Fitted<'a> {
        let used = |listed: &Listed| self.uses.get(listed.name.as_str()).copied().unwrap_or_default();
        if let Some(task) = self.task {
            let hits = search(&skills, task, usize::MAX);
            let places: HashMap<&str, usize> =
                hits.iter().enumerate().map(|(place, hit)| (hit.listed.name.as_str(), place)).collect();
            let place = |listed: &Listed| places.get(listed.name.as_str()).copied().unwrap_or(usize::MAX);
            skills.sort_by_cached_key(|listed| (place(listed), Reverse(used(listed))));
        } else if self.budget.is_some() {
            skills.sort_by_key(|listed| Reverse(used(listed)));
        }
        let Some(budget) = self.budget else { return Fitted { skills, left_out: Vec::new() } };
        // What stands around the skills; without any, a list may say something else.
        let frame = skills.first().map_or(0, |one| (2 * bytes(&[*one])).saturating_sub(bytes(&[*one, *one])));
        let mut total = frame;
        let fits = |listed: &&&'a Listed| {
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
    fn what_fits_the_task_and_is_used_most_is_told_of_first() {
        let all =
            [Listed::told("a", "Bakes bread."), Listed::told("b", "Fills forms."), Listed::told("c", "Cuts wood.")];
        let chosen = |fit: Fit<'_>| {
            let fitted = fit.choose(all.iter().collect(), |skills| 8 + 40 * skills.len());
            let names = |skills: &[&Listed]| skills.iter().map(|listed| listed.name.to_string()).collect::<String>();
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
