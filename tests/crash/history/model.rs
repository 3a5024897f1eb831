//! The plain model: every delivery of every span, and what is known of it.

use std::collections::BTreeMap;

/// What is known of one delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Answered `Ok`, or seen after a start: it must be there.
    There,
    /// Without an answer, or given up by an expiry that may not have happened, or perhaps collapsed into one that was.
    Perhaps,
    /// Refused, or expired: it must not be there.
    Gone,
}

#[derive(Debug, Clone)]
struct Delivery {
    name: String,
    state: State,
}

/// Trace and span.
pub type Key = (u64, u64);
/// The names of the spans that a reader sees.
pub type Seen = BTreeMap<Key, String>;

/// Deliveries of each span in the order in which the store took them.
#[derive(Debug, Default)]
pub struct Model(BTreeMap<Key, Vec<Delivery>>);

impl Model {
    pub fn deliver(&mut self, spans: &[(Key, String)], state: State) {
        for (key, name) in spans {
            self.0.entry(*key).or_default().push(Delivery { name: name.clone(), state });
        }
    }

    /// A segment that held exactly these was given up, or perhaps was. What they had replaced may have been in it too.
    pub fn give_up(&mut self, spans: &[(Key, String)], state: State) {
        for (key, name) in spans {
            let deliveries = self.0.get_mut(key).expect("a row nobody sent");
            let newest =
                deliveries.iter().rposition(|delivery| delivery.name == *name && delivery.state != State::Gone);
            let newest = newest.unwrap_or_else(|| panic!("{key:?} {name} was refused or expired and is in a segment"));
            deliveries[newest].state = state;
            for older in &mut deliveries[..newest] {
                if older.state == State::There {
                    older.state = State::Perhaps;
                }
            }
        }
    }

    /// Panics where `seen` is not what a reader may see.
    pub fn check(&self, seen: &Seen) {
        for (key, name) in seen {
            let (allowed, _) = self.allowed(key);
            assert!(allowed.contains(&&**name), "{key:?} shows {name}; it may show {allowed:?}: {:?}", self.0.get(key));
        }
        for key in self.0.keys().filter(|key| !seen.contains_key(key)) {
            let (allowed, absent) = self.allowed(key);
            assert!(absent, "{key:?} is lost; it may show {allowed:?}: {:?}", self.0.get(key));
        }
    }

    /// The names that a span may have, and whether it may be absent.
    fn allowed(&self, key: &Key) -> (Vec<&str>, bool) {
        let mut names = Vec::new();
        for delivery in self.0.get(key).into_iter().flatten().rev() {
            match delivery.state {
                State::There => {
                    names.push(&*delivery.name);
                    return (names, false);
                }
                State::Perhaps => names.push(&delivery.name),
                State::Gone => {}
            }
        }
        (names, true)
    }

    /// After a start, what is seen is there and what would be seen and is not is gone.
    pub fn settle(&mut self, seen: &Seen) {
        for (key, deliveries) in &mut self.0 {
            for delivery in deliveries.iter_mut().rev() {
                if seen.get(key) == Some(&delivery.name) && delivery.state != State::Gone {
                    delivery.state = State::There;
                    break;
                }
                if delivery.state == State::Perhaps {
                    delivery.state = State::Gone;
                }
            }
        }
    }
}
