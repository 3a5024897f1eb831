//! All of it at once: read, merge, expand, find the sections, check.

use super::{Config, Fault, Node, Resolved, Types, remarks, resolve, shape, validate};

/// A configuration that may run.
#[derive(Debug)]
pub struct Loaded {
    pub config: Config,
    /// The same as one value, for [`super::print`]; what components read as secrets is marked in it.
    pub node: Node,
    /// For people to read; each names the key it is about.
    pub warnings: Vec<String>,
}

/// Resolves the sources, checks the shape, the references and every component. Every fault there is, is in the error.
pub fn load(sources: &[String], sets: &[String], types: &dyn Types) -> Result<Loaded, Vec<Fault>> {
    check(resolve(sources, sets)?, types)
}

/// [`load`] from where the sources are resolved.
pub(super) fn check(resolved: Resolved, types: &dyn Types) -> Result<Loaded, Vec<Fault>> {
    let Resolved { mut node, mut warnings } = resolved;
    let mut faults = Vec::new();
    let (mut config, found) = remarks::gather(|| examine(&node, types, &mut faults));
    if !faults.is_empty() {
        return Err(faults);
    }
    found.secrets.iter().for_each(|path| config.mark_secret(path));
    config.replace_sections(&mut node);
    warnings.extend(found.warnings.iter().map(Fault::to_string));
    Ok(Loaded { config, node, warnings })
}

/// Whether sections are there is asked only where what is there could be read: otherwise they may be missing for that.
fn examine(node: &Node, types: &dyn Types, faults: &mut Vec<Fault>) -> Config {
    let mut config = shape::read(node, faults);
    if faults.is_empty() {
        validate::presence(&config, faults);
    }
    validate::references(&config, faults);
    validate::components(&config, types, faults);
    for pipeline in config.service.pipelines.values_mut() {
        pipeline.once();
    }
    config
}
