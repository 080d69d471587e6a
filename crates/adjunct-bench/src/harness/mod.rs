//! The harness that every measurement is run on.
//!
//! * [`turns`]: sides are measured in turns; [`figures`]: medians, quartiles, percentiles, and whether two values differ; [`busy`]: whether the
//!   machine was quiet meanwhile.
//! * [`run`]: a run from its first row to its exit status: what is shown, written, and ended early.
//! * [`worker`]: a process of this program that works for another.
//! * [`row`]: what a row is in a table, on a page and in JSON; [`header`]: what every report says of machine and libraries; [`page`]: the pages.
#![forbid(unsafe_code)]

pub mod busy;
pub mod figures;
pub mod header;
pub mod page;
pub mod row;
pub mod run;
pub mod turns;
pub mod worker;
