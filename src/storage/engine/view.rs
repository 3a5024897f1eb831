//! What readers see: segments, frozen memtables and the active one, swapped as a whole.

use crate::storage::manifest::LiveFile;
use crate::storage::memtable::{Entry, Memtable};
use crate::storage::segment::Segment;
use std::sync::{Arc, OnceLock, RwLock};

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
    /// Everything not yet in a segment, in LSN order.
    pub(in crate::storage) entries: Vec<Entry>,
}

impl Snapshot {
    /// The highest LSN of a row in it; `None` where there is none.
    pub fn readable_lsn(&self) -> Option<u64> {
        let sealed = self.segments.iter().map(|segment| segment.footer().lsns.1).max();
        sealed.max(self.entries.last().map(|entry| entry.lsn))
    }

    /// Spans not yet in a segment.
    pub fn memtable_spans(&self) -> u64 {
        self.entries.iter().map(|entry| entry.batch.spans().len() as u64).sum()
    }
}

/// The current view. Writers change it as a whole under its lock; readers clone it and go.
pub struct CurrentView {
    view: RwLock<View>,
    /// Called after the list of segments has changed.
    listener: OnceLock<Listener>,
}

/// Called on the thread that changed the segments: it must be quick and must not block.
pub type Listener = Box<dyn Fn() + Send + Sync>;

impl CurrentView {
    pub fn new(view: View) -> Self {
        Self { view: RwLock::new(view), listener: OnceLock::new() }
    }

    pub fn get(&self) -> View {
        self.view.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Shows what the log held when the store was opened.
    pub fn begin(&self, frozen: Vec<Arc<Memtable>>, active: Memtable) {
        self.change(|view| (view.frozen, view.active) = (frozen, Arc::new(active)));
    }

    /// The memtable that batches go into now.
    pub fn active(&self) -> Arc<Memtable> {
        self.view.read().unwrap_or_else(|poisoned| poisoned.into_inner()).active.clone()
    }

    pub fn snapshot(&self) -> Snapshot {
        let View { epoch, segments, unreadable, frozen, active } = self.get();
        let entries = frozen.iter().chain([&active]).flat_map(|memtable| memtable.entries()).collect();
        Snapshot { epoch, segments, unreadable, entries }
    }

    fn change<T>(&self, change: impl FnOnce(&mut View) -> T) -> T {
        change(&mut self.view.write().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// Calls this after every change of the segments from now on. The first listener stays.
    pub fn listen(&self, listener: Listener) {
        // There is one: the merge threads of a store are started once.
        let _ = self.listener.set(listener);
    }

    fn tell(&self) {
        if let Some(listener) = self.listener.get() {
            listener();
        }
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

    /// Puts a segment in the place of the memtable it was made from.
    pub fn publish(&self, sealed: &Arc<Memtable>, segment: Arc<Segment>, epoch: u64) {
        self.change(|view| {
            view.frozen.retain(|memtable| !Arc::ptr_eq(memtable, sealed));
            Arc::make_mut(&mut view.segments).push(segment);
            view.epoch = epoch;
        });
        self.tell();
    }

    /// Puts `new` in the place of the segments with these ids, and gives those back.
    pub fn replace(&self, ids: &[u64], new: &[Arc<Segment>], epoch: u64) -> Vec<Arc<Segment>> {
        let gone = self.change(|view| {
            let segments = Arc::make_mut(&mut view.segments);
            let gone = segments.extract_if(.., |segment| ids.contains(&segment.footer().id)).collect();
            segments.extend_from_slice(new);
            Arc::make_mut(&mut view.unreadable).retain(|file| !ids.contains(&file.file.id));
            view.epoch = epoch;
            gone
        });
        self.tell();
        gone
    }
}
