//! Random values that cannot be guessed ([`random`]).

use skill::hex;

/// Returns `BYTES` random bytes as hexadecimal digits.
///
/// # Errors
/// The operating system's random number generator failed.
pub fn random<const BYTES: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(hex(&bytes))
}
