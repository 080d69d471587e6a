//! What one ELF file says of itself: what it is, which libraries it asks for, which functions of OpenSSL it calls.
//!
//! Only the parts the dynamic loader reads are read, and nothing is mapped: a file that shrinks or lies about itself gives
//! an error here, not a signal.

use super::functions::{self, Call};
use object::elf::{self as abi, FileHeader32, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Sym};
use object::{Endianness, pod};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// A table longer than this is no table of a program.
const LONGEST: u64 = 64 << 20;
/// More program headers than any linker writes.
const MOST_HEADERS: usize = 4096;
/// More libraries than any program asks for.
const MOST_NEEDED: usize = 4096;
/// No name and no search path is longer.
const LONGEST_NAME: usize = 4096;

/// A source of a file's bytes.
pub trait Source {
    /// The bytes at `offset`; `None` where the file has fewer.
    fn read(&self, offset: u64, length: u64) -> Option<Vec<u8>>;
}

impl Source for File {
    fn read(&self, offset: u64, length: u64) -> Option<Vec<u8>> {
        // No more is set aside than the file can fill.
        let rest = self.metadata().ok()?.len().checked_sub(offset)?;
        if length > rest {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        self.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }
}

impl Source for &[u8] {
    fn read(&self, offset: u64, length: u64) -> Option<Vec<u8>> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        self.get(start..end).map(<[u8]>::to_vec)
    }
}

/// The kind of machine code: a library serves a program only where both are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Machine {
    /// 64-bit, else 32-bit.
    pub wide: bool,
    /// Little endian.
    pub little: bool,
    /// `e_machine`.
    pub number: u16,
}

/// An interface that programs find in a library by the name of one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// OpenSSL's engines, as a libcrypto with engines has them.
    Engines,
    /// A provider of OpenSSL 3.
    Provider,
    /// A module of PKCS #11.
    Pkcs11,
}

impl Interface {
    /// The function that a library with this interface exports.
    pub const fn function(self) -> &'static str {
        match self {
            Interface::Engines => "ENGINE_by_id",
            Interface::Provider => "OSSL_provider_init",
            Interface::Pkcs11 => "C_GetFunctionList",
        }
    }
}

/// The facts about one ELF file that its headers tell.
#[derive(Debug, Clone)]
pub struct Elf {
    /// Its machine code.
    pub machine: Machine,
    /// Whether the file can be executed; else it is a library.
    pub program: bool,
    /// Whether the dynamic loader runs it; a statically linked program has no loader.
    pub dynamic: bool,
    /// The libraries it asks for (`DT_NEEDED`), in order.
    pub needed: Vec<String>,
    /// `DT_RPATH`, in force where there is no `DT_RUNPATH`.
    pub rpath: Option<String>,
    /// `DT_RUNPATH`.
    pub runpath: Option<String>,
    /// Whether the file does without the loader's default folders (`DF_1_NODEFLIB`).
    pub no_default: bool,
    /// The functions of OpenSSL it calls.
    pub calls: Vec<Call>,
    /// The interfaces that it provides.
    pub interfaces: Vec<Interface>,
    /// The parts of the file that hold constants: offset and length.
    pub constants: Vec<(u64, u64)>,
    /// Whether Go's linker made it.
    pub go: bool,
}

/// The file is no ELF file, or is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotRead {
    /// The file has another format: a script, a picture.
    NotElf,
    /// The file begins as an ELF file and then makes no sense.
    Broken,
}

/// Reads an ELF file.
///
/// # Errors
/// [`NotRead`].
pub fn read(source: &impl Source) -> Result<Elf, NotRead> {
    let ident = source.read(0, 16).ok_or(NotRead::NotElf)?;
    if !ident.starts_with(&abi::ELFMAG) {
        return Err(NotRead::NotElf);
    }
    match ident[4] {
        1 => parse::<FileHeader32<Endianness>>(source),
        2 => parse::<FileHeader64<Endianness>>(source),
        _ => None,
    }
    .ok_or(NotRead::Broken)
}

