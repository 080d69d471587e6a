//! The files of `ssh_config` and `sshd_config`: what they set, where, and in which order, and a copy of them in which
//! adjunct's own file is there or not.
//!
//! OpenSSH takes the first value of a keyword. So where the drop-in is included decides what it can change, and every
//! setting has its place in the order they are read.

use super::algorithms::AlgorithmKind;
use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use adjunct_tool::files;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// OpenSSH's own limit of files that include files.
const DEPTH: usize = 16;
/// More files than this are no configuration.
const MOST: usize = 1000;
/// A file longer than this is no configuration.
const LONGEST: u64 = 4 << 20;

/// The program whose configuration it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Program {
    /// The client: `ssh_config`.
    Ssh,
    /// The server: `sshd_config`.
    Sshd,
}

impl Program {
    /// `ssh` or `sshd`.
    pub fn name(self) -> &'static str {
        if self == Program::Ssh { "ssh" } else { "sshd" }
    }

    /// Main configuration file of the program.
    pub fn main_file(self) -> &'static str {
        if self == Program::Ssh { "/etc/ssh/ssh_config" } else { "/etc/ssh/sshd_config" }
    }

    /// The folder of additions.
    pub fn folder(self) -> &'static str {
        if self == Program::Ssh { "/etc/ssh/ssh_config.d" } else { "/etc/ssh/sshd_config.d" }
    }

    /// Adjunct's file: early in the order, but not before what an administrator numbers first.
    pub fn drop_in(self) -> PathBuf {
        Path::new(self.folder()).join("10-adjunct.conf")
    }
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Place {
    /// The file, as it is named below /etc.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// One setting of a list of algorithms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The list that is set.
    pub kind: AlgorithmKind,
    /// Its value as written.
    pub value: String,
    /// Place of the setting.
    pub at: Place,
    /// The Host or Match line above it, where it holds for some only.
    pub only: Option<String>,
    /// The number of settings that were read before this one.
    pub order: usize,
}

/// A place where adjunct's file is included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// The number of settings that were read before adjunct's file.
    pub order: usize,
    /// The Host or Match line above the Include, where it is included for some only.
    pub only: Option<String>,
}

/// The settings that were read, and a copy of the files.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// The settings of lists of algorithms, in the order they are read, without those of adjunct's file.
    pub settings: Vec<Setting>,
    /// The place where adjunct's file is included, if anywhere.
    pub reached: Option<Reached>,
    /// The copies, with the files they stand for.
    pub copies: Vec<(PathBuf, PathBuf)>,
    /// Files that are included from below /etc/crypto-policies, or links to there.
    pub crypto_policy: Option<PathBuf>,
}

impl Tree {
    /// The copy of the main file.
    pub fn main(&self) -> &Path {
        self.copies.first().map_or(Path::new("/dev/null"), |(copy, _)| copy)
    }

    /// A program's output about the copies, with the names of the real files.
    pub fn in_real_names(&self, said: &str) -> String {
        // The last first: sshd_1 begins sshd_10's name.
        self.copies
            .iter()
            .rev()
            .fold(said.to_owned(), |said, (copy, file)| said.replace(&*copy.to_string_lossy(), &file.to_string_lossy()))
    }
}

/// Reads the configuration of `program` below `root` and copies it into `stage`, with adjunct's file as given: its text, or
/// none.
///
/// # Errors
/// [`Failure`] where a file cannot be read or copied.
pub fn read(program: Program, root: &Path, stage: &Path, drop_in: Option<&str>) -> Result<Tree, Failure> {
    let mut reader = Reader { program, root, stage, drop_in, tree: Tree::default(), only: None };
    let main = Path::new(program.main_file());
    reader.copy(main, 0)?;
    Ok(reader.tree)
}

struct Reader<'a> {
    program: Program,
    root: &'a Path,
    stage: &'a Path,
    drop_in: Option<&'a str>,
    tree: Tree,
    /// The Host or Match line in force.
    only: Option<String>,
}

