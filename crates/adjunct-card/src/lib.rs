//! The services of adjunctd: what its cards do for programs. What runs them is `adjunct-card-host`.
#![forbid(unsafe_code)]

pub mod accelerator;
pub mod ep11;

use accelerator::Accelerator;
use adjunct_card_host::service::Entry;
use ep11::Ep11;

/// The services of this adjunctd.
pub static SERVICES: [Entry; 2] = [Entry::of::<Accelerator>(), Entry::of::<Ep11>()];

#[cfg(test)]
mod tests {
    use super::*;
    use adjunct_card_state::config::SERVED;

    /// Commands judge `cards.conf` by that list before they start a daemon.
    #[test]
    fn the_configuration_is_judged_by_the_services_that_there_are() {
        assert_eq!(SERVICES.map(|entry| entry.facts.mode), SERVED);
    }
}