fn parse<H: FileHeader<Endian = Endianness>>(source: &impl Source) -> Option<Elf> {
    let head = source.read(0, size_of::<H>() as u64)?;
    let header = H::parse(head.as_slice()).ok()?;
    let endian = header.endian().ok()?;
    let segments = Segments::<H>::read(source, header, endian)?;
    let of_type = |kind| move |s: &&H::ProgramHeader| s.p_type(endian) == kind;
    let mut elf = Elf {
        machine: Machine {
            wide: header.is_class_64(),
            little: header.is_little_endian(),
            number: header.e_machine(endian).0,
        },
        program: header.e_type(endian) == abi::ET_EXEC,
        dynamic: segments.list().any(|s| of_type(abi::PT_INTERP)(&s)),
        needed: Vec::new(),
        rpath: None,
        runpath: None,
        no_default: false,
        calls: Vec::new(),
        interfaces: Vec::new(),
        constants: segments.constants(),
        go: segments.of_go(source),
    };
    if !elf.program && header.e_type(endian) != abi::ET_DYN {
        return None;
    }
    let Some(dynamic) = segments.list().find(of_type(abi::PT_DYNAMIC)) else {
        // Neither loader nor tables: statically linked, or no program at all.
        return elf.program.then_some(elf);
    };
    let length = dynamic.p_filesz(endian).into();
    let bytes = source.read(dynamic.p_offset(endian).into(), (length <= LONGEST).then_some(length)?)?;
    let (entries, _) = pod::slice_from_bytes::<H::Dyn>(&bytes, bytes.len() / size_of::<H::Dyn>()).ok()?;
    Tables::<H>::new(entries, endian).fill(&mut elf, &segments, source)?;
    Some(elf)
}

/// The name that begins at `at`; each is looked at to a limit, for a file may have one long string and millions of names in it.
fn name_at(strings: &[u8], at: u64) -> Option<&[u8]> {
    let rest = strings.get(usize::try_from(at).ok()?..)?;
    let rest = &rest[..rest.len().min(LONGEST_NAME)];
    rest.get(..memchr::memchr(0, rest)?)
}

/// The program headers.
struct Segments<H: FileHeader> {
    bytes: Vec<u8>,
    count: usize,
    endian: H::Endian,
}

impl<H: FileHeader<Endian = Endianness>> Segments<H> {
    fn read(source: &impl Source, header: &H, endian: Endianness) -> Option<Segments<H>> {
        let (count, each) = (usize::from(header.e_phnum(endian)), usize::from(header.e_phentsize(endian)));
        if count > MOST_HEADERS || (count > 0 && each != size_of::<H::ProgramHeader>()) {
            return None;
        }
        let bytes = source.read(header.e_phoff(endian).into(), (count * each) as u64)?;
        Some(Segments { bytes, count, endian })
    }

    fn list(&self) -> impl Iterator<Item = &H::ProgramHeader> {
        pod::slice_from_bytes::<H::ProgramHeader>(&self.bytes, self.count).map_or(&[][..], |(list, _)| list).iter()
    }

    /// Offset in the file of what the loader finds at an address, and the bytes from there to the end of the segment.
    fn at(&self, address: u64) -> Option<(u64, u64)> {
        self.list().filter(|s| s.p_type(self.endian) == abi::PT_LOAD).find_map(|s| {
            let inside = address.checked_sub(s.p_vaddr(self.endian).into())?;
            let rest = s.p_filesz(self.endian).into().checked_sub(inside).filter(|&rest| rest > 0)?;
            Some((s.p_offset(self.endian).into().checked_add(inside)?, rest))
        })
    }

    /// The parts of the file in which constants are looked for. Linkers put constants into segments that are only read; without such a segment, they
    /// stand beside the code.
    fn constants(&self) -> Vec<(u64, u64)> {
        let endian = self.endian;
        let loaded = || self.list().filter(move |s| s.p_type(endian) == abi::PT_LOAD);
        let extent = |s: &H::ProgramHeader| (s.p_offset(endian).into(), s.p_filesz(endian).into());
        let only_read = |s: &&H::ProgramHeader| s.p_flags(endian).0 & 7 == abi::PF_R.0;
        if loaded().any(|s| only_read(&s)) {
            loaded().filter(only_read).map(extent).collect()
        } else {
            loaded().map(extent).collect()
        }
    }
}

/// The mark that Go's linker writes near the beginning of the first data segment, on a multiple of 16 (debug/buildinfo).
const GO: &[u8] = b"\xff Go buildinf:";
/// The bytes of the first data segment in which Go's own tools look for [`GO`].
const GO_WITHIN: u64 = 64 << 10;