impl Reader<'_> {
    /// Path of a file below /etc in the folder that stands for it.
    fn real(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    fn content(&self, path: &Path) -> Result<String, Failure> {
        let failed = |e: &std::io::Error| {
            let denied = e.kind() == ErrorKind::PermissionDenied;
            let hint = if denied && !nix::unistd::geteuid().is_root() { "; run it as root" } else { "" };
            Failure::new(format!("{}: {}{hint}", path.display(), cause(e)))
        };
        let real = self.real(path);
        match files::read(&real, LONGEST) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::IsADirectory) => {
                Err(Failure::new(format!("{}: is no regular file", path.display())))
            }
            Err(e) if e.kind() == ErrorKind::FileTooLarge => {
                Err(Failure::new(format!("{}: is too long for a configuration file", path.display())))
            }
            // Without a main file OpenSSH's defaults are in force.
            Err(e) if e.kind() == ErrorKind::NotFound && path == Path::new(self.program.main_file()) => {
                Ok(String::new())
            }
            Err(e) => Err(failed(&e)),
        }
    }

    /// Copies a file and those it includes; gives the copy's path.
    fn copy(&mut self, path: &Path, depth: usize) -> Result<PathBuf, Failure> {
        if depth > DEPTH {
            return Err(Failure::new(format!("{}: files include each other too deeply", path.display())));
        }
        if self.tree.copies.len() >= MOST {
            return Err(Failure::new(format!("{}: includes too many files", self.program.main_file())));
        }
        let text = if path == self.program.drop_in() {
            self.drop_in.unwrap_or_default().to_owned()
        } else {
            self.content(path)?
        };
        self.note_crypto_policy(path);
        let copy = self.stage.join(format!("{}_{}", self.program.name(), self.tree.copies.len()));
        self.tree.copies.push((copy.clone(), path.to_owned()));
        // A Host or Match line of an included file ends with that file.
        let above = self.only.clone();
        let mut out = String::new();
        for (index, line) in text.lines().enumerate() {
            let at = Place { file: path.to_owned(), line: index + 1 };
            let included = self.line(line, at, depth)?;
            out += included.as_deref().unwrap_or(line);
            out.push('\n');
        }
        self.only = above;
        fs::write(&copy, out).map_err(|e| adjunct_tool::failure::cannot_write(&copy, &e))?;
        Ok(copy)
    }

    /// Takes note of a line; an Include line comes back in the copies' names.
    fn line(&mut self, line: &str, at: Place, depth: usize) -> Result<Option<String>, Failure> {
        let Some((keyword, rest)) = split(line) else { return Ok(None) };
        match keyword.as_str() {
            "include" => {
                let mut copies = String::from("Include");
                for pattern in words(rest) {
                    for file in self.included(&pattern) {
                        copies += &format!(" {}", self.include(&file, depth)?.display());
                    }
                }
                // An Include of nothing is no error; without a word it would be.
                return Ok(Some(if copies == "Include" { "#".to_owned() } else { copies }));
            }
            "host" | "match" => self.only = (!for_all(&keyword, rest)).then(|| line.trim().to_owned()),
            _ => {
                let kind = AlgorithmKind::ALL.into_iter().find(|k| k.keyword().eq_ignore_ascii_case(&keyword));
                if let Some(kind) = kind.filter(|_| at.file != self.program.drop_in()) {
                    let value = words(rest).into_iter().next().unwrap_or_default();
                    let order = self.tree.settings.len();
                    self.tree.settings.push(Setting { kind, value, at, only: self.only.clone(), order });
                }
            }
        }
        Ok(None)
    }

    fn include(&mut self, file: &Path, depth: usize) -> Result<PathBuf, Failure> {
        if file == self.program.drop_in() && self.tree.reached.is_none() {
            let reached = Reached { order: self.tree.settings.len(), only: self.only.clone() };
            self.tree.reached = Some(reached);
        }
        self.copy(file, depth + 1)
    }

    /// The files that a pattern names, in OpenSSH's order, by their names below /etc; adjunct's among them where it would be, and never as it is on
    /// disk.
    fn included(&self, pattern: &str) -> Vec<PathBuf> {
        let pattern = if pattern.starts_with('/') { pattern.to_owned() } else { format!("/etc/ssh/{pattern}") };
        let root = self.root.to_string_lossy();
        let root = root.trim_end_matches('/');
        let below = format!("{}{pattern}", glob::Pattern::escape(root));
        let options = glob::MatchOptions {
            case_sensitive: true,
            require_literal_separator: true,
            require_literal_leading_dot: true,
        };
        let mut files: Vec<PathBuf> = match glob::glob_with(&below, options) {
            Ok(paths) => {
                paths.flatten().filter_map(|p| Some(Path::new("/").join(p.strip_prefix(self.root).ok()?))).collect()
            }
            Err(_) => Vec::new(),
        };
        let own = self.program.drop_in();
        if glob::Pattern::new(&pattern).is_ok_and(|p| p.matches_path_with(&own, options)) && !files.contains(&own) {
            files.push(own);
        }
        files.sort();
        files
    }

    fn note_crypto_policy(&mut self, path: &Path) {
        let policies = Path::new("/etc/crypto-policies");
        let leads = fs::read_link(self.real(path)).is_ok_and(|to| to.starts_with(policies));
        if self.tree.crypto_policy.is_none() && (path.starts_with(policies) || leads) {
            self.tree.crypto_policy = Some(path.to_owned());
        }
    }
}

