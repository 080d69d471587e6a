//! Single-steps a function and records every instruction's address and every address of memory it touches.
//!
//! The processor's trap flag raises SIGTRAP after each instruction; the handler decodes the next one and computes its
//! effective addresses from the registers. Two runs, each in a forked child so that memory lies alike, must record the
//! same: then neither control flow nor memory access depended on what differed between them.

use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, Mnemonic, OpAccess, Register, UsedMemory};
use std::arch::asm;
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::Relaxed;

/// Instructions after which recording ends: a whole RSA-2048 batch is shorter.
pub const LONGEST: usize = 12_000_000;

/// An instruction: its address, and a mix of the addresses that it touches.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
struct Step {
    place: u64,
    touched: u64,
}

/// What a child tells its parent; in shared memory.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Report {
    /// Instructions run.
    pub steps: usize,
    /// Conditional jumps among the instructions, each counted once: the places where lengths and loop counts decide.
    pub jumps: usize,
    /// What was found.
    pub finding: Finding,
    /// The address of the instruction it was found at.
    pub place: u64,
}

/// The outcome of one run.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The child died before its end.
    Died,
    /// Recorded, or the same as recorded.
    Same,
    /// The path of control differs.
    Branch,
    /// An instruction touches another address than the recorded one did.
    Memory,
    /// An instruction whose addresses come from a vector.
    Gather,
    /// An instruction that takes longer for some operands than for others.
    Division,
    /// The trace ended before the recorded one did.
    Shorter,
}

#[repr(C)]
struct Shared {
    report: Report,
    reference: usize,
    steps: [Step; LONGEST],
}

/// The recording of a first run, and the comparison of later ones with it.
pub struct Tracer {
    shared: NonNull<Shared>,
}

/// What the handler works with; a child has exactly one.
struct State {
    shared: NonNull<Shared>,
    compare: bool,
    known: HashMap<u64, Known>,
}

/// A decoded instruction.
struct Known {
    memory: Box<[UsedMemory]>,
    finding: Option<Finding>,
    jump: bool,
}

/// The state of the run in progress.
static STATE: AtomicPtr<State> = AtomicPtr::new(null_mut());