impl<H: FileHeader<Endian = Endianness>> Segments<H> {
    fn of_go(&self, source: &impl Source) -> bool {
        let endian = self.endian;
        let loaded = self.list().filter(|s| s.p_type(endian) == abi::PT_LOAD);
        let mut data = loaded.filter(|s| s.p_flags(endian).0 & abi::PF_W.0 != 0);
        data.any(|s| {
            let length: u64 = s.p_filesz(endian).into();
            let bytes = source.read(s.p_offset(endian).into(), length.min(GO_WITHIN));
            bytes.is_some_and(|bytes| memchr::memmem::find(&bytes, GO).is_some_and(|at| at % 16 == 0))
        })
    }
}

/// The entries of the dynamic section that matter here.
struct Tables<H: FileHeader> {
    /// (tag, value), up to the end of the section.
    entries: Vec<(i64, u64)>,
    endian: H::Endian,
}

impl<H: FileHeader<Endian = Endianness>> Tables<H> {
    fn new(entries: &[H::Dyn], endian: Endianness) -> Tables<H> {
        let pair = |d: &H::Dyn| (d.tag(endian).0, d.val(endian));
        Tables { entries: entries.iter().map(pair).take_while(|&(tag, _)| tag != abi::DT_NULL.0).collect(), endian }
    }

    fn value(&self, wanted: abi::DynamicTag) -> Option<u64> {
        self.entries.iter().find(|&&(tag, _)| tag == wanted.0).map(|&(_, value)| value)
    }

    fn fill(&self, elf: &mut Elf, segments: &Segments<H>, source: &impl Source) -> Option<()> {
        let Some(strings_at) = self.value(abi::DT_STRTAB) else { return Some(()) };
        let (offset, rest) = segments.at(strings_at)?;
        let length = self.value(abi::DT_STRSZ)?.min(rest);
        let strings = source.read(offset, (length <= LONGEST).then_some(length)?)?;
        let text = |value: u64| Some(String::from_utf8_lossy(name_at(&strings, value)?).into_owned());
        for &(tag, value) in &self.entries {
            match abi::DynamicTag(tag) {
                abi::DT_NEEDED if elf.needed.len() == MOST_NEEDED => return None,
                abi::DT_NEEDED => elf.needed.push(text(value)?),
                abi::DT_RPATH => elf.rpath = text(value),
                abi::DT_RUNPATH => elf.runpath = text(value),
                abi::DT_FLAGS_1 => elf.no_default = value & abi::DF_1_NODEFLIB.0 != 0,
                _ => {}
            }
        }
        let pie = self.value(abi::DT_FLAGS_1).is_some_and(|flags| flags & abi::DF_1_PIE.0 != 0);
        // Some libraries can be started to say their version: what has a name for others to ask by is a library.
        elf.program |= pie || (elf.dynamic && self.value(abi::DT_SONAME).is_none());
        self.symbols(elf, segments, source, &strings)
    }

    /// The symbol table has no length: it ends where the next table begins.
    fn symbols(&self, elf: &mut Elf, segments: &Segments<H>, source: &impl Source, strings: &[u8]) -> Option<()> {
        let Some(start) = self.value(abi::DT_SYMTAB) else { return Some(()) };
        let (offset, rest) = segments.at(start)?;
        let tables = [abi::DT_STRTAB, abi::DT_HASH, abi::DT_GNU_HASH, abi::DT_VERSYM, abi::DT_VERNEED, abi::DT_VERDEF];
        let more = [abi::DT_RELA, abi::DT_REL, abi::DT_RELR, abi::DT_JMPREL, abi::DT_INIT, abi::DT_FINI];
        let next = tables.iter().chain(&more).filter_map(|&tag| self.value(tag)).filter(|&at| at > start).min();
        let length = next.map_or(rest, |next| (next - start).min(rest));
        let bytes = source.read(offset, (length <= LONGEST).then_some(length)?)?;
        let (list, _) = pod::slice_from_bytes::<H::Sym>(&bytes, bytes.len() / size_of::<H::Sym>()).ok()?;
        for symbol in list {
            let Some(name) = name_at(strings, symbol.st_name(self.endian).into()) else { continue };
            if !symbol.is_undefined(self.endian) {
                let known = [Interface::Engines, Interface::Provider, Interface::Pkcs11];
                elf.interfaces.extend(known.into_iter().find(|interface| interface.function().as_bytes() == name));
            } else if let Some(call) = functions::call(name) {
                elf.calls.push(call);
            }
        }
        Some(())
    }
}