/// A line's keyword in lower case and the rest, as OpenSSH takes them apart; `None` of blank lines and comments.
pub fn split(line: &str) -> Option<(String, &str)> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let blank = |c: char| c == ' ' || c == '\t';
    let (keyword, rest) = match line.strip_prefix('"').and_then(|l| l.split_once('"')) {
        Some(quoted) => quoted,
        None => line.split_at(line.find(|c: char| blank(c) || c == '=').unwrap_or(line.len())),
    };
    let rest = rest.trim_start_matches(blank);
    let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start_matches(blank);
    Some((keyword.to_ascii_lowercase(), rest))
}

/// The words of a value: quotes keep blanks, a word that begins with `#` begins a comment.
pub fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut left = text.trim_start();
    while let Some(first) = left.chars().next().filter(|&c| c != '#') {
        let mut word = String::new();
        let mut quote: Option<char> = None;
        let mut end = left.len();
        for (at, c) in left.char_indices() {
            match quote {
                Some(q) if c == q => quote = None,
                Some(_) => word.push(c),
                None if c == '"' || c == '\'' => quote = Some(c),
                None if c.is_ascii_whitespace() => {
                    end = at;
                    break;
                }
                None => word.push(c),
            }
        }
        if !word.is_empty() || first == '"' || first == '\'' {
            out.push(word);
        }
        left = left[end..].trim_start();
    }
    out
}

