use super::*;
use std::collections::BTreeSet;

/// What an operation sets off, by service and name.
fn targets(operation: &Operation) -> Vec<(&'static str, String)> {
    let of_step = |step: &Step| match step.what {
        What::Call(service, name) => vec![(service, name.to_owned())],
        What::Send(topic) => operations()
            .filter(|(_, operation)| matches!(operation.entry, Entry::Message(of) if of == topic))
            .map(|(service, operation)| (service, operation.entry.name()))
            .collect(),
        _ => Vec::new(),
    };
    operation.steps.iter().flat_map(of_step).collect()
}

fn find(service: &str, name: &str) -> Option<&'static Operation> {
    operations()
        .find(|(of, operation)| *of == service && operation.entry.name() == name)
        .map(|(_, operation)| operation)
}

#[test]
fn every_name_in_the_tables_is_the_name_of_one_operation() {
    let mut names = BTreeSet::new();
    for (service, operation) in operations() {
        assert!(names.insert((service, operation.entry.name())), "{service} {} twice", operation.entry.name());
        for (callee, name) in targets(operation) {
            assert!(find(callee, &name).is_some(), "{service} calls {callee} {name}, which is not there");
        }
    }
    for (_, service, name) in ROOTS {
        assert!(find(service, name).is_some(), "no {service} {name}");
    }
}

#[test]
fn no_operation_sets_itself_off() {
    fn visit(path: &mut Vec<(&'static str, String)>, operation: &Operation) {
        for target in targets(operation) {
            assert!(!path.contains(&target), "{path:?} leads to {target:?} again");
            let next = find(target.0, &target.1).unwrap();
            path.push(target);
            visit(path, next);
            path.pop();
        }
    }
    operations().for_each(|(service, operation)| visit(&mut vec![(service, operation.entry.name())], operation));
}

#[test]
fn a_call_can_be_answered_by_what_it_calls() {
    for (_, operation) in operations() {
        for step in operation.steps {
            if let What::Call(service, name) = step.what {
                let entry = callee(service, name);
                assert!(matches!(entry, Entry::Http { .. } | Entry::Rpc(_)), "{service} {name}");
                assert_eq!(entry.name(), name);
            }
        }
    }
}

#[test]
fn there_are_as_many_services_as_asked_for_and_each_copy_has_a_beginning() {
    for services in [1, 5, 12, 13, 30] {
        let plan = Plan::new(services);
        assert_eq!(plan.services.len(), services as usize);
        assert_eq!(plan.copies.len(), services.div_ceil(12) as usize);
        for roots in &plan.copies {
            assert!(roots.tickets() > 0 && roots.at(0).is_some() && roots.at(roots.tickets() - 1).is_some());
            assert_eq!(roots.at(roots.tickets()), None);
        }
    }
}

#[test]
fn indexes_of_a_plan_stay_in_its_copy() {
    let plan = Plan::new(24);
    for operation in &plan.operations {
        let copy = operation.service / 12;
        assert_eq!(plan.templates[operation.template].service, operation.service);
        for step in &operation.steps {
            assert_eq!(plan.templates[step.template].service, operation.service, "who calls has the span");
            assert!(step.targets.iter().all(|target| plan.operations[*target].service / 12 == copy));
        }
    }
}

#[test]
fn calls_to_services_that_take_no_part_stay_calls() {
    let plan = Plan::new(1);
    let calls = plan.operations.iter().flat_map(|operation| &operation.steps);
    let calls: Vec<_> = calls.filter(|step| matches!(step.step.what, What::Call(..))).collect();
    assert!(calls.len() > 5 && calls.iter().all(|step| step.targets.is_empty()));
}
