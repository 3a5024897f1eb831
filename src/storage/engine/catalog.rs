//! The one writer of the manifest: seals, merges and expiry change the list of live files through it, one after the
//! other, and readers see each change as soon as it is durable.

use super::view::CurrentView;
use crate::model::time::Nanos;
use crate::storage::disk::Disk;
use crate::storage::error::StorageError;
use crate::storage::files::Layout;
use crate::storage::manifest::{self, FileKind, LiveFile, Manifest};
use crate::storage::memtable::Memtable;
use crate::storage::segment::Segment;
use crate::storage::set_aside::SetAside;
use crate::telemetry::Laps;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// See the module. `now` is store time wherever it is asked for.
pub struct Catalog {
    disk: Arc<dyn Disk>,
    layout: Layout,
    /// What readers see. Changed only right after the manifest that says the same.
    pub view: CurrentView,
    state: Mutex<State>,
    /// Above the id of every log file begun so far.
    next_log: AtomicU64,
    /// Above the id of every segment begun so far. Apart from the rest, so that a freeze never waits for a manifest.
    next_segment: AtomicU64,
}

struct State {
    manifest: Manifest,
    /// Sealed, by the order of their freezing, and not yet published.
    sealed: BTreeMap<u64, Sealed>,
    /// The freeze that is published next.
    next_freeze: u64,
    /// Segments that a merge works on, and whether it should stop.
    claims: HashMap<u64, Arc<AtomicBool>>,
}

/// A memtable and what was made of it: together they hold all its rows.
#[derive(Clone)]
pub struct Sealed {
    pub memtable: Arc<Memtable>,
    /// One, unless batches had to be kept apart.
    pub segments: Vec<Arc<Segment>>,
    /// The batches that cannot be in a segment.
    pub set_aside: Option<Arc<SetAside>>,
    /// The time since its freeze.
    pub laps: Laps,
}

impl Sealed {
    fn live_files(&self) -> impl Iterator<Item = LiveFile> {
        let segments = self.segments.iter().map(|segment| live_file(segment));
        segments.chain(self.set_aside.iter().map(|set_aside| set_aside.file.clone()))
    }

    /// Bytes of memory that are free once this is published: rows that are set aside stay in it.
    fn memory(&self) -> usize {
        let kept = self.set_aside.as_ref().map_or(0, |set_aside| set_aside.memory());
        self.memtable.bytes().saturating_sub(kept)
    }
}

/// What publishing seals did.
#[derive(Clone, Default)]
pub struct Published {
    /// How many memtables are in named files now that were not.
    pub memtables: usize,
    /// Bytes of memory that they no longer take.
    pub memory: usize,
    /// Every row below this LSN is in a named file.
    pub position: u64,
    /// Batches that were set aside.
    pub set_aside: u64,
    /// For each memtable the time since its freeze, and when its publishing began.
    pub laps: Vec<Laps>,
}

impl Catalog {
    pub fn new(disk: Arc<dyn Disk>, layout: Layout, manifest: Manifest, view: CurrentView) -> Self {
        let (next_segment, next_log) = (AtomicU64::new(manifest.next_segment), AtomicU64::new(manifest.next_log));
        let (sealed, claims) = (BTreeMap::new(), HashMap::new());
        let state = Mutex::new(State { manifest, sealed, next_freeze: 0, claims });
        Self { disk, layout, view, state, next_log, next_segment }
    }

