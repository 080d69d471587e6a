//! `Debug` of types that hold secrets: it prints the type's name alone.

/// Gives types a [`Debug`](std::fmt::Debug) that shows nothing but their name: `KeyBlock { .. }`.
///
/// A lifetime is written as it is, a generic constant with `const` before its name.
///
/// ```
/// # use adjunct_kernels::opaque_debug;
/// struct Key([u8; 16]);
/// struct Job<'a>(&'a [u8]);
/// struct Block<const N: usize>([u8; N]);
/// opaque_debug!(Key, Job<'_>, Block<const N>);
///
/// assert_eq!(format!("{:?}", (Key([7; 16]), Job(&[7]), Block([7; 3]))), "(Key { .. }, Job { .. }, Block { .. })");
/// ```
#[macro_export]
macro_rules! opaque_debug {
    ($($name:ident $(<$life:lifetime>)? $(<$(const $number:ident),+>)?),+ $(,)?) => {$(
        impl $(<$(const $number: usize),+>)? ::std::fmt::Debug for $name $(<$life>)? $(<$($number),+>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )+};
}
