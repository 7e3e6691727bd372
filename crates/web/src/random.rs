//! [`random`]: values that nobody can guess.

use skill::hex;

/// So many random bytes, as hexadecimal digits.
///
/// # Errors
/// The system gives none.
pub fn random<const BYTES: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(hex(&bytes))
}
