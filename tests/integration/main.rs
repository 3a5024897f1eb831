//! The daemon as its users meet it: pipelines, life cycle, endpoints, commands; and what holds for every component.

mod cli;
mod contract;
mod endpoints;
mod example_config;
mod generate;
mod layering;
mod life_cycle;
mod pipelines;
mod reading;
mod round_trip;
mod same_answer;
mod searching;
#[path = "../support/mod.rs"]
mod shared;
mod support;
