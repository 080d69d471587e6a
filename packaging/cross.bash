# Sourced by tests/cross and packaging/deb: what building for another architecture needs.

# cross_prepare ARCH: gets it, for aarch64 or s390x, and sets `target` (Rust's name of it), `root` (made by tests/make-cross-root) and
# what cargo takes from the environment. 75 where something cannot be had here, which was said.
cross_prepare() {
    local arch=$1 debian=${1/aarch64/arm64} shout code
    need_packages "qemu-$arch-static:qemu-user-static" "$arch-linux-gnu-gcc:gcc-$arch-linux-gnu" cc:gcc \
        "/usr/$arch-linux-gnu/include/stdio.h:libc6-dev-$debian-cross" \
        "/usr/$arch-linux-gnu/include/asm/unistd.h:linux-libc-dev-$debian-cross"
    need_cargo
    target=$arch-unknown-linux-gnu
    if ! [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] && ! rustup target add "$target"; then
        say "SKIPPED: $arch: Rust's standard library for it could not be fetched (rustup target add $target)"
        return 75
    fi
    root=$PWD/target/cross-roots/$arch
    code=0
    tests/make-cross-root "$arch-linux-gnu" "$root" || code=$?
    if [ "$code" -ne 0 ]; then
        [ "$code" -ne 75 ] || say "SKIPPED: $arch: Debian's packages for it could not be fetched"
        return "$code"
    fi
    shout=${target^^}
    export "CARGO_TARGET_${shout//-/_}_LINKER=$root/cc"
    export "CARGO_TARGET_${shout//-/_}_RUNNER=$PWD/tests/run-test --through $root/run"
}
