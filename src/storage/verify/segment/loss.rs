//! What damage to a segment costs, place by place.

use super::content::{Content, Lost};
use crate::storage::manifest::LiveFile;
use crate::storage::segment::{Anatomy, SectionKind};
use crate::storage::verify::{Cost, Finding, Kind, Loss};

impl Content {
    /// Says of each damaged place what it costs.
    pub fn charge(&self, found: &mut [Finding], anatomy: &Anatomy, live: &LiveFile) {
        let mut nameless = Some(self.nameless).filter(|lost| lost.rows > 0);
        let expected = anatomy.footer.as_ref().map_or(live.rows, |footer| footer.rows);
        let known: u64 = self.lost.values().map(|lost| lost.rows).sum();
        // Rows of traces that neither a block nor the directory tells of.
        let mut unknown = expected.saturating_sub(self.footer.rows.saturating_add(known));
        for finding in found.iter_mut() {
            let Some(range) = finding.bytes else { continue };
            let block = anatomy.blocks.iter().position(|(offset, _)| *offset == range.0).map(|at| at as u32);
            let mut lost = block.and_then(|block| self.lost.get(&block)).copied().unwrap_or_default();
            let may_hide = block.is_some() || !anatomy.blocks_known || finding.kind == Kind::CutShort;
            if may_hide {
                lost.rows += std::mem::take(&mut unknown);
            }
            if is_table(anatomy, range.0)
                && let Some(nameless) = nameless.take()
            {
                lost = nameless;
            }
            charge(finding, lost);
        }
        let (mut rest, charged) = (Lost { rows: unknown, traces: None }, charged_blocks(found, anatomy));
        for (block, lost) in &self.lost {
            if !charged.contains(block) {
                rest.rows += lost.rows;
                rest.traces = rest.traces.or(lost.traces);
            }
        }
        rest.rows += nameless.map_or(0, |lost| lost.rows);
        if let Some(first) = found.first_mut() {
            charge(first, rest);
        }
    }
}

fn charge(finding: &mut Finding, lost: Lost) {
    if lost.rows == 0 {
        return;
    }
    let before = match &finding.cost {
        Cost::Lost(loss) => loss.clone(),
        Cost::Nothing => Loss { rows: Some(0), ..Loss::default() },
    };
    let rows = Some(before.rows.unwrap_or(0) + lost.rows);
    finding.cost = Cost::Lost(Loss { rows, traces: before.traces.or(lost.traces), lsns: None });
}

fn charged_blocks(found: &[Finding], anatomy: &Anatomy) -> Vec<u32> {
    let starts: Vec<_> = found.iter().filter_map(|finding| Some(finding.bytes?.0)).collect();
    (0u32..).zip(&anatomy.blocks).filter(|(_, block)| starts.contains(&block.0)).map(|(index, _)| index).collect()
}

fn is_table(anatomy: &Anatomy, offset: u64) -> bool {
    let tables = [SectionKind::RESOURCES, SectionKind::SCOPES];
    anatomy.sections().iter().any(|part| part.offset == offset && tables.contains(&part.kind))
}
