//! The Javas whose files are read, by what their readers take.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// The vendor of a Java, as far as its configuration files differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// OpenJDK, by whomever built.
    OpenJdk,
    /// IBM Semeru: OpenJDK with OpenJ9.
    Semeru,
    /// IBM Java 8, with its own provider, IBMPKCS11Impl.
    Ibm,
}

/// A Java, by family and version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Dialect {
    /// The family that the vendor belongs to.
    pub family: Family,
    /// Its version: 8, 11, 17, 21, 25.
    pub java: u32,
    /// Whether it runs on IBM Z.
    pub z: bool,
}

impl Dialect {
    /// OpenJDK of this version.
    pub const fn openjdk(java: u32) -> Dialect {
        Dialect { family: Family::OpenJdk, java, z: false }
    }

    /// Whether the JDK notices a keyword that stands twice. From 21 on the value is remembered in place of the keyword, by mistake.
    pub(super) fn notices_twice(self) -> bool {
        self.java < 21
    }

    /// The name of the provider in `security.provider.N` that takes a configuration file.
    pub(super) fn provider(self) -> &'static str {
        match self.family {
            Family::Ibm => "com.ibm.crypto.pkcs11impl.provider.IBMPKCS11Impl",
            _ if self.java < 9 => "sun.security.pkcs11.SunPKCS11",
            _ => "SunPKCS11",
        }
    }

    /// The providers as the Java's own java.security lists them on Linux, first to last.
    pub(super) fn providers(self) -> &'static [&'static str] {
        match self.family {
            Family::Ibm => &[
                "com.ibm.jsse2.IBMJSSEProvider2",
                "com.ibm.crypto.plus.provider.IBMJCEPlus",
                "com.ibm.crypto.provider.IBMJCE",
                "com.ibm.security.jgss.IBMJGSSProvider",
                "com.ibm.security.cert.IBMCertPath",
                "com.ibm.security.sasl.IBMSASL",
                "com.ibm.xml.crypto.IBMXMLCryptoProvider",
                "com.ibm.xml.enc.IBMXMLEncProvider",
                "com.ibm.security.jgss.mech.spnego.IBMSPNEGO",
                "sun.security.provider.Sun",
            ],
            Family::Semeru => &[
                "OpenJCEPlus",
                "SUN",
                "SunRsaSign",
                "SunEC",
                "SunJSSE",
                "SunJCE",
                "SunJGSS",
                "SunSASL",
                "XMLDSig",
                "SunPCSC",
                "JdkLDAP",
                "JdkSASL",
                "SunPKCS11",
            ],
            Family::OpenJdk if self.java < 9 => &[
                "sun.security.provider.Sun",
                "sun.security.rsa.SunRsaSign",
                "sun.security.ec.SunEC",
                "com.sun.net.ssl.internal.ssl.Provider",
                "com.sun.crypto.provider.SunJCE",
                "sun.security.jgss.SunProvider",
                "com.sun.security.sasl.Provider",
                "org.jcp.xml.dsig.internal.dom.XMLDSigRI",
                "sun.security.smartcardio.SunPCSC",
            ],
            Family::OpenJdk => &[
                "SUN",
                "SunRsaSign",
                "SunEC",
                "SunJSSE",
                "SunJCE",
                "SunJGSS",
                "SunSASL",
                "XMLDSig",
                "SunPCSC",
                "JdkLDAP",
                "JdkSASL",
                "SunPKCS11",
            ],
        }
    }

    /// Whether a provider of this name can be part of it; others need a class or module of their own.
    pub(super) fn ships(self, provider: &str) -> bool {
        const OLD: [&str; 3] =
            ["sun.security.provider.Sun", "sun.security.rsa.SunRsaSign", "com.sun.crypto.provider.SunJCE"];
        let also = match self.family {
            Family::Semeru => provider == "OpenJCEPlus" || provider == "OpenJCEPlusFIPS",
            Family::Ibm => provider.starts_with("com.ibm.") || provider.starts_with("sun.security."),
            Family::OpenJdk => false,
        };
        also || provider == self.provider() || self.providers().contains(&provider) || OLD.contains(&provider)
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let java = self.java;
        match self.family {
            Family::OpenJdk => write!(f, "OpenJDK {java}"),
            Family::Semeru if self.z => write!(f, "Semeru {java} on IBM Z"),
            Family::Semeru => write!(f, "Semeru {java}"),
            Family::Ibm => write!(f, "IBM Java {java}"),
        }
    }
}

impl FromStr for Dialect {
    type Err = String;

    fn from_str(text: &str) -> Result<Dialect, String> {
        let (name, version) = match text.rsplit_once('-') {
            Some((name, version)) if version.bytes().all(|c| c.is_ascii_digit()) => (name, version.parse().ok()),
            _ => (text, None),
        };
        let (family, java, z) = match (name, version) {
            ("openjdk", Some(java)) => (Family::OpenJdk, java, false),
            ("semeru", java) => (Family::Semeru, java.unwrap_or(17), false),
            ("openj9-z" | "semeru-z", java) => (Family::Semeru, java.unwrap_or(17), true),
            ("ibm8", None) => (Family::Ibm, 8, true),
            _ => return Err("expected openjdk-17, openjdk-21, openjdk-25, semeru, openj9-z or ibm8".to_owned()),
        };
        if !(8..=99).contains(&java) {
            return Err(format!("there is no Java {java} with such a provider"));
        }
        Ok(Dialect { family, java, z })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialects_have_names() {
        for (name, shown) in [
            ("openjdk-17", "OpenJDK 17"),
            ("openjdk-25", "OpenJDK 25"),
            ("semeru", "Semeru 17"),
            ("semeru-21", "Semeru 21"),
            ("openj9-z", "Semeru 17 on IBM Z"),
            ("ibm8", "IBM Java 8"),
        ] {
            assert_eq!(name.parse::<Dialect>().unwrap().to_string(), shown);
        }
        for wrong in ["", "openjdk", "openjdk-", "openjdk-7", "ibm8-1", "ibm-8", "x-17", "openjdk-99999999999"] {
            assert!(wrong.parse::<Dialect>().is_err(), "{wrong}");
        }
    }
}
