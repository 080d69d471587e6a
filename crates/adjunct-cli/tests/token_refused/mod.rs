//! What is refused before anything is done: PINs that cannot be, lines too many, a token that is locked.

use super::*;

/// A PIN that cannot be right costs no try, wherever it comes from.
#[test]
fn an_impossible_pin_costs_no_try() {
    let Some(home) = Home::with_token() else { return };
    std::fs::write(home.path("empty"), "").unwrap();
    std::fs::write(home.path("line"), "\n1234\n").unwrap();
    let long = "x".repeat(256);
    for command in [&["objects"][..], &["repair"], &["pin", "change"], &["remove", "x"]] {
        for pin in ["", "123", &long] {
            let refused = line(run(home.command(command).env("ADJUNCT_PIN", pin), ""));
            assert!(refused.starts_with("ADJUNCT_PIN: ") && refused.contains("a PIN has 4 to 255 bytes"), "{refused}");
            let refused = line(run(home.command(command).env_remove("ADJUNCT_PIN"), &format!("{pin}\n")));
            assert!(refused.starts_with("PIN of the user: ") && refused.contains("no try was counted"), "{refused}");
        }
        for file in ["empty", "line"] {
            let refused = home.failed(&[command, &["--pin-file", &home.path_of(file)]].concat());
            assert!(refused.contains(": empty; a PIN has 4 to 255 bytes"), "{refused}");
        }
    }
    let officer = line(run(home.command(&["pin", "set"]).env("ADJUNCT_SO_PIN", "").env("ADJUNCT_NEW_PIN", "1234"), ""));
    assert!(officer.starts_with("ADJUNCT_SO_PIN: empty"), "{officer}");
    let listed = home.json(&["list", "--json"]);
    assert_eq!((&listed[0]["user_pin"]["tries_left"], &listed[0]["so_pin"]["tries_left"]), (&3.into(), &3.into()));
}

/// Lines that a terminal would be given and a pipe is not are refused before anything is done with any of them; so is one PIN for both roles.
#[test]
fn surplus_lines_of_a_pipe_are_refused() {
    let Some(home) = Home::new() else { return };
    let twice = format!("{SO_PIN}\n{SO_PIN}\n{PIN}\n{PIN}\n");
    let refused = line(run(&mut home.bare(&["init", "--label", "mine"]), &twice));
    assert!(refused.contains("from a pipe each PIN is read once"), "{refused}");
    assert!(!home.token().exists());
    let same = line(run(&mut home.bare(&["init", "--label", "mine"]), &format!("{PIN}\n{PIN}\n")));
    assert!(same.contains("they have to differ"), "{same}");
    assert!(!home.token().exists());
    // An empty line at the end is none.
    assert_eq!(run(&mut home.bare(&["init", "--label", "mine"]), &format!("{SO_PIN}\n{PIN}\n\n")).status, 0);
    for (command, lines) in [
        (&["pin", "set"][..], format!("{SO_PIN}\nnew pin\nnew pin\n")),
        (&["pin", "unlock"], format!("{SO_PIN}\nnew pin\nnew pin\n")),
        (&["pin", "change"], format!("{PIN}\nnew pin\nnew pin\n")),
        (&["objects"], format!("{PIN}\n{PIN}\n")),
        (&["repair"], format!("{PIN}\n{PIN}\n")),
        (&["init", "--label", "x", "--replace"], twice),
        (&["pin", "change", "--pin-file", "-"], format!("{PIN}\nnew pin\nnew pin\n")),
    ] {
        let refused = line(run(&mut home.bare(command), &lines));
        assert!(refused.contains("more lines than were asked for"), "{command:?}: {refused}");
    }
    let same = line(run(home.command(&["pin", "set"]).env("ADJUNCT_NEW_PIN", SO_PIN), ""));
    assert!(same.contains("they have to differ"), "{same}");
    home.shown(&["objects"]);
    let help = run(&mut home.bare(&["init", "--help"]), "").out;
    assert!(help.contains("then a new PIN of the user"), "{help}");
}

/// A token that another process keeps locked is not called damaged: the process is named.
#[test]
fn a_locked_token_is_not_damaged() {
    let Some(home) = Home::with_token() else { return };
    let file = std::fs::File::options().read(true).write(true).open(home.token().with_file_name("default.token.lock"));
    let held = adjunct::file_lock::FileLock::try_lock(file.unwrap().into()).unwrap().unwrap();
    let commands = [&["objects"][..], &["repair"], &["init", "--label", "x", "--replace"]];
    let lines = commands.map(|command| {
        let mut command = home.command(command);
        std::thread::spawn(move || line(run(&mut command, "")))
    });
    for said in lines.map(|line| line.join().unwrap()) {
        let me = format!("process {} (", std::process::id());
        assert!(said.contains(&me) && said.contains("nothing is wrong with it"), "{said}");
        assert!(!said.contains("repair"), "{said}");
    }
    drop(held);
    home.shown(&["objects"]);
}
