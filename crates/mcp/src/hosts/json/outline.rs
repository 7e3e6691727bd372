//! Hashes of a JSON document, to check that an edit changed only the intended members.

use std::{
    fmt,
    hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState},
    mem,
};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// A document reduced to hashes. Some hosts have configuration files of tens of megabytes, so values are not kept in
/// memory.
#[derive(Debug, PartialEq, Eq)]
pub struct Outline {
    /// Hash of everything except the members and the objects that hold them.
    rest: u64,
    /// True if the object that holds the members exists.
    pub has_holder: bool,
    /// Hashes of the members' values, `None` for a missing member.
    pub members: Vec<Option<u64>>,
}

/// Hash keys. Only hashes made with the same keys are comparable.
#[derive(Debug, Default)]
pub struct Keys(RandomState);

impl Keys {
    /// Hashes a value.
    pub fn sum_of(&self, value: &Value) -> Option<u64> {
        let mut sum = self.0.build_hasher();
        Sum(&mut sum).deserialize(value).ok()?;
        Some(sum.finish())
    }
}

impl Outline {
    /// Reads a document and hashes the members `names` of the object at `path` separately from the rest.
    ///
    /// # Errors
    /// The text is not JSON, a value on the path is not an object, or a name on it is a duplicate key.
    pub fn of(json: &str, path: &[&str], names: &[&str], keys: &Keys) -> serde_json::Result<Self> {
        let (mut rest, mut has_holder, mut members) = (keys.0.build_hasher(), false, vec![None; names.len()]);
        let mut document = serde_json::Deserializer::from_str(json);
        let (rest_so_far, holder, found) = (&mut rest, &mut has_holder, &mut members);
        Descent { path, names, keys, rest: rest_so_far, holder, members: found }.deserialize(&mut document)?;
        document.end()?;
        Ok(Self { rest: rest.finish(), has_holder, members })
    }

    /// Replaces the members' hashes, and marks their object as existing.
    pub fn with(self, members: Vec<Option<u64>>) -> Self {
        Self { has_holder: true, members, ..self }
    }
}

/// Deserialiser that descends along a path and hashes everything beside it.
struct Descent<'a> {
    path: &'a [&'a str],
    names: &'a [&'a str],
    keys: &'a Keys,
    rest: &'a mut DefaultHasher,
    holder: &'a mut bool,
    members: &'a mut [Option<u64>],
}

impl<'de> DeserializeSeed<'de> for Descent<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Descent<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        *self.holder |= self.path.is_empty();
        let mut was_below = false;
        while let Some(key) = map.next_key::<String>()? {
            if let Some((next, path)) = self.path.split_first()
                && *next == key
            {
                if mem::replace(&mut was_below, true) {
                    return Err(A::Error::duplicate_field("on the path"));
                }
                let (rest, holder, members) = (&mut *self.rest, &mut *self.holder, &mut *self.members);
                map.next_value_seed(Descent { path, names: self.names, keys: self.keys, rest, holder, members })?;
                continue;
            }
            let place = self.names.iter().position(|name| self.path.is_empty() && *name == key);
            match place.and_then(|place| self.members.get_mut(place)) {
                None => {
                    (self.path.len(), key).hash(self.rest);
                    map.next_value_seed(Sum(self.rest))?;
                }
                Some(Some(_)) => return Err(A::Error::duplicate_field("a member")),
                Some(member) => {
                    let mut sum = self.keys.0.build_hasher();
                    map.next_value_seed(Sum(&mut sum))?;
                    *member = Some(sum.finish());
                }
            }
        }
        Ok(())
    }
}

/// Deserialiser that hashes a whole value.
struct Sum<'a>(&'a mut DefaultHasher);

impl<'de> DeserializeSeed<'de> for Sum<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Sum<'_> {
    /// Hashes a part, tagged with a letter for its kind.
    fn add<E>(self, kind: char, part: impl Hash) -> Result<(), E> {
        (kind, part).hash(self.0);
        Ok(())
    }
}

impl<'de> Visitor<'de> for Sum<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.add('n', ())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.add('b', value)
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.add('i', value)
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.add('u', value)
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.add('f', value.to_bits())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.add('t', value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        '['.hash(self.0);
        while list.next_element_seed(Sum(self.0))?.is_some() {}
        self.add(']', ())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        '{'.hash(self.0);
        while map.next_key_seed(Sum(self.0))?.is_some() {
            map.next_value_seed(Sum(self.0))?;
        }
        self.add('}', ())
    }
}
