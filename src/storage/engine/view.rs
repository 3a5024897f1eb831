//! What readers see: segments, frozen memtables and the active one, swapped as a whole.

use super::catalog::Sealed;
use crate::storage::manifest::LiveFile;
use crate::storage::memtable::{Entry, Memtable};
use crate::storage::segment::Segment;
use crate::storage::set_aside::SetAside;
use std::sync::{Arc, RwLock};

/// A live file that cannot be read, and why. It stays named by the manifest.
#[derive(Debug, Clone)]
pub struct Unreadable {
    pub file: LiveFile,
    pub why: String,
}

/// The parts of a store at one moment. A row is in exactly one of them.
#[derive(Clone)]
pub struct View {
    pub epoch: u64,
    pub segments: Arc<Vec<Arc<Segment>>>,
    pub unreadable: Arc<Vec<Unreadable>>,
    /// In LSN order. Their rows are older than those of any memtable.
    pub set_aside: Arc<Vec<Arc<SetAside>>>,
    /// Oldest first.
    pub frozen: Vec<Arc<Memtable>>,
    pub active: Arc<Memtable>,
}

/// One consistent moment, pinned: it never changes, whatever is sealed meanwhile.
#[derive(Clone)]
pub struct Snapshot {
    pub epoch: u64,
    pub segments: Arc<Vec<Arc<Segment>>>,
    pub unreadable: Arc<Vec<Unreadable>>,
    pub set_aside: Arc<Vec<Arc<SetAside>>>,
    /// Everything not in a segment, in LSN order: first what is set aside.
    pub(in crate::storage) entries: Vec<Entry>,
}

impl Snapshot {
    /// The highest LSN of a row in it; `None` where there is none.
    pub fn readable_lsn(&self) -> Option<u64> {
        let sealed = self.segments.iter().map(|segment| segment.footer().lsns.1).max();
        sealed.max(self.entries.last().map(|entry| entry.lsn))
    }

    /// Spans in memory and in the log only.
    pub fn memtable_spans(&self) -> u64 {
        let set_aside = self.set_aside.iter().map(|file| file.batches() as usize).sum();
        self.entries.iter().skip(set_aside).map(|entry| entry.batch.spans().len() as u64).sum()
    }
}

/// The entries of set-aside files and then of memtables.
pub fn entries(set_aside: &[Arc<SetAside>], memtables: impl IntoIterator<Item = Entry>) -> Vec<Entry> {
    set_aside.iter().flat_map(|file| file.entries.iter().cloned()).chain(memtables).collect()
}

/// The current view. Writers change it as a whole under its lock; readers clone it and go.
pub struct CurrentView(RwLock<View>);

impl CurrentView {
    pub fn new(view: View) -> Self {
        Self(RwLock::new(view))
    }

    pub fn get(&self) -> View {
        self.0.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Shows what the log held when the store was opened.
    pub fn begin(&self, frozen: Vec<Arc<Memtable>>, active: Memtable) {
        self.change(|view| (view.frozen, view.active) = (frozen, Arc::new(active)));
    }

    /// The memtable that batches go into now.
    pub fn active(&self) -> Arc<Memtable> {
        self.0.read().unwrap_or_else(|poisoned| poisoned.into_inner()).active.clone()
    }

    pub fn snapshot(&self) -> Snapshot {
        let View { epoch, segments, unreadable, set_aside, frozen, active } = self.get();
        let entries = entries(&set_aside, frozen.iter().chain([&active]).flat_map(|memtable| memtable.entries()));
        Snapshot { epoch, segments, unreadable, set_aside, entries }
    }

    fn change<T>(&self, change: impl FnOnce(&mut View) -> T) -> T {
        change(&mut self.0.write().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// Puts an empty memtable in the place of the active one, unless that is empty itself.
    pub fn freeze(&self) -> Option<Arc<Memtable>> {
        self.change(|view| {
            if view.active.is_empty() {
                return None;
            }
            let frozen = std::mem::take(&mut view.active);
            view.frozen.push(frozen.clone());
            Some(frozen)
        })
    }

    /// Puts what was made of a memtable in its place.
    pub fn publish(&self, sealed: Sealed, epoch: u64) {
        self.change(|view| {
            view.frozen.retain(|memtable| !Arc::ptr_eq(memtable, &sealed.memtable));
            Arc::make_mut(&mut view.segments).extend(sealed.segments);
            Arc::make_mut(&mut view.set_aside).extend(sealed.set_aside);
            view.epoch = epoch;
        });
    }

    /// Puts `new` in the place of the segments with these ids, and gives those back.
    pub fn replace(&self, ids: &[u64], new: &[Arc<Segment>], epoch: u64) -> Vec<Arc<Segment>> {
        self.change(|view| {
            let segments = Arc::make_mut(&mut view.segments);
            let gone = segments.extract_if(.., |segment| ids.contains(&segment.footer().id)).collect();
            segments.extend_from_slice(new);
            Arc::make_mut(&mut view.unreadable).retain(|file| !ids.contains(&file.file.id));
            Arc::make_mut(&mut view.set_aside).retain(|set_aside| !ids.contains(&set_aside.file.id));
            view.epoch = epoch;
            gone
        })
    }
}