    /// Says that log files up to this id may have been begun.
    pub fn set_next_log(&self, next: u64) {
        self.next_log.store(next, Ordering::Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// An id that no segment has or had.
    pub fn new_segment(&self) -> u64 {
        self.next_segment.fetch_add(1, Ordering::Relaxed)
    }

    /// The manifest as it was last written.
    pub fn manifest(&self) -> Manifest {
        self.state().manifest.clone()
    }

    /// Takes over what was sealed as number `freeze`, to be published once all before it are.
    pub fn add_sealed(&self, freeze: u64, sealed: Sealed) {
        self.state().sealed.insert(freeze, sealed);
    }

    /// Writes the manifest as it is, so that it knows of every id given out so far: a start then removes the files of ids
    /// that it does not name, and asks for nothing.
    pub fn know_ids(&self, now: Nanos) -> Result<(), StorageError> {
        self.state().commit(self, now, |_| {})
    }

    /// Names everything that was sealed and whose predecessors are all named, in one manifest.
    ///
    /// Errors: the manifest cannot be written; all is as before.
    pub fn publish_sealed(&self, now: Nanos) -> Result<Published, StorageError> {
        let mut state = self.state();
        let began = Instant::now();
        let first = state.next_freeze;
        let ready = state.sealed.iter().zip(first..).take_while(|((freeze, _), next)| *freeze == next);
        let ready: Vec<_> = ready.map(|((_, sealed), _)| sealed.clone()).collect();
        let Some(last) = ready.last() else { return Ok(Published::default()) };
        let position = last.memtable.last_lsn().map_or(0, |lsn| lsn + 1);
        state.commit(self, now, |manifest| {
            manifest.position = manifest.position.max(position);
            manifest.files.extend(ready.iter().flat_map(Sealed::live_files));
        })?;
        let mut published = Published { position: state.manifest.position, ..Published::default() };
        let next = first + ready.len() as u64;
        state.next_freeze = next;
        state.sealed = state.sealed.split_off(&next);
        for sealed in ready {
            published.add(&sealed, began);
            self.view.publish(sealed, state.manifest.epoch);
        }
        Ok(published)
    }

    /// Takes these segments for a merge: all of them, or none if one is not live or taken already.
    pub fn claim(self: &Arc<Self>, segments: Vec<Arc<Segment>>) -> Option<Claim> {
        let mut state = self.state();
        let ids: Vec<_> = segments.iter().map(|segment| segment.footer().id).collect();
        let free = |id: &u64| !state.claims.contains_key(id) && state.manifest.files.iter().any(|file| file.id == *id);
        if !ids.iter().all(free) {
            return None;
        }
        let cancelled = Arc::new(AtomicBool::new(false));
        ids.iter().for_each(|&id| drop(state.claims.insert(id, cancelled.clone())));
        Some(Claim { catalog: self.clone(), segments, cancelled })
    }

    /// Whether a merge works on this segment.
    pub fn is_claimed(&self, id: u64) -> bool {
        self.state().claims.contains_key(&id)
    }

    /// Puts `outputs`, which are durable under their names, in the place of what was claimed.
    ///
    /// Errors: an input was expired meanwhile, so that the outputs are to be given up; or the manifest cannot be
    /// written: then the outputs may be named on disk already and must stay until a later manifest is written.
    pub fn replace(&self, now: Nanos, claim: &Claim, outputs: &[Arc<Segment>]) -> Result<(), ReplaceError> {
        let mut state = self.state();
        let inputs: Vec<_> = claim.segments.iter().map(|segment| segment.footer().id).collect();
        let live = |id: &u64| state.manifest.files.iter().any(|file| file.id == *id);
        if claim.is_cancelled() || !inputs.iter().all(live) {
            return Err(ReplaceError::Cancelled);
        }
        let change = |manifest: &mut Manifest| {
            manifest.files.retain(|file| !inputs.contains(&file.id));
            manifest.files.extend(outputs.iter().map(|segment| live_file(segment)));
        };
        state.commit(self, now, change).map_err(ReplaceError::Failed)?;
        self.view.replace(&inputs, outputs, state.manifest.epoch);
        claim.segments.iter().for_each(|segment| segment.remove_when_unused(self.disk.clone()));
        Ok(())
    }

    /// Gives up these segments. A merge that works on one of them is told to stop.
    pub fn expire(&self, now: Nanos, ids: &[u64]) -> Result<(), StorageError> {
        let mut state = self.state();
        ids.iter().filter_map(|id| state.claims.get(id)).for_each(|cancel| cancel.store(true, Ordering::Relaxed));
        state.commit(self, now, |manifest| {
            manifest.files.retain(|file| !ids.contains(&file.id));
        })?;
        for segment in self.view.replace(ids, &[], state.manifest.epoch) {
            segment.remove_when_unused(self.disk.clone());
        }
        Ok(())
    }
}

impl Published {
    fn add(&mut self, sealed: &Sealed, began: Instant) {
        self.memtables += 1;
        self.memory += sealed.memory();
        self.set_aside += sealed.set_aside.as_ref().map_or(0, |set_aside| set_aside.batches());
        let mut laps = sealed.laps.clone();
        laps.end_at("seal_wait", began);
        self.laps.push(laps);
    }

    /// Counts the time that each memtable took from its freeze until now.
    pub fn record(self) {
        for mut laps in self.laps {
            laps.end("seal_publish");
            laps.whole("seal");
        }
    }
}

impl State {
    /// Writes a changed manifest. On an error the old one stays in memory, and the attempt's epoch is used up, for it may
    /// be on disk.
    fn commit(
        &mut self,
        catalog: &Catalog,
        now: Nanos,
        change: impl FnOnce(&mut Manifest),
    ) -> Result<(), StorageError> {
        self.manifest.epoch += 1;
        let mut next = self.manifest.clone();
        next.next_segment = catalog.next_segment.load(Ordering::Relaxed);
        next.next_log = next.next_log.max(catalog.next_log.load(Ordering::Relaxed));
        next.clock = next.clock.max(now);
        change(&mut next);
        manifest::store(&*catalog.disk, &catalog.layout, &next)?;
        self.manifest = next;
        Ok(())
    }
}

/// Why a merge's outputs did not take the place of its inputs.
#[derive(Debug)]
pub enum ReplaceError {
    /// An input is no longer live.
    Cancelled,
    Failed(StorageError),
}

/// Segments that one merge works on. Free again when dropped.
pub struct Claim {
    catalog: Arc<Catalog>,
    segments: Vec<Arc<Segment>>,
    cancelled: Arc<AtomicBool>,
}

impl Claim {
    pub fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }

    /// Whether an input was expired: the merge can stop, its outputs would be refused.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut state = self.catalog.state();
        for segment in &self.segments {
            state.claims.remove(&segment.footer().id);
        }
    }
}

/// How the manifest names a segment.
pub fn live_file(segment: &Segment) -> LiveFile {
    let footer = segment.footer();
    LiveFile {
        kind: FileKind::Segment,
        id: footer.id,
        bytes: segment.size(),
        rows: footer.rows,
        traces: footer.traces,
        lsns: footer.lsns,
        received: footer.received,
        not_before: 0,
    }
}
