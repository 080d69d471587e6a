//! The Java on this machine: where it is, and its version by its `release` file.

use super::dialect::{Dialect, Family};
use super::{properties, security};
use adjunct_tool::failure::cause;
use adjunct_tool::process::{self, Outcome};
use adjunct_tool::{Failure, files};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The password of the file of a key that lives as long as the run.
pub const PASSWORD: &str = "changeit";

/// A Java.
#[derive(Debug, Clone)]
pub struct Jdk {
    /// Its folder.
    pub home: PathBuf,
    /// The dialect in which its files are read.
    pub dialect: Dialect,
    /// Its version in full.
    pub version: String,
    /// Vendor of the JDK.
    pub vendor: String,
    modules: String,
}

impl Jdk {
    /// Finds the JDK: the one given, else `JAVA_HOME`'s, else that of `java` in PATH.
    ///
    /// # Errors
    /// [`Failure`] with one line: where none is.
    pub fn find(home: Option<&Path>) -> Result<Jdk, Failure> {
        if let Some(home) = home {
            return Jdk::at(home, "");
        }
        if let Some(home) = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty()) {
            return Jdk::at(Path::new(&home), " (JAVA_HOME)");
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = std::env::split_paths(&path).map(|dir| dir.join("java")).find(|p| p.is_file());
        let program = program.ok_or_else(|| {
            Failure::new("there is no Java: JAVA_HOME is not set, and no java is in PATH; give --jdk HOME")
        })?;
        let real = std::fs::canonicalize(&program)
            .map_err(|e| Failure::new(format!("{}: {}", program.display(), cause(&e))))?;
        let home = real.ancestors().nth(2).unwrap_or(Path::new("/"));
        // Java 8's own runtime lies in its JDK.
        let home =
            if home.ends_with("jre") && !home.join("release").is_file() { home.parent().unwrap_or(home) } else { home };
        Jdk::at(home, " (java in PATH)")
    }

    fn at(home: &Path, whence: &str) -> Result<Jdk, Failure> {
        let failed = |why: &str| Failure::new(format!("{}{whence}: {why}", home.display()));
        let home = std::path::absolute(home).map_err(|e| failed(&cause(&e)))?;
        if !home.is_dir() {
            return Err(failed("there is no such folder"));
        }
        if !home.join("bin/java").is_file() {
            return Err(failed("is no JDK: there is no bin/java in it"));
        }
        let release = files::config(&home.join("release")).map_err(|_| {
            failed("is no whole JDK: it has no file 'release', which tells the version; give the folder of a JDK")
        })?;
        let values: BTreeMap<String, String> = properties::parse(&release)
            .0
            .into_iter()
            .map(|p| (p.key, p.value.trim().trim_matches('"').to_owned()))
            .collect();
        let value = |key: &str| values.get(key).cloned().unwrap_or_default();
        let version = value("JAVA_VERSION");
        let java = feature(&version).ok_or_else(|| failed("its file 'release' tells no version of Java"))?;
        let ibm = value("IMPLEMENTOR").contains("IBM") || value("JVM_VARIANT").eq_ignore_ascii_case("openj9");
        let old =
            home.join("jre/lib/ext/ibmpkcs11impl.jar").is_file() || home.join("lib/ext/ibmpkcs11impl.jar").is_file();
        let family = match (old, ibm) {
            (true, _) => Family::Ibm,
            (false, true) => Family::Semeru,
            (false, false) => Family::OpenJdk,
        };
        let dialect = Dialect { family, java, z: old || value("OS_ARCH") == "s390x" };
        Ok(Jdk { home, dialect, version, vendor: value("IMPLEMENTOR"), modules: value("MODULES") })
    }

    /// The JDK in words.
    pub fn shown(&self) -> String {
        let name = match self.dialect.family {
            Family::OpenJdk => "OpenJDK",
            Family::Semeru => "Semeru",
            Family::Ibm => "IBM Java",
        };
        let vendor = if self.vendor.is_empty() { String::new() } else { format!(" of {}", self.vendor) };
        format!("{name} {}{vendor} in {}", self.version, self.home.display())
    }

    /// Why the JDK runs no program from its source; `None` where it does.
    pub fn cannot_compile(&self) -> Option<String> {
        if self.dialect.java < 11 {
            return Some(format!("Java {} runs no program from its source (11 and later do)", self.dialect.java));
        }
        let lacks = |module: &str| !self.modules.split_whitespace().any(|m| m == module);
        if !self.modules.is_empty() && lacks("jdk.compiler") {
            return Some(
                "this Java has no compiler (module jdk.compiler): it is a runtime alone, install the JDK".to_owned(),
            );
        }
        None
    }

