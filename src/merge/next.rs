//! One merge of a store: planned, claimed, done.

use super::policy::{Candidate, Job, plan};
use super::{MergeError, Options, Report, merge};
use crate::storage::Engine;
use crate::storage::engine::Claim;
use crate::storage::segment::Segment;
use std::sync::Arc;

/// Does the most useful merge that can be begun; `None` where nothing is to do. `settle`: see [`Options::policy`]. An
/// input that turns out to be damaged is left out of later ones, and so are all inputs of a merge whose ledger does not
/// add up.
pub fn merge_next(
    engine: &Engine,
    options: &Options,
    settle: bool,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Report>, MergeError> {
    engine.end_doubt()?;
    let segments = engine.mergeable();
    let candidates: Vec<_> = segments.iter().map(|segment| candidate(segment)).collect();
    let jobs = plan(&candidates, engine.now(), &options.policy(settle));
    let possible = jobs.iter().filter(|job| has_room(engine, job));
    // A job that another thread took meanwhile is passed over.
    match possible.filter_map(|job| claim(engine, job, &segments)).next() {
        Some(claim) => {
            merge(engine, &claim, options, go_on).map(Some).inspect_err(|error| leave_out(engine, &claim, error))
        }
        None => match jobs.first() {
            Some(job) if !has_room(engine, job) => Err(MergeError::NoRoom(job.bytes)),
            _ => Ok(None),
        },
    }
}

fn candidate(segment: &Segment) -> Candidate {
    let footer = segment.footer();
    let (id, rows, received) = (footer.id, footer.rows, footer.received);
    Candidate { id, bytes: segment.size(), rows, received, unjudged: footer.unjudged > 0 }
}

fn claim(engine: &Engine, job: &Job, segments: &[Arc<Segment>]) -> Option<Claim> {
    let inputs = job.inputs.iter().filter_map(|id| segments.iter().find(|segment| segment.footer().id == *id));
    engine.claim(inputs.cloned().collect())
}

fn leave_out(engine: &Engine, claim: &Claim, error: &MergeError) {
    match error {
        MergeError::Damaged { id, error } => engine.note_damaged(*id, error.to_string()),
        MergeError::Ledger(_) => {
            let ids = claim.segments().iter().map(|segment| segment.footer().id);
            ids.for_each(|id| engine.note_damaged(id, error.to_string()));
        }
        MergeError::Failed(_) | MergeError::NoRoom(_) | MergeError::Stopped => {}
    }
}

/// Whether the disk has room for what a merge writes while its inputs are there.
fn has_room(engine: &Engine, job: &Job) -> bool {
    engine.room_for_merge(job.bytes)
}
