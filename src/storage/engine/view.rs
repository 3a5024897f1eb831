//! What readers see: segments, frozen memtables and the active one, swapped as a whole.

use super::catalog::Sealed;
use crate::storage::manifest::LiveFile;
use crate::storage::memtable::{Memtable, MemtableView};
use crate::storage::segment::Segment;
use crate::storage::set_aside::SetAside;
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
    /// In LSN order. Their rows are older than those of any memtable.
    pub set_aside: Arc<Vec<Arc<SetAside>>>,
    /// Oldest first.
    pub frozen: Vec<Arc<Memtable>>,
    pub active: Arc<Memtable>,
    /// Batches of the log that are in no memtable yet.
    pub unread: u64,
}

/// One consistent moment, pinned: it never changes, whatever is sealed meanwhile.
#[derive(Clone)]
pub struct Snapshot {
    pub epoch: u64,
    pub segments: Arc<Vec<Arc<Segment>>>,
    pub unreadable: Arc<Vec<Unreadable>>,
    pub set_aside: Arc<Vec<Arc<SetAside>>>,
    /// Everything not in a segment, in LSN order: first what is set aside.
    pub(in crate::storage) memory: Vec<MemtableView>,
    /// Batches that were answered and are not in it: the log is being replayed.
    pub unread: u64,
}

impl Snapshot {
    /// What is not in it though it should be, a sentence each.
    pub fn missing(&self) -> impl Iterator<Item = String> {
        let unreadable = self.unreadable.iter().map(|file| file.why.clone());
        let unread = Some(self.unread).filter(|&left| left > 0);
        unreadable.chain(unread.map(|left| format!("the log is being replayed: {left} batches are not readable yet")))
    }

    /// The highest LSN of a row in it; `None` where there is none.
    pub fn readable_lsn(&self) -> Option<u64> {
        let sealed = self.segments.iter().map(|segment| segment.footer().lsns.1).max();
        let in_memory = self.memory.iter().filter_map(|memtable| memtable.lsns()).map(|(_, last)| last).max();
        sealed.max(in_memory)
    }

    /// Spans in memory and in the log only.
    pub fn memtable_spans(&self) -> u64 {
        let memtables = self.memory.iter().skip(self.set_aside.len());
        memtables.flat_map(|memtable| memtable.entries()).map(|entry| entry.batch.spans().len() as u64).sum()
    }
}

/// What set-aside files hold, each, and then what memtables hold now.
pub fn memory(set_aside: &[Arc<SetAside>], memtables: impl Iterator<Item = Arc<Memtable>>) -> Vec<MemtableView> {
    let set_aside = set_aside.iter().map(|file| MemtableView::new(file.memtable.clone()));
    set_aside.chain(memtables.map(MemtableView::new).filter(|memtable| !memtable.is_empty())).collect()
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
        let View { epoch, segments, unreadable, set_aside, frozen, active, unread } = self.get();
        // What is added to the active memtable from here on is newer than all of this and not seen.
        let memory = memory(&set_aside, frozen.into_iter().chain([active]));
        Snapshot { epoch, segments, unreadable, set_aside, memory, unread }
    }

    /// Says how many batches of the log are in no memtable yet.
    pub fn set_unread(&self, batches: u64) {
        self.change(|view| view.unread = batches);
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

    /// Puts what was made of a memtable in its place.
    pub fn publish(&self, sealed: Sealed, epoch: u64) {
        self.change(|view| {
            view.frozen.retain(|memtable| !Arc::ptr_eq(memtable, &sealed.memtable));
            Arc::make_mut(&mut view.segments).extend(sealed.segments);
            Arc::make_mut(&mut view.set_aside).extend(sealed.set_aside);
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
            Arc::make_mut(&mut view.set_aside).retain(|set_aside| !ids.contains(&set_aside.file.id));
            view.epoch = epoch;
            gone
        });
        self.tell();
        gone
    }
}
