//! JSON parser whose lists have no spare capacity ([`parse`]).
//!
//! `serde_json` reserves room for four elements in a list of one, which dominates the memory of a value with many
//! short lists.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Parses a JSON text.
///
/// # Errors
/// The text is not valid JSON.
pub(super) fn parse(text: &str) -> serde_json::Result<Value> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = Fitting.deserialize(&mut json)?;
    json.end().map(|()| value)
}

struct Fitting;

impl<'de> DeserializeSeed<'de> for Fitting {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Fitting {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(Self)? {
            list.push(element);
        }
        list.shrink_to_fit();
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            object.insert(key, members.next_value_seed(Self)?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parser_agrees_with_serde_json() {
        for text in [
            r#"{"a":[1,-2,2.5,1e9,"x\n",null,true],"b":{"c":[]},"a":0}"#,
            "[[0],[0]]",
            "18446744073709551615",
            "[1",
            "[1]]",
            "",
        ] {
            let (ours, theirs) = (parse(text), serde_json::from_str::<Value>(text));
            assert_eq!(ours.map_err(|error| error.to_string()), theirs.map_err(|error| error.to_string()), "{text}");
        }
        assert!(parse(&"[".repeat(1000)).is_err());
    }

    #[test]
    fn list_capacity_equals_its_length() {
        let Ok(Value::Array(lists)) = parse("[[0],[0,1],[],[[0]]]") else { panic!("no list") };
        let rooms: Vec<usize> = lists.iter().filter_map(Value::as_array).map(Vec::capacity).collect();
        assert_eq!((lists.capacity(), rooms), (4, vec![1, 2, 0, 1]));
    }
}
