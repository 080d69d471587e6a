//! Our modules, OpenSSL's provider and that of PKCS #11: how they are found, and checked before a configuration names them.

use crate::elf::{self, Interface, NotRead};
use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use adjunct_tool::files;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// A module of adjunct's, or another in its place.
#[derive(Debug)]
pub struct Make {
    /// File names of the module: installed, and as cargo builds it.
    names: [&'static str; 2],
    /// The message where there is no module.
    missing: &'static str,
    /// The programs that load the module.
    users: &'static str,
    /// The option by which root loads a module that others could change.
    remedy: &'static str,
    /// The configuration that its path is written into, if any.
    file: Option<&'static str>,
    /// The interface that programs look for in the module when they load it; `None` for a program.
    interface: Option<Interface>,
}

impl Make {
    /// OpenSSL's provider.
    const PROVIDER: Make = Make {
        names: ["adjunct.so", "libadjunct_openssl.so"],
        missing: "adjunct.so is neither beside this program nor in OpenSSL's modules folder; give --module",
        users: "every program that uses OpenSSL",
        remedy: "install the module, or say --trust-module",
        file: Some("openssl.cnf"),
        interface: Some(Interface::Provider),
    };
    /// The module of PKCS #11.
    pub const PKCS11: Make = Make {
        names: ["adjunct-pkcs11.so", "libadjunct_pkcs11.so"],
        missing: "adjunct-pkcs11.so is neither beside this program nor where modules of PKCS #11 are installed; set PKCSLIB",
        users: "this program",
        remedy: "install the module, or copy it to a folder of root's",
        file: None,
        interface: Some(Interface::Pkcs11),
    };
    /// libep11.
    pub const EP11: Make = Make {
        names: ["libep11.so.4", "libadjunct_ep11.so"],
        missing: "libep11.so.4 is neither beside this program nor where libraries are installed; give --library",
        users: "this program",
        remedy: "install the library, or say --trust-module",
        file: None,
        interface: None,
    };
    /// The daemon of the cards, which is a program: it is started as modules are loaded.
    pub const DAEMON: Make = Make {
        names: ["adjunctd", "adjunctd"],
        missing: "adjunctd is neither beside this program nor in /usr/sbin",
        users: "this program",
        remedy: "install the package, or copy adjunctd to a folder of root's",
        file: None,
        interface: None,
    };
    /// The command, which what it starts asks for what it does.
    pub const COMMAND: Make = Make {
        names: ["adjunct", "adjunct"],
        missing: "adjunct is neither beside this program nor in /usr/bin",
        users: "this program",
        remedy: "install the package, or copy adjunct to a folder of root's",
        file: None,
        interface: None,
    };
    /// What measures, a program: it is started as modules are loaded.
    pub const BENCH: Make = Make {
        names: ["adjunct-bench", "adjunct-bench"],
        missing: "adjunct-bench is neither beside this program nor in /usr/libexec/adjunct",
        users: "this program",
        remedy: "install the package, or copy adjunct-bench to a folder of root's",
        file: None,
        interface: None,
    };
    /// The program of the tools for IBM Z.
    pub const ZTOOLS: Make = Make {
        names: ["adjunct-ztools", "adjunct-ztools"],
        missing: "adjunct-ztools is neither beside this program nor in /usr/libexec/adjunct",
        users: "this program",
        remedy: "install the package, or copy adjunct-ztools to a folder of root's",
        file: None,
        interface: None,
    };
    /// The module of PKCS #11, named in a configuration of Java's.
    pub const PKCS11_OF_JAVA: Make = Make {
        missing: "adjunct-pkcs11.so is neither beside this program nor where modules of PKCS #11 are installed; give --module",
        users: "every program that uses the configuration",
        remedy: "install the module, or say --trust-module",
        file: Some("a configuration of Java's"),
        ..Make::PKCS11
    };
}

/// Whether a path names our module of PKCS #11.
pub fn is_own_pkcs11(path: &Path) -> bool {
    path.file_name().is_some_and(|name| Make::PKCS11.names.iter().any(|own| name == *own))
}

/// The module as it was chosen on the command line.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choice<'a> {
    /// Path of the module that was given, if one was.
    pub path: Option<&'a Path>,
    /// For root: take the module though others could change it.
    pub trusted: bool,
}

/// The purpose of the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A configuration that stays, for programs that start later.
    Configuration,
    /// A run of this command and of the programs that it starts.
    Run,
}

