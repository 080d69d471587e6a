//! Measured connections, through the machine's real ssh and sshd.

use adjunct_cli::ssh::lab::Programs;
use adjunct_cli::ssh::measure::{Cost, Data, Limits, Rig, Side, Suite, interleave};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// The kernel's account of children is the process's: one measurement at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(|e| e.into_inner())
}

fn rig() -> Option<Rig> {
    match Programs::find(None, None) {
        Ok(programs) => Some(Rig::new(programs).expect("a rig")),
        Err(missing) => {
            eprintln!("SKIPPED: {missing}");
            None
        }
    }
}

fn plausible(cost: &Cost) {
    assert!(cost.client > 0.0005 && cost.client < 60.0, "{cost:?}");
    assert!(cost.server > 0.0005 && cost.server < 60.0, "{cost:?}");
    assert!(cost.first > 0.0 && cost.first <= cost.seconds, "{cost:?}");
}

#[test]
fn logins_with_every_type_of_key() {
    let _alone = alone();
    let Some(mut rig) = rig() else { return };
    let side = Side::as_is("as is");
    for host_key in ["ssh-ed25519", "ecdsa-sha2-nistp384", "rsa-sha2-512"] {
        for user_key in ["ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-256"] {
            let suite = Suite {
                host_key: host_key.to_owned(),
                user_key: user_key.to_owned(),
                rsa_bits: 2048,
                ..Suite::default()
            };
            plausible(&rig.login(&side, &suite).unwrap());
        }
    }
}

#[test]
fn data_costs_more_than_none() {
    let _alone = alone();
    let Some(mut rig) = rig() else { return };
    let data = Data::new(rig.place().dir(), "data", 100_000_001).unwrap();
    let (side, suite) = (Side::as_is("as is"), Suite { cipher: "aes256-ctr".to_owned(), ..Suite::default() });
    let mut got = 0;
    let limits = Limits { least: 3, most: 3, budget: Duration::ZERO, end: Duration::MAX };
    let (costs, done) = interleave(
        2,
        &limits,
        || Duration::ZERO,
        |_| true,
        |job| match job {
            0 => rig.login(&side, &suite),
            _ => rig.transfer(&side, &suite, &data, &mut |n| got += n),
        },
    );
    done.unwrap();
    assert_eq!(got, 3 * data.bytes());
    for cost in costs.iter().flat_map(|c| &c.0) {
        plausible(cost);
    }
    let cpu = |job: usize| costs[job].spread(|c| c.client + c.server).median;
    assert!(cpu(1) > cpu(0), "{costs:?}");
}

#[test]
fn a_refusal_is_told_in_openssh_s_words() {
    let _alone = alone();
    let Some(mut rig) = rig() else { return };
    let side = Side::as_is("as is");
    let wrong = Suite { cipher: "rot13".to_owned(), ..Suite::default() };
    let line = rig.login(&side, &wrong).unwrap_err().to_string();
    assert!(line.contains("rot13") || line.contains("cipher"), "{line}");
    let apart = |c: &str| vec![format!("Ciphers {c}")];
    let line = rig.login_with(&side, &apart("aes128-ctr"), &apart("aes256-ctr")).unwrap_err().to_string();
    assert!(line.contains("no matching cipher"), "{line}");
    plausible(&rig.login_with(&side, &[], &[]).unwrap());
    let unknown = Suite { user_key: "ssh-dss".to_owned(), ..Suite::default() };
    assert!(rig.login(&side, &unknown).unwrap_err().to_string().contains("ssh-dss"));
}
