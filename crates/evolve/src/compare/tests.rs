//! Tests that comparisons follow their rules and keep their error rates.

use testkit::Random;

use super::*;

fn marks(random: &mut Random, rates: &[f64]) -> AssertionResults {
    rates.iter().map(|rate| Some(random.happens(*rate))).collect()
}

fn runs(chance: &mut Random, base: &[Vec<f64>], candidate: &[Vec<f64>], repeat: usize) -> Vec<CaseRuns> {
    let case = |(index, (base, candidate)): (usize, (&Vec<f64>, &Vec<f64>))| CaseRuns {
        id: index.to_string(),
        trial: (0..2).map(|_| marks(chance, base)).collect(),
        pairs: (0..repeat).map(|_| (marks(chance, base), marks(chance, candidate))).collect(),
    };
    base.iter().zip(candidate).enumerate().map(case).collect()
}

fn steady(base: &[&[bool]], candidate: &[&[bool]], repeat: usize) -> Comparison {
    let rates = |side: &[&[bool]]| {
        side.iter().map(|case| case.iter().map(|m| f64::from(u8::from(*m))).collect()).collect::<Vec<Vec<f64>>>()
    };
    compare(&runs(&mut Random::new(1), &rates(base), &rates(candidate), repeat), Rules::default())
}

#[test]
fn tails_are_exact() {
    assert_eq!(upper_tail(0, 0), 1.0);
    assert!((upper_tail(5, 5) - 1.0 / 32.0).abs() < 1e-12);
    assert!((upper_tail(10, 8) - 56.0 / 1024.0).abs() < 1e-12);
    assert!((upper_tail(2_000, 1_000) - 0.508_92).abs() < 1e-4);
}

#[test]
fn always_failing_case_outweighs_gains() {
    let worse = steady(&[&[true, true], &[true], &[true]], &[&[true, false], &[true], &[true]], 5);
    assert_eq!(worse.decision, ComparisonResult::Worse, "{worse:#?}");
    let base: [&[bool]; 3] = [&[true], &[false], &[false]];
    let mixed = steady(&base, &[&[false], &[true], &[true]], 10);
    assert_eq!(mixed.decision, ComparisonResult::Worse, "{mixed:#?}");
    assert!(mixed.cases[0].worse && mixed.overall.wins > mixed.overall.losses);
    assert_eq!(steady(&base, &[&[true], &[true], &[true]], 5).decision, ComparisonResult::Better);
    assert_eq!(steady(&base, &base, 5).decision, ComparisonResult::NoDifference);
    assert_eq!(steady(&[&[true]], &[&[false]], 4).decision, ComparisonResult::NoDifference, "four pairs show nothing");
}

#[test]
fn uninformative_and_flaky_cases_are_excluded() {
    let pairs = vec![(vec![Some(true), Some(true), None], vec![Some(true), Some(false), None]); 6];
    let trial = vec![vec![Some(true), Some(true), None], vec![Some(true), Some(false), None]];
    let seen = compare(&[CaseRuns { id: "a".to_owned(), trial, pairs }], Rules::default());
    assert_eq!(
        (&seen.cases[0].flaky, &seen.cases[0].telling_nothing, &seen.cases[0].undecided),
        (&vec![1], &vec![0], &vec![2])
    );
    assert_eq!((seen.decision, seen.overall.ties), (ComparisonResult::NoDifference, 6));
}

#[test]
fn gain_lost_on_held_out_cases_is_rejected() {
    let held = (0..1_000).map(|n| n.to_string()).find(|id| is_held_out(id, 25)).unwrap();
    let shown: Vec<String> = (0..1_000).map(|n| n.to_string()).filter(|id| !is_held_out(id, 25)).take(9).collect();
    let case = |id: &String, base: bool, candidate: bool, count: usize| CaseRuns {
        id: id.clone(),
        trial: Vec::new(),
        pairs: vec![(vec![Some(base)], vec![Some(candidate)]); count],
    };
    let mut cases: Vec<CaseRuns> = shown.iter().map(|id| case(id, false, true, 5)).collect();
    assert_eq!(compare(&cases, Rules::default()).decision, ComparisonResult::Better);
    cases.push(case(&held, true, false, 2));
    assert_eq!(compare(&cases, Rules::default()).decision, ComparisonResult::NoDifference);
}

#[test]
fn equal_sides_keep_the_error_rates() {
    let mut chance = Random::new(20_261);
    let (mut better, mut worse, rounds) = (0, 0, 4_000);
    for _ in 0..rounds {
        let rates: Vec<Vec<f64>> = (0..6).map(|_| (0..3).map(|_| 0.5 + chance.draw() / 2.0).collect()).collect();
        match compare(&runs(&mut chance, &rates, &rates, 8), Rules::default()).decision {
            ComparisonResult::Better => better += 1,
            ComparisonResult::Worse => worse += 1,
            ComparisonResult::NoDifference => {}
        }
    }
    println!("equal sides, {rounds} comparisons: {better} better, {worse} worse");
    assert!(better * 100 <= rounds, "{better} of {rounds} promoted");
    assert!(worse * 20 <= rounds, "{worse} of {rounds} called worse");
}

#[test]
fn a_real_loss_is_found_under_noise() {
    let mut chance = Random::new(7);
    let base: Vec<Vec<f64>> = (0..8).map(|_| vec![0.95; 3]).collect();
    let candidate: Vec<Vec<f64>> = (0..8).map(|_| vec![0.95, 0.95, 0.5]).collect();
    let found = (0..200)
        .filter(|_| {
            compare(&runs(&mut chance, &base, &candidate, 8), Rules::default()).decision == ComparisonResult::Worse
        })
        .count();
    assert!(found >= 190, "{found} of 200");
}