    /// Whether the JDK lacks SunPKCS11.
    pub fn lacks_pkcs11(&self) -> bool {
        !self.modules.is_empty() && !self.modules.split_whitespace().any(|m| m == "jdk.crypto.cryptoki")
    }

    /// Path of the JDK's java.security.
    pub fn security_file(&self) -> PathBuf {
        let places = ["conf/security", "jre/lib/security", "lib/security"];
        let found = places.iter().map(|p| self.home.join(p).join("java.security")).find(|p| p.is_file());
        found.unwrap_or_else(|| self.home.join("conf/security/java.security"))
    }

    /// The providers of the JDK's own list, first to last.
    ///
    /// # Errors
    /// [`Failure`] that names the file.
    pub fn providers(&self) -> Result<Vec<String>, Failure> {
        let file = self.security_file();
        let bytes = files::config(&file).map_err(|e| Failure::new(format!("{}: {}", file.display(), cause(&e))))?;
        let mut all: BTreeMap<String, String> = BTreeMap::new();
        for property in properties::parse(&bytes).0 {
            all.insert(property.key, property.value.trim().to_owned());
        }
        let list = (1..).map_while(|n| all.get(&format!("{}{n}", security::PROVIDER)).filter(|v| !v.is_empty()));
        Ok(list.cloned().collect())
    }

    /// A command that runs the JDK's `java`.
    pub fn java(&self) -> Command {
        self.program("java")
    }

    /// Has keytool make a server's key, by the JDK's own providers, with a certificate for localhost, in a PKCS #12 file. `words` say
    /// which key; what keytool came to is the caller's to judge.
    ///
    /// # Errors
    /// [`Failure`] where keytool does not start.
    pub fn make_key(&self, file: &Path, days: u32, words: &[&str]) -> Result<Outcome, Failure> {
        let mut command = self.program("keytool");
        command.args(["-genkeypair", "-alias", "server", "-dname", "CN=localhost", "-validity", &days.to_string()]);
        command.args(["-ext", "san=dns:localhost,ip:127.0.0.1", "-storetype", "PKCS12"]).args(words);
        process::run(command.args(["-storepass", PASSWORD, "-keystore"]).arg(file)).map_err(Failure::new)
    }

    /// A command that runs one of the JDK's programs.
    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.home.join("bin").join(name));
        // Options of the user's would change what is measured, and be told of on standard error.
        command.env_remove("JAVA_TOOL_OPTIONS").env_remove("_JAVA_OPTIONS").env_remove("JDK_JAVA_OPTIONS");
        command
    }
}

/// The feature version: 8 of 1.8.0_392, 17 of 17.0.15.
fn feature(version: &str) -> Option<u32> {
    let version = version.strip_prefix("1.").unwrap_or(version);
    let digits = version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len());
    version[..digits].parse().ok().filter(|java| (8..=99).contains(java))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_folder_is_told_from_a_jdk() {
        let dir = tempfile::tempdir().unwrap();
        let line = || Jdk::find(Some(dir.path())).unwrap_err().to_string();
        assert!(
            Jdk::find(Some(&dir.path().join("none")))
                .unwrap_err()
                .to_string()
                .ends_with("none: there is no such folder")
        );
        assert!(line().ends_with("is no JDK: there is no bin/java in it"), "{}", line());
        fs::create_dir(dir.path().join("bin")).unwrap();
        fs::write(dir.path().join("bin/java"), "").unwrap();
        assert!(line().contains("no file 'release'"));
        fs::write(dir.path().join("release"), "JAVA_VERSION=x\n").unwrap();
        assert!(line().contains("no version"));
        let release = "IMPLEMENTOR=\"IBM Corporation\"\nJAVA_VERSION=\"21.0.5\"\nOS_ARCH=\"s390x\"\nMODULES=\"java.base jdk.crypto.cryptoki\"\n";
        fs::write(dir.path().join("release"), release).unwrap();
        let jdk = Jdk::find(Some(dir.path())).unwrap();
        assert_eq!(jdk.dialect, Dialect { family: Family::Semeru, java: 21, z: true });
        assert!(jdk.cannot_compile().unwrap().contains("no compiler") && !jdk.lacks_pkcs11());
    }

    #[test]
    fn versions_of_both_schemes_are_read() {
        let found = ["1.8.0_392", "11.0.22", "17", "25.0.3", "1.7.0", "", "x"].map(feature);
        assert_eq!(found, [Some(8), Some(11), Some(17), Some(25), None, None, None]);
    }
}
