//! Other agent systems and the standard: the examples of their documentation, tried as its readers would.

mod crab_claw;
mod deerflow;
mod deerflow_hosts;
mod opencode;
mod spring;
mod standard;
