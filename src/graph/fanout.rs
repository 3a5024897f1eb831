//! One batch to several consumers.

use crate::component::{BatchSize, BoxFuture, Consumer, Permit, Rejection, SendBatch};
use crate::model::Batch;
use crate::telemetry::names;
use std::sync::Arc;

/// These consumers as one: the only one itself, else a fan-out to all, in this order.
///
/// A fan-out holds a permit of every branch before it sends to any, so a branch without room refuses the batch
/// while nothing of it is anywhere.
pub fn join(branches: Vec<Arc<dyn Consumer>>) -> Arc<dyn Consumer> {
    match branches.as_slice() {
        [only] => only.clone(),
        _ => Arc::new(Fanout(branches)),
    }
}

struct Fanout(Vec<Arc<dyn Consumer>>);

impl Consumer for Fanout {
    fn reserve(&self, size: BatchSize) -> BoxFuture<'_, Result<Permit, Rejection>> {
        Box::pin(async move {
            let mut permits = Vec::with_capacity(self.0.len());
            for branch in &self.0 {
                permits.push(branch.reserve(size).await?);
            }
            Ok(Permit::new(Permits(permits)))
        })
    }
}

struct Permits(Vec<Permit>);

impl SendBatch for Permits {
    fn send(self: Box<Self>, batch: Batch) -> BoxFuture<'static, Result<(), Rejection>> {
        Box::pin(async move {
            let mut answer = Ok(());
            for permit in self.0 {
                answer = graver(answer, permit.send(batch.clone()).await);
            }
            answer.map_err(after_permits)
        })
    }
}

/// Whichever of two branches' answers binds the sender more.
fn graver(a: Result<(), Rejection>, b: Result<(), Rejection>) -> Result<(), Rejection> {
    if rank(&b) > rank(&a) { b } else { a }
}

/// `Unknown` first, since any other answer would be a promise. `Busy` before `Invalid`: a branch that was only
/// busy is still owed the batch. `Invalid` is answered where every branch that did not take the batch said so:
/// sending it again would only give the others a second copy.
fn rank(answer: &Result<(), Rejection>) -> u8 {
    match answer {
        Ok(()) => 0,
        Err(Rejection::Invalid(_)) => 1,
        Err(Rejection::Closed) => 2,
        Err(Rejection::Busy { .. }) => 3,
        Err(Rejection::Unknown(_)) => 4,
    }
}

/// `Closed` says that nothing of the batch was stored, which a fan-out can no longer say.
fn after_permits(rejection: Rejection) -> Rejection {
    metrics::counter!(names::FANOUT_PARTIAL.name).increment(1);
    match rejection {
        Rejection::Closed => Rejection::busy("one branch of the fan-out is shutting down"),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(answers: Vec<Result<(), Rejection>>) -> Result<(), Rejection> {
        answers.into_iter().fold(Ok(()), graver).map_err(after_permits)
    }

    #[test]
    fn a_branch_that_may_take_it_later_makes_the_answer_busy() {
        let busy = Err(Rejection::busy("full"));
        let invalid = || Err(Rejection::Invalid("too many attributes".into()));
        assert_eq!(of(vec![Ok(()), busy.clone(), invalid()]), busy);
        assert!(matches!(of(vec![Err(Rejection::Closed), Ok(())]), Err(Rejection::Busy { .. })));
        assert_eq!(of(vec![Ok(()), invalid()]), invalid());
    }

    #[test]
    fn an_unknown_outcome_is_never_turned_into_a_promise() {
        let unknown = Err(Rejection::Unknown("sync failed".into()));
        assert_eq!(of(vec![unknown.clone(), Err(Rejection::busy("full")), Ok(())]), unknown);
    }
}