/// The options of commands that load the module themselves.
#[derive(Debug, Clone, clap::Args)]
// Without a group of its own, whose name would be that of the command's own arguments.
#[group(skip)]
pub struct Args {
    /// The provider module; by default the one beside this program or in OpenSSL's modules folder
    #[arg(id = "module", long = "module", value_name = "PATH")]
    path: Option<PathBuf>,
    /// As root: load the module, and another libcrypto, though others than root could change them, or a folder above them
    #[arg(id = "trust_module", long = "trust-module")]
    trusted: bool,
}

impl Args {
    /// The choice that these options make.
    pub fn choice(&self) -> Choice<'_> {
        Choice { path: self.path.as_deref(), trusted: self.trusted }
    }
}

/// The module to load: the one given, or the one beside this program or in the folder where OpenSSL looks for `installed` ones.
///
/// Root takes only a module that no other user can change, or any with `--trust-module`. For a [`Purpose::Run`], what lies beside the program needs
/// no more trust than the program, which root runs: a user who can replace a file there can replace the program. For a configuration there is no such
/// exception, because it lasts and programs of every user read it.
///
/// # Errors
/// [`Failure`]: none found, or one that must not be loaded.
pub fn find(
    choice: Choice<'_>,
    purpose: Purpose,
    installed: impl FnOnce() -> Option<PathBuf>,
) -> Result<PathBuf, Failure> {
    find_of(&Make::PROVIDER, choice, purpose, installed)
}

/// The module of any make to load: the one given, the one beside this program, or one in the folders that `installed` names, where such
/// modules are. Root takes what [`find`] describes.
///
/// # Errors
/// As [`find`].
pub fn find_of<F: IntoIterator<Item = PathBuf>>(
    make: &Make,
    choice: Choice<'_>,
    purpose: Purpose,
    installed: impl FnOnce() -> F,
) -> Result<PathBuf, Failure> {
    let program = program().ok();
    let path = match choice.path {
        Some(path) => path.to_owned(),
        None => {
            let beside = program.as_deref().and_then(Path::parent).map(Path::to_owned);
            let folders = beside.into_iter().chain(installed());
            let found = folders.flat_map(|dir| make.names.map(|name| dir.join(name))).find(|p| p.is_file());
            found.ok_or_else(|| Failure::new(make.missing))?
        }
    };
    let failed = |what: &str| Failure::new(format!("{}: {what}", path.display()));
    // Links stay: the name of an installed module outlives the version it leads to.
    let full = std::path::absolute(&path).map_err(|e| failed(&cause(&e)))?;
    let metadata = files::open(&full).and_then(|file| file.metadata()).map_err(|e| failed(&cause(&e)))?;
    if metadata.mode() & 0o002 != 0 {
        return Err(failed(&format!("everybody may write it, and {} would run what they write", make.users)));
    }
    if let Some(program) = program.as_deref().filter(|_| choice.path.is_none() && !choice.trusted)
        && let Some(why) = foreign_beside(&full, program)
    {
        return Err(failed(&format!("{why}: you would run what they put there; {}", make.remedy)));
    }
    let as_program = || program.as_deref().filter(|_| purpose == Purpose::Run).and_then(|p| no_worse(&full, p));
    let full = if choice.trusted || !nix::unistd::geteuid().is_root() {
        full
    } else if let Some(why) = changeable(&full) {
        let Some(beside) = as_program() else {
            let who = match purpose {
                Purpose::Configuration => "every program of every user",
                Purpose::Run => "root",
            };
            return Err(failed(&format!("{why}: {who} would run what they put there; {}", make.remedy)));
        };
        beside
    } else {
        full
    };
    if let Some(file) = make.file
        && full.to_str().is_none_or(|p| p.chars().any(char::is_control))
    {
        return Err(failed(&format!("a path with such characters cannot be written into {file}")));
    }
    match make.interface.and_then(|interface| unfit(&full, interface)) {
        Some(why) => Err(failed(&why)),
        None => Ok(full),
    }
}

