//! How far a run is, by the time that was estimated for it.

use crate::ssh::measure::Progress;

/// The estimate and what of it is done.
#[derive(Debug)]
pub struct Clock {
    /// What a copy of nothing takes, in seconds.
    pub login: f64,
    /// Bytes a second that AES makes on the stock side.
    pub speed: f64,
    total: f64,
    done: f64,
    progress: Option<Progress>,
}

impl Clock {
    /// At the beginning of work for `total` seconds.
    pub fn new(login: f64, speed: f64, total: f64) -> Clock {
        Clock { login, speed, total, done: 0.0, progress: None }
    }

    /// The estimate, in seconds.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// What is being measured.
    pub fn say(&mut self, what: &str) {
        let part = self.done / self.total.max(1e-9);
        self.progress.get_or_insert_default().set(part, what);
    }

    /// Work that was estimated to take this long is done.
    pub fn done(&mut self, seconds: f64) {
        self.done += seconds;
    }

    /// Takes the bar away, so that something can be printed.
    pub fn hide(&mut self) {
        self.progress = None;
    }
}

/// A time for people: "about 5 minutes".
pub fn about(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("about {} seconds", (s / 10.0).ceil().max(1.0) * 10.0),
        s if s < 5400.0 => format!("about {} minutes", (s / 60.0).ceil()),
        s => format!("about {:.1} hours", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_for_people() {
        assert_eq!(about(0.0), "about 10 seconds");
        assert_eq!(about(61.0), "about 70 seconds");
        assert_eq!(about(301.0), "about 6 minutes");
        assert_eq!(about(9000.0), "about 2.5 hours");
    }
}
