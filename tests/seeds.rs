//! The examples of the five texts that define the mission, tried as their readers would.

mod crabclaw;
mod deerflow;
mod deerflow_hosts;
mod opencode;
mod spring;
mod standard;
