use super::*;
use crate::lanes::{MASK, constant};

fn supported() -> bool {
    is_x86_feature_detected!("avx512ifma")
}

/// The comb's table computed by the multiplication that needs none.
#[target_feature(enable = "avx512f,avx512ifma")]
fn table<C: Curve<N>, const N: usize>() -> Vec<u8> {
    let generator = C::GENERATOR.each_ref().map(|c| field::enter::<C, N>(&constant(c)));
    let generator = Affine { x: generator[0], y: generator[1] };
    let mut out = Vec::new();
    for window in 0..point::digits::<C, N>(comb::WINDOW).div_ceil(2) {
        let mut entries = Vec::new();
        for group in 0..comb::ENTRIES / LANES {
            let scalars: [[u64; N]; LANES] = std::array::from_fn(|lane| {
                let multiple = (group * LANES + lane + 1) as u64;
                let power = curve::power_of_two(2 * comb::WINDOW * window, &C::ORDER);
                times(&power, multiple, &C::ORDER)
            });
            let sum = point::multiply::<C, N>(&gather(&scalars), &generator);
            let affine = point::affine::<C, N>(&sum.point);
            let x = scatter(&field::canonical::<C, N>(&affine.x));
            let y = scatter(&field::canonical::<C, N>(&affine.y));
            entries.extend(x.into_iter().zip(y));
        }
        for limb in 0..N {
            out.extend(entries.iter().flat_map(|e| e.0[limb].to_le_bytes()));
        }
        for limb in 0..N {
            out.extend(entries.iter().flat_map(|e| e.1[limb].to_le_bytes()));
        }
    }
    out
}

/// `a` * `by` modulo `m`, by additions.
fn times<const N: usize>(a: &[u64; N], by: u64, m: &[u64; N]) -> [u64; N] {
    let mut out = [0; N];
    for _ in 0..by {
        let mut over = 0;
        for (o, a) in out.iter_mut().zip(a) {
            over += *o + a;
            *o = over & MASK;
            over >>= 52;
        }
        let less = curve::minus(&out, m);
        if less[N - 1] >> 63 == 0 {
            out = less;
        }
    }
    out
}

/// Set ADJUNCT_WRITE_TABLES to write them anew, after a change of their layout.
fn check<C: Curve<N>, const N: usize>(name: &str) {
    if !supported() {
        return;
    }
    // SAFETY: just asked.
    let table = unsafe { table::<C, N>() };
    if std::env::var_os("ADJUNCT_WRITE_TABLES").is_some() {
        let path = format!("{}/src/nist/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(path, &table).unwrap();
    } else {
        assert!(C::TABLE == table);
    }
}

#[test]
fn tables_are_multiples_of_the_generator() {
    check::<P256, 5>("p256.bin");
    check::<P384, 8>("p384.bin");
    check::<P521, 11>("p521.bin");
}