/// Why a file is no module with such an interface, in words that follow its name: what its loader says of it comes late and in other words.
pub fn unfit(file: &Path, interface: Interface) -> Option<String> {
    let what = match interface {
        Interface::Engines => "a libcrypto with engines",
        Interface::Provider => "a provider of OpenSSL 3",
        Interface::Pkcs11 => "a module of PKCS #11",
    };
    let read = |path: &Path| files::open(path).map(|file| elf::read(&file));
    match read(file) {
        Err(e) => Some(cause(&e)),
        Ok(Err(NotRead::NotElf)) => Some(format!("is not {what}: no ELF file")),
        Ok(Err(NotRead::Broken)) => Some(format!("is not {what}: a damaged ELF file")),
        Ok(Ok(elf)) if !elf.interfaces.contains(&interface) => {
            Some(format!("is not {what}: it has no function {}", interface.function()))
        }
        // This program loads it, or programs of its machine do.
        Ok(Ok(elf)) => program()
            .ok()
            .and_then(|own| read(&own).ok()?.ok())
            .filter(|own| own.machine != elf.machine)
            .map(|_| format!("is for another kind of machine than this program ({})", std::env::consts::ARCH)),
    }
}

/// Where modules are installed: Debian's folder of the architecture, and those of other systems.
pub fn pkcs11_folders() -> impl Iterator<Item = PathBuf> {
    let triplet = format!("/usr/lib/{}-linux-gnu/pkcs11", std::env::consts::ARCH);
    [triplet.as_str(), "/usr/lib64/pkcs11", "/usr/lib/pkcs11"].map(PathBuf::from).into_iter()
}

/// Checks, for root, that no other user can change `library`, or that `--trust-module` is given. A name without a folder is left to the loader, which
/// finds the system's own by it.
///
/// # Errors
/// [`Failure`] that says who else could change it.
pub fn check_library(library: &Path, trusted: bool) -> Result<(), Failure> {
    if trusted || !nix::unistd::geteuid().is_root() || library.components().count() == 1 && !library.is_absolute() {
        return Ok(());
    }
    let full = std::path::absolute(library).and_then(|full| fs::metadata(&full).map(|_| full));
    let full = full.map_err(|e| Failure::new(format!("{}: {}", library.display(), cause(&e))))?;
    match changeable(&full) {
        None => Ok(()),
        Some(why) => Err(Failure::new(format!(
            "{}: {why}: root would run what they put there; copy it to a folder of root's, or say --trust-module",
            library.display()
        ))),
    }
}

/// The file of this command. Run by a loader of another root, the command is its argument, not the running program.
///
/// # Errors
/// Where the system does not say.
pub fn program() -> std::io::Result<PathBuf> {
    let running = std::env::current_exe()?;
    let by_loader = running.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-"));
    let called = || std::env::args_os().next().and_then(|p| std::path::absolute(p).ok());
    Ok(by_loader.then(called).flatten().unwrap_or(running))
}

/// The module's path without links, if only users who can change `program` can change it: it lies in the same folder, is no link, belongs to the
/// program's owner or root (in a folder as /tmp, any user may add a file), and no user may write it who may not write the program.
fn no_worse(module: &Path, program: &Path) -> Option<PathBuf> {
    let folder = fs::canonicalize(program.parent()?).ok()?;
    let same = fs::canonicalize(module.parent()?).ok()? == folder;
    // From here on by the program's folder: the one given may lead there by a link that others can turn.
    let module = folder.join(module.file_name()?);
    let (of, beside) = (fs::symlink_metadata(&module).ok()?, fs::symlink_metadata(program).ok()?);
    let writers = |m: &fs::Metadata| m.mode() & 0o022;
    let group = writers(&of) & 0o020 == 0 || of.gid() == beside.gid();
    let owner = of.uid() == 0 || of.uid() == beside.uid();
    (same && of.is_file() && beside.is_file() && owner && writers(&of) & !writers(&beside) == 0 && group)
        .then_some(module)
}

/// Why what lies beside the program is another user's than the program's, this process's or root's. In a folder as /tmp any user may add a file, which
/// has a name that this command looks for.
fn foreign_beside(module: &Path, program: &Path) -> Option<String> {
    let folder = module.parent()?;
    if program.parent()? != folder {
        return None;
    }
    let about = fs::metadata(program).ok()?;
    let own = [0, nix::unistd::geteuid().as_raw(), about.uid()];
    let link = fs::symlink_metadata(module).ok()?;
    let file = fs::metadata(module).ok()?;
    let foreign = [&link, &file].into_iter().any(|of| !own.contains(&of.uid()));
    let grouped = |of: &fs::Metadata| of.mode() & 0o020 != 0;
    let open = grouped(&file) && !(grouped(&about) && file.gid() == about.gid());
    match (foreign, open) {
        (true, _) => Some("it belongs to another user, who is neither you nor root".to_owned()),
        (_, true) => Some("others than its owner may write it".to_owned()),
        _ => None,
    }
}

