//! What the experiment needs from Maven Central: Open Liberty, and JMeter's Java DSL with all it depends on.
//!
//! Maven itself fetches it, by the machine's own settings, and compares each file with the checksum that lies beside it; here each is
//! compared with the one that stands in the source. What is there stays, and needs no network again.

use adjunct_cli::java::jdk::Jdk;
use adjunct_tool::failure::{cannot_write, cause};
use adjunct_tool::{Failure, process, scratch};
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// `SHA-256 NAME` of every file, as sha256sum writes it.
const ARTIFACTS: &str = include_str!("artifacts.txt");
const DSL: &str = "1.29.1";
const LIBERTY: &str = "26.0.0.2";
const PLUGIN: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies";
/// 420 MB over a slow line.
const LIMIT: Duration = Duration::from_secs(1800);

/// The files that were fetched.
#[derive(Debug)]
pub(super) struct Fetched {
    /// Open Liberty's folder.
    pub liberty: PathBuf,
    /// JMeter's class path.
    pub classes: String,
}

/// The versions, as the report shows them.
pub(super) fn versions() -> String {
    format!("Open Liberty {LIBERTY}, JMeter by its Java DSL {DSL}")
}

/// Fetches the server and the load generator from `cache`, or into it; `told` gets what is done where it takes a while.
///
/// # Errors
/// [`Failure`] with one line: no Maven, no network, a file that is not what it has to be.
pub(super) fn all(cache: &Path, jdk: &Jdk, told: &dyn Fn(&str)) -> Result<Fetched, Failure> {
    let files = cache.join("files");
    let missing = || artifacts().filter(|(_, name)| !files.join(name).is_file()).count();
    if missing() > 0 {
        told("fetching Open Liberty and JMeter (420 MB)");
        fs::create_dir_all(cache).map_err(|e| cannot_write(cache, &e))?;
        by_maven(cache, &files)?;
        if let Some((_, name)) = artifacts().find(|(_, name)| !files.join(name).is_file()) {
            return Err(Failure::new(format!("Maven has fetched all, and {name} is not there")));
        }
    }
    let mut classes = Vec::new();
    for (sum, name) in artifacts() {
        let path = files.join(name);
        if name.ends_with(".jar") {
            verify(&path, sum)?;
            classes.push(path.display().to_string());
        }
    }
    let liberty = unpacked(cache, &files, jdk, told)?;
    Ok(Fetched { liberty, classes: classes.join(":") })
}

fn artifacts() -> impl Iterator<Item = (&'static str, &'static str)> {
    ARTIFACTS.lines().filter_map(|line| line.split_once("  "))
}

fn verify(path: &Path, sum: &str) -> Result<(), Failure> {
    let failed = |e: &io::Error| Failure::new(format!("{}: {}", path.display(), cause(e)));
    let mut hash = Sha256::new();
    io::copy(&mut fs::File::open(path).map_err(|e| failed(&e))?, &mut hash).map_err(|e| failed(&e))?;
    let found: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if found == sum {
        return Ok(());
    }
    Err(Failure::new(format!("{}: its SHA-256 is not the one known; remove it, it is fetched again", path.display())))
}

/// Fetches by Maven. Its own and its plugin's dependencies come and go with a repository of their own.
fn by_maven(cache: &Path, files: &Path) -> Result<(), Failure> {
    let folder = scratch::folder_in(cache).map_err(|e| cannot_write(cache, &e))?;
    let pom = folder.path().join("pom.xml");
    let dependency = |group: &str, name: &str, version: &str, kind: &str| {
        format!(
            "<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version><type>{kind}</type></dependency>"
        )
    };
    let text = format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion><groupId>adjunct</groupId>\
         <artifactId>bench</artifactId><version>1</version><packaging>pom</packaging><dependencies>{}{}</dependencies></project>\n",
        dependency("us.abstracta.jmeter", "jmeter-java-dsl", DSL, "jar"),
        dependency("io.openliberty", "openliberty-runtime", LIBERTY, "zip")
    );
    fs::write(&pom, text).map_err(|e| cannot_write(&pom, &e))?;
    let mut maven = Command::new("mvn");
    maven.args(["--batch-mode", "--quiet", "--strict-checksums", "--file"]).arg(&pom).arg(PLUGIN);
    maven.arg(format!("-Dmaven.repo.local={}", folder.path().join("repository").display()));
    maven.arg(format!("-DoutputDirectory={}", files.display()));
    // Its own temporary files go with the folder, too.
    maven.env("MAVEN_OPTS", format!("-Djava.io.tmpdir={}", folder.path().display()));
    let done = process::run_within(LIMIT, maven.stdin(Stdio::null())).map_err(|why| {
        let hint = if why.contains("No such file") { ": install Maven (apt install maven)" } else { "" };
        Failure::new(format!("{why}{hint}"))
    })?;
    if done.success {
        return Ok(());
    }
    let text = done.text() + &done.stderr;
    let line = text.lines().find_map(|l| l.trim().strip_prefix("[ERROR] ")).unwrap_or("it gave no reason");
    let line = line.split(" -> [Help").next().unwrap_or(line);
    Err(Failure::new(format!("Maven could not fetch Open Liberty and JMeter (is the network there?): {line}")))
}

/// Liberty's folder: whole, or not there.
fn unpacked(cache: &Path, files: &Path, jdk: &Jdk, told: &dyn Fn(&str)) -> Result<PathBuf, Failure> {
    let folder = cache.join(format!("liberty-{LIBERTY}"));
    if folder.is_dir() {
        return Ok(folder.join("wlp"));
    }
    told("unpacking Open Liberty");
    let Some((sum, name)) = artifacts().find(|(_, name)| name.ends_with(".zip")) else {
        return Err(Failure::new("no Open Liberty is known"));
    };
    let zip = files.join(name);
    verify(&zip, sum)?;
    let beside = scratch::folder_in(cache).map_err(|e| cannot_write(cache, &e))?;
    let mut jar = jdk.program("jar");
    jar.arg("--extract").arg("--file").arg(&zip).current_dir(beside.path());
    let done = process::run_within(LIMIT, jar.stdin(Stdio::null())).map_err(Failure::new)?;
    if !done.success {
        return Err(Failure::new(format!("{}: {}", zip.display(), done.why())));
    }
    fs::rename(beside.itself(), &folder).map_err(|e| cannot_write(&folder, &e))?;
    Ok(folder.join("wlp"))
}

/// The folder of the cache, where the command line names none.
pub(super) fn default_cache() -> Option<PathBuf> {
    let of = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base =
        of("XDG_CACHE_HOME").filter(|p| p.is_absolute()).or_else(|| of("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("adjunct/bench-java"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_artifact_has_a_checksum_and_both_versions_are_those_named() {
        let all: Vec<_> = artifacts().collect();
        assert!(all.len() > 100 && all.iter().all(|(sum, name)| sum.len() == 64 && !name.contains('/')));
        for name in [format!("jmeter-java-dsl-{DSL}.jar"), format!("openliberty-runtime-{LIBERTY}.zip")] {
            assert!(all.iter().any(|(_, n)| *n == name), "{name}");
        }
    }

    #[test]
    fn a_file_that_is_another_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.jar");
        fs::write(&file, "abc").unwrap();
        assert!(verify(&file, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad").is_ok());
        let line = verify(&file, &"0".repeat(64)).unwrap_err().to_string();
        assert!(line.contains("a.jar: its SHA-256 is not the one known"), "{line}");
    }
}
