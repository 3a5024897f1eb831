//! Until the segments have them.
use crate::model::TraceId;
use crate::storage::error::StorageError;
use crate::storage::segment::Segment;

pub trait SegmentExt {
    fn may_hold(&self, id: TraceId) -> bool;
    fn page_ids(&self, page: usize) -> Result<Vec<TraceId>, StorageError>;
}
impl SegmentExt for Segment {
    fn may_hold(&self, id: TraceId) -> bool {
        let (low, high) = self.footer().trace_ids;
        id >= low && id <= high
    }
    fn page_ids(&self, page: usize) -> Result<Vec<TraceId>, StorageError> {
        Ok(self.page(page)?.into_iter().map(|entry| entry.trace_id).collect())
    }
}
