//! A bar chart of downloads per week ([`chart`]).

use jiff::{Span, Timestamp, civil::Date, tz::TimeZone};
use maud::{Markup, html};
use web::pages::Texts;

/// Number of weeks that are shown.
const WEEKS: usize = 12;
const WIDTH: u64 = 240;
const HEIGHT: u64 = 48;

/// Returns the first day of a chart that ends today.
pub fn first_day(now: Timestamp) -> String {
    day_before(today(now), WEEKS * 7 - 1).to_string()
}

fn today(now: Timestamp) -> Date {
    now.to_zoned(TimeZone::UTC).date()
}

fn day_before(day: Date, days: usize) -> Date {
    day.checked_sub(Span::new().days(i64::try_from(days).unwrap_or(0))).unwrap_or(day)
}

/// Renders the chart from downloads per day, beginning with [`first_day`].
pub fn chart(days: &[(String, u64)], now: Timestamp, texts: &Texts) -> Markup {
    let today = today(now);
    let mut weeks = [0u64; WEEKS];
    for (day, count) in days {
        let Ok(day) = day.parse::<Date>() else { continue };
        let Ok(ago) = today.since(day).map(|span| span.get_days()) else { continue };
        let week = usize::try_from(ago / 7).unwrap_or(WEEKS);
        if let Some(sum) = WEEKS.checked_sub(week + 1).and_then(|at| weeks.get_mut(at)) {
            *sum += count;
        }
    }
    let total: u64 = weeks.iter().sum();
    let most = weeks.iter().copied().max().unwrap_or(0).max(1);
    let step = WIDTH / WEEKS as u64;
    html! {
        figure.chart {
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } width=(WIDTH) height=(HEIGHT) role="img" aria-label=((texts.downloads_in_weeks)(total)) {
                @for (at, count) in weeks.iter().enumerate() {
                    @let tall = (count * (HEIGHT - 2)).div_ceil(most).max(1);
                    rect x=(at as u64 * step + 1) y=(HEIGHT - tall) width=(step - 3) height=(tall) rx="1" {
                        title { (day_before(today, (WEEKS - at) * 7 - 1)) " … " ((texts.downloads)(*count)) }
                    }
                }
            }
            figcaption { ((texts.downloads_in_weeks)(total)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use web::pages::ENGLISH;

    use super::*;

    #[test]
    fn days_are_grouped_by_week() {
        let now: Timestamp = "2026-03-31T12:00:00Z".parse().unwrap();
        assert_eq!(first_day(now), "2026-01-07");
        let days = [("2026-01-07", 4), ("2026-03-24", 1), ("2026-03-25", 2), ("2026-03-31", 6), ("odd", 9)];
        let days: Vec<_> = days.iter().map(|(day, count)| ((*day).to_owned(), *count)).collect();
        let out = chart(&days, now, &ENGLISH).0;
        assert!(out.contains("13 downloads in the last 12 weeks"), "{out}");
        assert!(out.contains("2026-03-25 … 8 downloads") && out.contains("2026-01-07 … 4 downloads"), "{out}");
        assert!(chart(&[], now, &ENGLISH).0.contains("0 downloads"));
    }
}