impl Tracer {
    pub fn new() -> Tracer {
        // SAFETY: a fresh mapping; its pages exist once touched.
        let at = unsafe {
            libc::mmap(
                null_mut(),
                size_of::<Shared>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert_ne!(at, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        Tracer { shared: NonNull::new(at.cast()).expect("mapped") }
    }

    /// Runs what `prepare` makes in a child, single-stepped; records it, or compares it with the last recording.
    pub fn run(&mut self, compare: bool, prepare: &dyn Fn() -> Box<dyn FnMut()>) -> Report {
        let shared = self.shared.as_ptr();
        // SAFETY: the child is another process; nobody else writes.
        unsafe { (*shared).report = Report { steps: 0, jumps: 0, finding: Finding::Died, place: 0 } };
        // SAFETY: this program has one thread, so the child may do anything.
        match unsafe { libc::fork() } {
            -1 => panic!("fork: {}", std::io::Error::last_os_error()),
            0 => {
                let mut function = prepare();
                step(self.shared, compare, &mut function);
                // SAFETY: ends the child without running the parent's destructors.
                unsafe { libc::_exit(0) }
            }
            pid => {
                let mut status = 0;
                // SAFETY: our child.
                assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
                // SAFETY: the child is gone.
                let report = unsafe { (*shared).report };
                if status != 0 { Report { finding: Finding::Died, ..report } } else { report }
            }
        }
    }
}

#[inline(never)]
fn step(shared: NonNull<Shared>, compare: bool, function: &mut dyn FnMut()) {
    STATE.store(Box::leak(Box::new(State { shared, compare, known: HashMap::with_capacity(1 << 16) })), Relaxed);
    // The handler's stack lies apart: what it leaves behind must not show in the function's.
    let mut stack = vec![0u8; 1 << 20];
    let stack = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: stack.len() };
    // SAFETY: all zeros is a valid value; the handler has the signature that SA_SIGINFO asks for.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_trap as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        assert_eq!(libc::sigaltstack(&raw const stack, null_mut()), 0);
        assert_eq!(libc::sigaction(libc::SIGTRAP, &raw const action, null_mut()), 0);
        asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq");
        function();
        asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq");
        let shared = shared.as_ptr();
        let steps = (*shared).report.steps;
        if (*shared).report.finding == Finding::Died {
            let shorter = compare && steps != (*shared).reference;
            (*shared).report.finding = if shorter { Finding::Shorter } else { Finding::Same };
        }
        if !compare {
            (*shared).reference = steps;
        }
    }
}

/// Ends the run with a finding.
fn end(shared: *mut Shared, finding: Finding, place: u64) -> ! {
    // SAFETY: the mapping lives as long as the process.
    unsafe {
        (*shared).report.finding = finding;
        (*shared).report.place = place;
        libc::_exit(0)
    }
}

extern "C" fn on_trap(_: i32, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: SA_SIGINFO passes a ucontext.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    // SAFETY: made before stepping began, and the handler is the only user.
    let state = unsafe { &mut *STATE.load(Relaxed) };
    let place = registers[libc::REG_RIP as usize] as u64;
    let shared = state.shared.as_ptr();
    let known = state.known.entry(place).or_insert_with(|| {
        let known = decode(place);
        // SAFETY: the mapping lives as long as the process.
        unsafe { (*shared).report.jumps += usize::from(known.jump) };
        known
    });
    if let Some(finding) = known.finding {
        end(shared, finding, place);
    }
    let mut touched = 0u64;
    for memory in &known.memory {
        let address = memory.virtual_address(0, |register, _, _| value(registers, register));
        touched = (touched ^ address.unwrap_or(0)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
    let step = Step { place, touched };
    // SAFETY: the mapping lives as long as the process; the index is checked.
    unsafe {
        let at = (*shared).report.steps;
        let whole = if state.compare { (*shared).reference } else { LONGEST };
        if at == whole {
            // A first run too long to be recorded is compared as far as it was.
            if whole == LONGEST {
                (*shared).reference = LONGEST;
                end(shared, Finding::Same, place);
            }
            end(shared, Finding::Branch, place);
        }
        let recorded = &raw mut (*shared).steps[at];
        if !state.compare {
            *recorded = step;
        } else if (*recorded).place != place {
            // The one before chose the way.
            end(shared, Finding::Branch, (*shared).steps[at.saturating_sub(1)].place);
        } else if *recorded != step {
            end(shared, Finding::Memory, place);
        }
        (*shared).report.steps = at + 1;
    }
}

fn decode(place: u64) -> Known {
    // SAFETY: the processor is about to read these bytes itself; none at a page's end is followed by an unmapped one in
    // practice, as code is followed by more sections.
    let bytes = unsafe { std::slice::from_raw_parts(place as *const u8, 15) };
    let instruction = Decoder::with_ip(64, bytes, place, DecoderOptions::NONE).decode();
    let mut factory = InstructionInfoFactory::new();
    let used = factory.info(&instruction).used_memory();
    let memory = used.iter().filter(|m| m.access() != OpAccess::NoMemAccess).copied().collect();
    let finding = match instruction.mnemonic() {
        Mnemonic::Div | Mnemonic::Idiv => Some(Finding::Division),
        _ if instruction.is_vsib() => Some(Finding::Gather),
        _ => None,
    };
    Known { memory, finding, jump: instruction.is_jcc_short_or_near() }
}

fn value(registers: &[libc::greg_t; 23], register: Register) -> Option<u64> {
    let at = match register.full_register() {
        Register::RAX => libc::REG_RAX,
        Register::RBX => libc::REG_RBX,
        Register::RCX => libc::REG_RCX,
        Register::RDX => libc::REG_RDX,
        Register::RSI => libc::REG_RSI,
        Register::RDI => libc::REG_RDI,
        Register::RBP => libc::REG_RBP,
        Register::RSP => libc::REG_RSP,
        Register::R8 => libc::REG_R8,
        Register::R9 => libc::REG_R9,
        Register::R10 => libc::REG_R10,
        Register::R11 => libc::REG_R11,
        Register::R12 => libc::REG_R12,
        Register::R13 => libc::REG_R13,
        Register::R14 => libc::REG_R14,
        Register::R15 => libc::REG_R15,
        // Segment bases do not move while a thread runs.
        _ => return Some(0),
    };
    Some(registers[at as usize] as u64)
}