/// Why others than root could put something else in the place of `path`: a folder or link on the way to it, or the file itself,
/// is not root's, or others may write it. Every link is followed, and the folders on its way looked at, too.
fn changeable(path: &Path) -> Option<String> {
    walked(path, Term::Lasting)
}

/// Why others than root could put something else in the place of `path` while a command of root's runs: as for a module that stays, but what is root's in
/// a folder like /tmp, where nobody renames another's file, is root's, and a file that is not there is no matter where root alone could make it.
pub fn changeable_now(path: &Path) -> Option<String> {
    walked(path, Term::Now)
}

/// How long a file is to stay as it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Term {
    /// For as long as a configuration names it.
    Lasting,
    /// While a command runs.
    Now,
}

fn walked(path: &Path, term: Term) -> Option<String> {
    /// The most symbolic links that the kernel follows in a path.
    const MOST_LINKS: u32 = 40;
    let mut rest: Vec<OsString> = parts(path);
    let (mut here, mut links) = (PathBuf::from("/"), 0);
    loop {
        let about = match fs::symlink_metadata(&here) {
            Ok(about) => about,
            Err(e) if term == Term::Now && e.kind() == ErrorKind::NotFound => {
                let above = here.parent().and_then(|folder| fs::symlink_metadata(folder).ok());
                let open = above.is_none_or(|folder| folder.mode() & 0o022 != 0);
                return open.then(|| format!("others than root may make {}", here.display()));
            }
            Err(e) => return Some(format!("{}: {}", here.display(), cause(&e))),
        };
        if about.uid() != 0 {
            return Some(format!("{} is another user's than root's", here.display()));
        }
        if about.is_symlink() {
            links += 1;
            let to = fs::read_link(&here).ok().filter(|_| links <= MOST_LINKS);
            let Some(to) = to else { return Some(format!("{}: a link that leads nowhere", here.display())) };
            here.pop();
            if to.is_absolute() {
                here = PathBuf::from("/");
            }
            rest.extend(parts(&to));
        } else if about.mode() & 0o022 != 0 {
            let sticky = about.is_dir() && about.mode() & 0o1000 != 0;
            if term == Term::Lasting || !sticky || rest.is_empty() {
                // Access lists show here, too: where there is one, the group's bits are the most that it gives.
                return Some(format!("others than root may write {}", here.display()));
            }
        }
        match rest.pop() {
            None if !about.is_symlink() => return None,
            None => {}
            Some(part) if part == ".." => drop(here.pop()),
            Some(part) => here.push(part),
        }
    }
}

/// The parts of a path, the first at the end.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|c| matches!(c, Component::Normal(_) | Component::ParentDir));
    parts.map(|c| c.as_os_str().to_owned()).collect::<Vec<_>>().into_iter().rev().collect()
}

