//! The parameters of a request, taken out one by one. What is left over is refused by name: whoever sends a parameter
//! expects an effect.

use super::answer::Refusal;
use axum::extract::Query;
use axum::http::Uri;

/// What was not taken yet, and what could be.
pub struct Parameters {
    left: Vec<(String, String)>,
    known: Vec<&'static str>,
}

impl Parameters {
    pub fn of(uri: &Uri) -> Result<Self, Refusal> {
        let Query(left) = Query::try_from_uri(uri).map_err(|error| Refusal::bad(error.body_text()))?;
        Ok(Self { left, known: Vec::new() })
    }

    /// Takes a parameter that may be given once, under any of its names, the first of which is the one to use. With an
    /// empty value it is as if it were not there: forms send all their fields.
    pub fn one<T>(
        &mut self,
        names: &[&'static str],
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, Refusal> {
        let mut given = self.all(names, parse)?;
        match given.len() {
            0 | 1 => Ok(given.pop()),
            _ => Err(Refusal::bad(format!("{}: given more than once", names.join(", ")))),
        }
    }

    /// Takes a parameter that may be given several times.
    pub fn all<T>(
        &mut self,
        names: &[&'static str],
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Vec<T>, Refusal> {
        self.known.extend(names.first());
        let taken: Vec<_> = self.left.extract_if(.., |(name, _)| names.contains(&name.as_str())).collect();
        let given = taken.iter().filter(|(_, value)| !value.is_empty());
        given.map(|(name, value)| parse(value).map_err(|why| Refusal::bad(format!("{name}: {why}")))).collect()
    }

    /// Everything that is understood was taken.
    pub fn end(self) -> Result<(), Refusal> {
        let Some((unknown, _)) = self.left.first() else { return Ok(()) };
        let known = if self.known.is_empty() { "none".to_owned() } else { self.known.join(", ") };
        Err(Refusal::bad(format!("there is no parameter \"{unknown}\" here (known: {known})")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::value;
    use super::*;

    fn of(query: &str) -> Parameters {
        Parameters::of(&format!("/?{query}").parse().unwrap()).unwrap()
    }

    #[test]
    fn what_is_left_over_is_refused_with_what_is_known() {
        let mut parameters = of("a=1&limit=2");
        assert_eq!(parameters.one(&["a", "old_a"], value::boolean), Ok(Some(true)));
        assert_eq!(parameters.one(&["b"], value::boolean), Ok(None));
        let refusal = parameters.end().unwrap_err();
        assert_eq!(refusal, Refusal::bad("there is no parameter \"limit\" here (known: a, b)"));
        assert!(of("limit=").end().unwrap_err().message.contains("(known: none)"));
        assert_eq!(of("").end(), Ok(()));
    }

    #[test]
    fn an_empty_value_is_none_and_two_are_too_many() {
        assert_eq!(of("a=&a=1").one(&["a"], value::boolean), Ok(Some(true)));
        assert_eq!(of("a").one(&["a"], value::boolean), Ok(None));
        let refusal = of("a=1&old_a=1").one(&["a", "old_a"], value::boolean).unwrap_err();
        assert_eq!(refusal, Refusal::bad("a, old_a: given more than once"));
        assert_eq!(of("a=1&a=&a=0").all(&["a"], value::boolean), Ok(vec![true, false]));
    }

    #[test]
    fn a_bad_value_is_refused_under_the_name_that_was_used() {
        let refusal = of("old_a=maybe").one(&["a", "old_a"], value::boolean).unwrap_err();
        assert_eq!(refusal, Refusal::bad("old_a: \"maybe\" is neither true nor false"));
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(of("a=x%3Dy+z%20%C3%BC").one(&["a"], value::text), Ok(Some("x=y z ü".into())));
    }
}