/// Whether a Host or Match line is true of every connection.
fn for_all(keyword: &str, rest: &str) -> bool {
    let conditions: Vec<String> = words(rest).iter().map(|w| w.to_ascii_lowercase()).collect();
    match keyword {
        "host" => conditions.iter().any(|w| w == "*") && !conditions.iter().any(|w| w.starts_with('!')),
        // `final` is true in a second reading, which every connection gets where it is asked for.
        _ => conditions.iter().any(|w| w == "all") && conditions.iter().all(|w| w == "all" || w == "final"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn tree(program: Program, root: &Path, own: Option<&str>) -> (tempfile::TempDir, Tree) {
        let stage = tempfile::tempdir().unwrap();
        let tree = read(program, root, stage.path(), own).unwrap();
        (stage, tree)
    }

    #[test]
    fn lines_as_openssh_reads_them() {
        let split = |l| split(l).map(|(k, r)| (k, r.to_owned()));
        let is = |k: &str, r: &str| Some((k.to_owned(), r.to_owned()));
        assert_eq!(split("  Ciphers aes128-ctr"), is("ciphers", "aes128-ctr"));
        assert_eq!(split("MACs=a,b"), is("macs", "a,b"));
        assert_eq!(split("MACs = a"), is("macs", "a"));
        assert_eq!(split("\tHost\t*"), is("host", "*"));
        assert_eq!((split("# Ciphers x"), split("   ")), (None, None));
        assert_eq!(words("a \"b c\" 'd' # e"), ["a", "b c", "d"]);
        assert_eq!(words("\"unclosed x"), ["unclosed x"]);
        assert!(words("").is_empty() && words(" #").is_empty());
    }

    #[test]
    fn settings_have_their_place_and_order() {
        let root = below(&[
            ("etc/ssh/sshd_config", "Include /etc/ssh/sshd_config.d/*.conf\nMACs m\nMatch User bob\n Ciphers c\n"),
            ("etc/ssh/sshd_config.d/00-first.conf", "\nCiphers a\nMatch all\nKexAlgorithms k\nMatch User x\n"),
            ("etc/ssh/sshd_config.d/50-last.conf", "ciphers b\n"),
            ("etc/ssh/sshd_config.d/10-adjunct.conf", "Ciphers old\n"),
            ("etc/ssh/sshd_config.d/.hidden.conf", "Ciphers hidden\n"),
        ]);
        let (_stage, tree) = tree(Program::Sshd, root.path(), Some("Ciphers new\n"));
        let got: Vec<String> = tree.settings.iter().map(|s| format!("{} {} {:?}", s.at, s.value, s.only)).collect();
        assert_eq!(
            got,
            [
                "/etc/ssh/sshd_config.d/00-first.conf:2 a None",
                "/etc/ssh/sshd_config.d/00-first.conf:4 k None",
                "/etc/ssh/sshd_config.d/50-last.conf:1 b None",
                "/etc/ssh/sshd_config:2 m None",
                "/etc/ssh/sshd_config:4 c Some(\"Match User bob\")",
            ]
        );
        assert_eq!(tree.reached, Some(Reached { order: 2, only: None }));
        let copied: String = tree.copies.iter().map(|(copy, _)| fs::read_to_string(copy).unwrap()).collect();
        assert!(copied.contains("Ciphers new") && !copied.contains("Ciphers old"), "{copied}");
        assert_eq!(
            fs::read_to_string(root.path().join("etc/ssh/sshd_config.d/10-adjunct.conf")).unwrap(),
            "Ciphers old\n"
        );
    }

    #[test]
    fn an_include_may_be_missing_or_for_some_only() {
        let root = below(&[("etc/ssh/ssh_config", "Host *\n  Ciphers a\n")]);
        assert_eq!(tree(Program::Ssh, root.path(), Some("")).1.reached, None);
        let root =
            below(&[("etc/ssh/ssh_config", "Host old !new\nInclude ssh_config.d/*\nHost *\nInclude x\nMACs m\n")]);
        let (_stage, tree) = tree(Program::Ssh, root.path(), None);
        assert_eq!(tree.reached.unwrap().only.as_deref(), Some("Host old !new"));
        assert_eq!(tree.settings[0].only, None);
    }

    #[test]
    fn many_files_keep_their_names() {
        let name = |n: usize| format!("/etc/ssh/ssh_config.d/{n:02}.conf");
        let files: Vec<String> = (0..30).map(|n| name(n)[1..].to_owned()).collect();
        let mut all = vec![("etc/ssh/ssh_config", "Include ssh_config.d/*\n")];
        all.extend(files.iter().map(|f| (f.as_str(), "")));
        let root = below(&all);
        let (_stage, tree) = tree(Program::Ssh, root.path(), None);
        for (copy, file) in &tree.copies {
            assert_eq!(
                tree.in_real_names(&format!("{} line 1: no", copy.display())),
                format!("{} line 1: no", file.display())
            );
        }
        assert_eq!(tree.copies.last().unwrap().1, Path::new(&name(29)));
    }

    #[test]
    fn loops_end_and_no_file_is_no_error() {
        let root = below(&[("etc/ssh/ssh_config", "Include ssh_config\n")]);
        let stage = tempfile::tempdir().unwrap();
        let line = read(Program::Ssh, root.path(), stage.path(), None).unwrap_err().to_string();
        assert!(line.contains("too deeply"), "{line}");
        assert!(read(Program::Sshd, root.path(), stage.path(), None).unwrap().settings.is_empty());
    }

    #[test]
    fn crypto_policies_are_seen() {
        let root = below(&[
            ("etc/ssh/ssh_config", "Include /etc/ssh/ssh_config.d/*.conf\n"),
            (
                "etc/ssh/ssh_config.d/50-redhat.conf",
                "Match final all\nInclude /etc/crypto-policies/back-ends/openssh.config\n",
            ),
            ("etc/crypto-policies/back-ends/openssh.config", "Ciphers aes256-gcm@openssh.com\n"),
        ]);
        let (_stage, tree) = tree(Program::Ssh, root.path(), Some(""));
        assert_eq!(tree.crypto_policy.as_deref(), Some(Path::new("/etc/crypto-policies/back-ends/openssh.config")));
        assert_eq!((tree.settings[0].only.clone(), tree.reached.unwrap().order), (None, 0));
    }
}
