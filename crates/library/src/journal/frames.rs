//! Search for complete records in the bytes of a journal ([`framed`], [`starts`]).

use super::{FRAME_BYTES, MAGIC};

/// Finds the offsets at which complete records begin. Each byte is hashed only once, however many apparent records
/// there are: the checksum of a range is computed from those of the prefixes up to its ends.
pub(super) fn starts(bytes: &[u8]) -> Vec<usize> {
    let magic = bytes.windows(MAGIC.len()).enumerate().filter(|(_, window)| window == MAGIC).map(|(at, _)| at);
    let seeming: Vec<usize> = magic.filter(|at| frame_at(bytes, *at).is_some()).collect();
    let ends = |at: &usize| frame_at(bytes, *at).map(|frame| [at + FRAME_BYTES, at + FRAME_BYTES + frame.len()]);
    let mut places: Vec<usize> = seeming.iter().filter_map(ends).flatten().collect();
    places.sort_unstable();
    places.dedup();
    let (mut hasher, mut summed) = (crc32fast::Hasher::new(), 0);
    let sum_until = |to: &usize| {
        hasher.update(bytes.get(summed..*to).unwrap_or_default());
        summed = *to;
        hasher.clone().finalize()
    };
    let sums: Vec<u32> = places.iter().map(sum_until).collect();
    let sum_at = |place: usize| places.binary_search(&place).ok().and_then(|at| sums.get(at)).copied();
    let is_whole = |at: &usize| {
        let (Some(frame), Some([from, to])) = (frame_at(bytes, *at), ends(at)) else { return false };
        let mut hasher = crc32fast::Hasher::new_with_initial_len(sum_at(from).unwrap_or_default(), from as u64);
        let expected = u32::from_be_bytes(frame.sum);
        hasher.combine(&crc32fast::Hasher::new_with_initial_len(expected, (to - from) as u64));
        sum_at(to) == Some(hasher.finalize())
    };
    seeming.iter().copied().filter(|at| is_whole(at)).collect()
}

fn frame_at(bytes: &[u8], at: usize) -> Option<Frame<'_>> {
    Frame::at_start_of(bytes.get(at..)?)
}

/// A frame whose checksum was not verified.
struct Frame<'a> {
    head: &'a [u8],
    body: &'a [u8],
    after: &'a [u8],
    sum: [u8; 4],
}

impl<'a> Frame<'a> {
    fn at_start_of(bytes: &'a [u8]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        let (head_len, rest) = rest.split_first_chunk::<4>()?;
        let (body_len, rest) = rest.split_first_chunk::<8>()?;
        let (sum, rest) = rest.split_first_chunk::<4>()?;
        let (head, rest) = rest.split_at_checked(u32::from_be_bytes(*head_len) as usize)?;
        let (body, after) = rest.split_at_checked(usize::try_from(u64::from_be_bytes(*body_len)).ok()?)?;
        (magic == MAGIC).then_some(Self { head, body, after, sum: *sum })
    }

    fn len(&self) -> usize {
        self.head.len() + self.body.len()
    }
}

/// Splits `bytes` into head and body of the first record, and the rest. Returns `None` if the record is incomplete.
pub(super) fn framed(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let Frame { head, body, after, sum: expected } = Frame::at_start_of(bytes)?;
    (sum(head, body) == expected).then_some((head, body, after))
}

pub(super) fn sum(head: &[u8], body: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(body);
    hasher.finalize().to_be_bytes()
}
