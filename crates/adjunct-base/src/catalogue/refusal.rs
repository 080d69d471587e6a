/// Why an operation that was to go to a card was not done by one; its program did it itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Refusal {
    /// No process listens, or the socket cannot be reached: no daemon, no permission, a chroot.
    Nobody = 0,
    /// The card had enough to do, or does not work for this user now.
    Busy,
    /// The card, and the next that was asked, went offline.
    Offline,
    /// No answer came in time.
    Silent,
    /// The card could not work with the key or the input.
    Invalid,
    /// The connection ended before the answer came, or what came was none.
    Gone,
    /// The result was wrong.
    Wrong,
}

impl Refusal {
    /// All, in the order of reports.
    pub const ALL: [Refusal; 7] = [
        Refusal::Nobody,
        Refusal::Busy,
        Refusal::Offline,
        Refusal::Silent,
        Refusal::Invalid,
        Refusal::Gone,
        Refusal::Wrong,
    ];

    /// The reason in words, for people.
    pub const fn text(self) -> &'static str {
        match self {
            Refusal::Nobody => "nobody listened",
            Refusal::Busy => "busy",
            Refusal::Offline => "went offline",
            Refusal::Silent => "no answer in time",
            Refusal::Invalid => "key or input refused",
            Refusal::Gone => "card ended",
            Refusal::Wrong => "wrong result",
        }
    }

    /// The reason as a word, for programs.
    pub const fn word(self) -> &'static str {
        match self {
            Refusal::Nobody => "nobody",
            Refusal::Busy => "busy",
            Refusal::Offline => "offline",
            Refusal::Silent => "silent",
            Refusal::Invalid => "invalid",
            Refusal::Gone => "gone",
            Refusal::Wrong => "wrong",
        }
    }
}
