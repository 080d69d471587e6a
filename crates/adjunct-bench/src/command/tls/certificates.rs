//! The certificates of a run: an authority, and one of each kind of key for the server and for clients.

use super::plan::CertificateKey;
use adjunct_survey::programs::openssl;
use adjunct_tool::Failure;
use adjunct_tool::failure::{cannot_write, cause};
use std::path::{Path, PathBuf};

const REQUEST: &str = "[req]\ndistinguished_name = dn\n[dn]\n[ca]\nbasicConstraints = critical,CA:true\n\
    keyUsage = critical,keyCertSign\n[end]\nsubjectAltName = DNS:localhost,IP:127.0.0.1\n";

/// Certificates and keys in files of a folder.
#[derive(Debug)]
pub struct Certificates {
    folder: PathBuf,
}

impl Certificates {
    /// Makes the certificates, with the system's OpenSSL alone.
    ///
    /// # Errors
    /// [`Failure`] in OpenSSL's words.
    pub fn make(folder: &Path) -> Result<Certificates, Failure> {
        let config = folder.join("req.cnf");
        std::fs::write(&config, REQUEST).map_err(|e| cannot_write(&config, &e))?;
        let run = |words: &[&str]| {
            let done = openssl(words, Some(&config)).map_err(Failure::new)?;
            let failed = || Failure::new(format!("openssl {}: {}", words[0], done.why()));
            if done.success { Ok(()) } else { Err(failed()) }
        };
        let certificates = Certificates { folder: folder.to_owned() };
        let path = |name: &str| folder.join(name).display().to_string();
        let (authority, authority_key) = (path("ca.pem"), path("ca.key"));
        for (name, key) in
            [("ca", CertificateKey::P256)].into_iter().chain(CertificateKey::ALL.map(|key| (key.file(), key)))
        {
            let (key_file, pem) = (path(&format!("{name}.key")), path(&format!("{name}.pem")));
            run(&[&["genpkey", "-out", &key_file][..], &key.words()].concat())?;
            let subject = if name == "ca" { "/CN=authority" } else { "/CN=localhost" };
            let extensions = if name == "ca" { "ca" } else { "end" };
            let mut words = vec!["req", "-x509", "-new", "-key", &key_file, "-out", &pem, "-days", "3", "-sha256"];
            words.extend(["-subj", subject, "-extensions", extensions]);
            if name != "ca" {
                words.extend(["-CA", &authority, "-CAkey", &authority_key]);
            }
            run(&words)?;
            let read = |file: &str| std::fs::read(file).map_err(|e| Failure::new(format!("{file}: {}", cause(&e))));
            let both = [read(&pem)?, read(&key_file)?].concat();
            let file = folder.join(format!("{name}.both"));
            std::fs::write(&file, both).map_err(|e| cannot_write(&file, &e))?;
        }
        Ok(certificates)
    }

    /// The authority's, as PEM.
    pub fn authority(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    /// A certificate, as PEM.
    pub fn certificate(&self, key: CertificateKey) -> PathBuf {
        self.folder.join(key.file()).with_extension("pem")
    }

    /// Path of the certificate's key, as PEM.
    pub fn key(&self, key: CertificateKey) -> PathBuf {
        self.folder.join(key.file()).with_extension("key")
    }

    /// Path of the file with the certificate and its key.
    pub fn both(&self, key: CertificateKey) -> PathBuf {
        self.folder.join(key.file()).with_extension("both")
    }
}