/// Why users other than its owner could not load the module; they would go on in software.
pub fn unreadable_for_others(module: &Path) -> Option<String> {
    let real = fs::canonicalize(module).ok()?;
    let module = real.as_path();
    let closed = |path: &Path, bits: u32| fs::metadata(path).is_ok_and(|m| m.mode() & bits != bits);
    let folder = module.ancestors().skip(1).find(|dir| closed(dir, 0o001));
    let what = folder.or_else(|| closed(module, 0o004).then_some(module))?;
    let text = "is closed to other users; for their programs OpenSSL goes on without adjunct";
    Some(format!("{} {text}", what.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn modules_that_must_not_be_named_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let line = |name: &str| {
            let path = dir.path().join(name);
            let choice = Choice { path: Some(&path), trusted: true };
            find(choice, Purpose::Configuration, || None).unwrap_err().to_string()
        };
        assert!(line("missing.so").contains("No such file"));
        fs::create_dir(dir.path().join("dir.so")).unwrap();
        assert!(line("dir.so").contains("is a folder"));
        for (name, mode, words) in [("open.so", 0o666, "everybody"), ("odd\n.so", 0o644, "characters")] {
            fs::write(dir.path().join(name), "").unwrap();
            fs::set_permissions(dir.path().join(name), Permissions::from_mode(mode)).unwrap();
            assert!(line(name).contains(words), "{name:?}");
        }
    }

    #[test]
    fn what_is_no_module_of_the_kind_is_told_in_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let program = fs::read(program().unwrap()).unwrap();
        for (name, bytes, words) in [
            ("empty.so", &b""[..], "no ELF file"),
            ("text.so", b"#!/bin/sh\n", "no ELF file"),
            ("cut.so", &program[..100], "a damaged ELF file"),
            ("program.so", &program, "it has no function OSSL_provider_init"),
        ] {
            fs::write(dir.path().join(name), bytes).unwrap();
            let path = dir.path().join(name);
            let choice = Choice { path: Some(&path), trusted: true };
            let line = find(choice, Purpose::Run, || None).unwrap_err().to_string();
            assert!(line.contains(words) && line.contains("a provider of OpenSSL 3"), "{line}");
        }
    }

    #[test]
    fn what_lies_beside_the_program_is_no_worse_than_it() {
        let dir = tempfile::tempdir().unwrap();
        let made = |name: &str, mode: u32| {
            let path = dir.path().join(name);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            path
        };
        let (program, module) = (made("adjunct", 0o755), made("a.so", 0o644));
        assert!(no_worse(&module, &program).is_some());
        assert!(no_worse(&made("group.so", 0o664), &program).is_none());
        assert!(no_worse(&made("group.so", 0o664), &made("grouped", 0o775)).is_some());
        std::os::unix::fs::symlink(&module, dir.path().join("link.so")).unwrap();
        assert!(no_worse(&dir.path().join("link.so"), &program).is_none());
        fs::create_dir(dir.path().join("sub")).unwrap();
        assert!(no_worse(&made("sub/a.so", 0o644), &program).is_none());
        assert_eq!(no_worse(&dir.path().join("sub/../a.so"), &program), Some(module.canonicalize().unwrap()));
        if nix::unistd::geteuid().is_root() {
            std::os::unix::fs::chown(&module, Some(65534), None).unwrap();
            assert!(no_worse(&module, &program).is_none());
            std::os::unix::fs::chown(&program, Some(65534), None).unwrap();
            assert!(no_worse(&module, &program).is_some());
        }
    }

    #[test]
    fn what_another_user_put_beside_the_program_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let [program, module, link] = ["adjunct", "adjunct-bench", "link"].map(|name| dir.path().join(name));
        [&program, &module].iter().for_each(|path| fs::write(path, "").unwrap());
        assert_eq!(foreign_beside(&module, &program), None);
        assert_eq!(foreign_beside(Path::new("/usr/bin/env"), &program), None, "it lies elsewhere");
        if !nix::unistd::geteuid().is_root() {
            return;
        }
        std::os::unix::fs::symlink(&module, &link).unwrap();
        assert_eq!(foreign_beside(&link, &program), None);
        std::os::unix::fs::chown(&module, Some(65534), None).unwrap();
        assert!(foreign_beside(&module, &program).is_some() && foreign_beside(&link, &program).is_some());
        // Whoever has put both there is the one who is trusted already.
        std::os::unix::fs::chown(&program, Some(65534), None).unwrap();
        assert_eq!(foreign_beside(&module, &program), None);
    }

    #[test]
    fn for_a_run_what_is_roots_in_everybodys_folder_is_roots() {
        if !nix::unistd::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::set_permissions(dir.path(), Permissions::from_mode(0o1777)).unwrap();
        fs::write(path("own"), "").unwrap();
        assert_eq!(changeable_now(&path("own")), None);
        assert!(changeable(&path("own")).is_some());
        assert!(changeable_now(dir.path()).is_some() && changeable_now(&path("none")).is_some());
        fs::create_dir(path("sub")).unwrap();
        assert_eq!(changeable_now(&path("sub/none")), None);
        std::os::unix::fs::symlink(path("none"), path("link")).unwrap();
        assert!(changeable_now(&path("link")).is_some());
        fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(changeable_now(&path("own")).is_some());
    }

    #[test]
    fn a_closed_folder_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let module = dir.path().join("adjunct.so");
        fs::write(&module, "").unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o700)).unwrap();
        assert!(unreadable_for_others(&module).unwrap().contains("closed to other users"));
        assert_eq!(unreadable_for_others(Path::new("/bin/sh")), None);
    }
}
