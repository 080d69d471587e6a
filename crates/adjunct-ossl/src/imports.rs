//! Functions that the objects of a process import from other objects, read from their dynamic sections in memory. No file is opened, because a
//! process may have lost its file system.

use crate::object::{self, Loaded, Object};
use std::ffi::{CStr, c_char};
use std::mem::size_of;

/// `Elf64_Dyn`, `Elf32_Dyn`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Dynamic {
    tag: isize,
    value: usize,
}

/// `Elf64_Rel`, `Elf32_Rel`; a relocation with an addend is one word longer.
#[repr(C)]
struct Relocation {
    offset: usize,
    info: usize,
}

#[cfg(target_pointer_width = "64")]
type Symbol = libc::Elf64_Sym;
#[cfg(target_pointer_width = "32")]
type Symbol = libc::Elf32_Sym;

/// Bits below the number of the symbol in `info` (`ELF64_R_SYM`, `ELF32_R_SYM`).
const SYMBOL_SHIFT: u32 = if cfg!(target_pointer_width = "64") { 32 } else { 8 };

/// Tags of the dynamic section (elf.h).
mod tag {
    pub const NULL: isize = 0;
    pub const PLTRELSZ: isize = 2;
    pub const STRTAB: isize = 5;
    pub const SYMTAB: isize = 6;
    pub const RELA: isize = 7;
    pub const RELASZ: isize = 8;
    pub const STRSZ: isize = 10;
    pub const REL: isize = 17;
    pub const RELSZ: isize = 18;
    pub const PLTREL: isize = 20;
    pub const JMPREL: isize = 23;
}

/// For each list of functions, whether the program refers to one of them that it does not bring itself. References of its libraries do not count, nor
/// functions that it looks up while it runs. `None` for a statically linked program, whose references cannot be read.
pub fn of_program<const N: usize>(lists: [&[&str]; N]) -> Option<[bool; N]> {
    let mut found = [false; N];
    let mut told = false;
    let begin = beginnings(lists.iter().copied().flatten());
    // The first object is the program (dl_iterate_phdr(3)), with which the walk ends.
    object::find_loaded(|loaded| {
        // SAFETY: what the loader says of it.
        if let Some(program) = unsafe { Tables::read(loaded) } {
            told = true;
            program.imports(&begin, |name| {
                for (list, found) in lists.iter().zip(&mut found) {
                    *found |= list.iter().any(|function| function.as_bytes() == name);
                }
            });
        }
        Some(())
    });
    told.then_some(found)
}

/// Whether any object of the process but OpenSSL's two libraries refers to one of some functions of `libcrypto`. What is looked up while
/// a program runs is not seen.
pub fn of_libcrypto(libcrypto: Object, functions: &[&str]) -> bool {
    let begin = beginnings(functions);
    let imports = |loaded: Loaded<'_>| {
        if loaded.base == libcrypto.base() || loaded.is_named(b"libssl.so") {
            return None;
        }
        let mut found = false;
        // SAFETY: what the loader says of it.
        if let Some(tables) = unsafe { Tables::read(loaded) } {
            tables.imports(&begin, |name| found |= functions.iter().any(|function| function.as_bytes() == name));
        }
        found.then_some(())
    };
    object::find_loaded(imports).is_some()
}

/// For each byte, whether one of the names begins with it: for most symbols the first byte alone shows that they are not among the names.
type Beginnings = [bool; 256];

fn beginnings<'a>(names: impl IntoIterator<Item = &'a &'a str>) -> Beginnings {
    let mut begin = [false; 256];
    names.into_iter().filter_map(|name| name.as_bytes().first()).for_each(|&byte| begin[usize::from(byte)] = true);
    begin
}

/// The tables of a loaded object.
struct Tables {
    symbols: *const Symbol,
    names: *const c_char,
    names_length: usize,
    /// Address, length and size of an entry, each.
    relocations: [(usize, usize, usize); 3],
}

impl Tables {
    /// Reads the tables of an object; `None` where it is linked statically.
    ///
    /// # Safety
    /// The object is as the loader describes it.
    unsafe fn read(object: Loaded<'_>) -> Option<Tables> {
        let base = object.base;
        let header = object.headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
        let dynamic = object.start(header) as *const Dynamic;
        let value = |wanted: isize| {
            (0..)
                .map(|at| {
                    // SAFETY: the object's dynamic section, not past the entry with the null tag, where the walk ends.
                    unsafe { *dynamic.add(at) }
                })
                .take_while(|entry| entry.tag != tag::NULL)
                .find(|entry| entry.tag == wanted)
                .map(|entry| entry.value)
        };
        // glibc has made most of them addresses in memory, other loaders leave them as they are in the file.
        let address = |wanted| value(wanted).map(|at| if at < base { at + base } else { at });
        let (rel, rela) = (size_of::<Relocation>(), size_of::<Relocation>() + size_of::<usize>());
        let with_addend = value(tag::PLTREL) == Some(tag::RELA as usize);
        let table = |at, length, entry| (address(at).unwrap_or(0), value(length).unwrap_or(0), entry);
        Some(Tables {
            symbols: address(tag::SYMTAB)? as *const Symbol,
            names: address(tag::STRTAB)? as *const c_char,
            names_length: value(tag::STRSZ)?,
            relocations: [
                table(tag::JMPREL, tag::PLTRELSZ, if with_addend { rela } else { rel }),
                table(tag::RELA, tag::RELASZ, rela),
                table(tag::REL, tag::RELSZ, rel),
            ],
        })
    }

    /// Calls `each` with the name of each symbol that a relocation refers to and that the object does not define, if it begins so. (The
    /// symbol table tells no length, and a hash table of an object that exports nothing does not tell it either.)
    fn imports(&self, begin: &Beginnings, mut each: impl FnMut(&[u8])) {
        for (start, length, entry) in self.relocations.iter().filter(|(start, ..)| *start != 0) {
            for at in (0..length / entry).map(|n| start + n * entry) {
                // SAFETY: the loader has followed these relocations to their symbols, and the symbols to their names.
                unsafe {
                    let number = (*(at as *const Relocation)).info >> SYMBOL_SHIFT;
                    // Most refer to none.
                    if number == 0 {
                        continue;
                    }
                    let symbol = &*self.symbols.add(number);
                    let name = symbol.st_name as usize;
                    if symbol.st_shndx != 0 || name >= self.names_length {
                        continue;
                    }
                    let name = self.names.add(name);
                    if begin[usize::from(name.cast::<u8>().read())] {
                        each(CStr::from_ptr(name).to_bytes());
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_this_program_calls_is_found() {
        // Every Rust program calls the C library's `write`; none calls a function of this name.
        assert_eq!(super::of_program([&["write", "no_such"], &["no_such"], &[]]), Some([true, false, false]));
    }
}
