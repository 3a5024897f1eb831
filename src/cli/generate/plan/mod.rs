//! The shop made ready: names looked up, and all that never changes about spans encoded.

mod attributes;
mod endings;
mod resource;
mod template;
mod varying;

pub use attributes::put_int;
pub use endings::Endings;
pub use resource::SCHEMA;
pub use template::Template;
pub use varying::{Facts, Scratch};

use super::shop::{Entry, Latency, Operation, Part, ROOTS, SERVICES, Service, Step, What};
use std::collections::BTreeMap;
use template::Owner;

/// The services of a run and what they do. Indexes in here point into its own lists.
pub struct Plan {
    pub services: Vec<ServicePlan>,
    pub operations: Vec<OperationPlan>,
    pub templates: Vec<Template>,
    /// In the order of `Part::ALL`.
    pub endings: Vec<Endings>,
    /// How traces begin, for each copy of the shop; never empty.
    pub copies: Vec<Roots>,
}

pub struct ServicePlan {
    /// The resource field of each pod.
    pub resources: Vec<Vec<u8>>,
    /// The scope field of each part, in the order of `Part::ALL`.
    pub scopes: Vec<Vec<u8>>,
}

pub struct OperationPlan {
    pub service: usize,
    pub template: usize,
    pub work: Latency,
    pub steps: Vec<StepPlan>,
    /// It works on messages of other traces.
    pub links: bool,
}

pub struct StepPlan {
    pub step: &'static Step,
    pub template: usize,
    /// Operations that it sets off: none where they are in no service of this run.
    pub targets: Vec<usize>,
}

/// Operations with the shares of those before and itself added up.
pub struct Roots(pub Vec<(u32, usize)>);

impl Roots {
    /// The operation of this ticket.
    pub fn at(&self, ticket: u32) -> Option<usize> {
        self.0.iter().find(|(until, _)| ticket < *until).map(|(_, operation)| *operation)
    }

    pub fn tickets(&self) -> u32 {
        self.0.last().map_or(0, |(until, _)| *until)
    }
}

impl Plan {
    /// The first `services` of the shop; beyond the number there is, the shop is there again with numbered names.
    pub fn new(services: u32) -> Self {
        let endings = Part::ALL.into_iter().map(Endings::of).collect();
        let mut plan =
            Self { services: Vec::new(), operations: Vec::new(), templates: Vec::new(), endings, copies: Vec::new() };
        let per_copy = SERVICES.len() as u32;
        for copy in 0..services.div_ceil(per_copy) {
            let size = (services - copy * per_copy).min(per_copy);
            plan.add_copy(copy, SERVICES.get(..size as usize).unwrap_or(SERVICES));
        }
        plan
    }

    fn add_copy(&mut self, copy: u32, services: &'static [Service]) {
        let directory = Directory::of(services, self.operations.len());
        for service in services {
            let owner = Owner { service, index: self.services.len(), copy };
            self.services.push(ServicePlan::new(owner));
            service.operations.iter().for_each(|operation| self.add_operation(owner, operation, &directory));
        }
        let mut until = 0;
        let roots = ROOTS.iter().filter_map(|(share, service, name)| {
            let operation = directory.named(service, name)?;
            until += share;
            Some((until, operation))
        });
        self.copies.push(Roots(roots.collect()));
    }

    fn add_operation(&mut self, owner: Owner<'_>, operation: &'static Operation, directory: &Directory) {
        let template = self.add_template(Template::entry(owner, &operation.entry).with(operation.attributes));
        let steps = operation.steps.iter().map(|step| self.step(owner, step, directory)).collect();
        let links = matches!(operation.entry, Entry::Messages(_));
        self.operations.push(OperationPlan { service: owner.index, template, work: operation.work, steps, links });
    }

    fn step(&mut self, owner: Owner<'_>, step: &'static Step, directory: &Directory) -> StepPlan {
        let template = match step.what {
            What::Work(name, _, attributes) => Template::work(owner, name).with(attributes),
            What::Query(query) => Template::query(owner, query),
            What::Call(service, name) => Template::call(owner, service, &callee(service, name)),
            What::Outside(method, host, path, _) => {
                Template::request(owner, method, &format!("https://{host}{path}"), host, 443)
            }
            What::Send(topic) => Template::producer(owner, topic, is_read_in_batches(topic)),
        };
        let targets = match step.what {
            What::Call(service, name) => directory.named(service, name).into_iter().collect(),
            What::Send(topic) => directory.listeners(topic),
            _ => Vec::new(),
        };
        StepPlan { step, template: self.add_template(template), targets }
    }

    fn add_template(&mut self, template: Template) -> usize {
        self.templates.push(template);
        self.templates.len() - 1
    }
}

impl ServicePlan {
    fn new(Owner { service, copy, .. }: Owner<'_>) -> Self {
        Self {
            resources: (0..service.instances).map(|pod| resource::resource(service, copy, pod)).collect(),
            scopes: Part::ALL.into_iter().map(|part| resource::scope(service, copy, part)).collect(),
        }
    }
}

/// Where the operations of a copy of the shop will be.
struct Directory {
    named: BTreeMap<(&'static str, String), usize>,
    listeners: Vec<(&'static str, usize)>,
}

impl Directory {
    /// The first operation will be at `first`.
    fn of(services: &'static [Service], first: usize) -> Self {
        let operations =
            services.iter().flat_map(|service| service.operations.iter().map(move |of| (service.name, of)));
        let mut directory = Self { named: BTreeMap::new(), listeners: Vec::new() };
        for (at, (service, operation)) in operations.enumerate() {
            directory.named.insert((service, operation.entry.name()), first + at);
            if let Entry::Message(topic) = operation.entry {
                directory.listeners.push((topic, first + at));
            }
        }
        directory
    }

    fn named(&self, service: &'static str, name: &str) -> Option<usize> {
        self.named.get(&(service, name.to_owned())).copied()
    }

    fn listeners(&self, topic: &str) -> Vec<usize> {
        self.listeners.iter().filter(|(of, _)| *of == topic).map(|(_, at)| *at).collect()
    }
}

fn operations() -> impl Iterator<Item = (&'static str, &'static Operation)> {
    SERVICES.iter().flat_map(|service| service.operations.iter().map(move |operation| (service.name, operation)))
}

/// How a called operation is entered, whether or not its service takes part. The tables name none that is not there.
fn callee(service: &str, name: &str) -> Entry {
    let found = operations().find(|(of, operation)| *of == service && operation.entry.name() == name);
    found.map_or(Entry::Rpc("unknown"), |(_, operation)| operation.entry)
}

fn is_read_in_batches(topic: &str) -> bool {
    operations().any(|(_, operation)| matches!(operation.entry, Entry::Messages(of) if of == topic))
}

#[cfg(test)]
mod tests;
