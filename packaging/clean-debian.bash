# Sourced by tests of packages: Debians of their own, made by debootstrap once and kept below target/roots, and the packages that
# are tried in them. The caller says in `what` what is skipped where there can be none.

suite=bookworm

skip() { printf 'SKIPPED: %s: %s\n' "$what" "$*"; exit 0; }

# needs_of_clean_debian NAMESPACE...: ends the script where there can be none, with these namespaces of unshare's.
needs_of_clean_debian() {
    [ "$(id -u)" -eq 0 ] || skip "not root"
    command -v apt-get >/dev/null || skip "no apt here"
    need_packages debootstrap:debootstrap dpkg-deb:dpkg readelf:binutils
    unshare --fork "$@" true 2>/dev/null || skip "no namespaces here"
}

# emulation_for ARCH: leaves in `emulation` what comes before a command by which programs of Debian's ARCH run: nothing on a machine of
# that architecture. Ends the script where they cannot.
emulation_for() {
    local why
    emulation=()
    [ "$1" != "$(dpkg --print-architecture)" ] || return 0
    need_packages qemu-aarch64-static:qemu-user-static
    emulation=(packaging/in-emulation "$1")
    why=$("${emulation[@]}" true 2>&1) || skip "${why:-no namespaces of users here}"
}

# bootstrap PACKAGES DIR [ARCH]: from the mirror and by the proxy that apt itself uses. Of another architecture, the second half is run by
# its own programs.
bootstrap() {
    local mirror proxy foreign=()
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' | awk '$2 == "Debian" { print $1; exit }')
    proxy=$(apt-config dump --format '%v' Acquire::http::Proxy)
    [ -z "$proxy" ] || export http_proxy=$proxy
    if [ ${#emulation[@]} -gt 0 ]; then foreign=(--foreign --arch "$3"); fi
    debootstrap --variant=minbase "${foreign[@]}" --include="$1" "$suite" "$2" "${mirror:-http://deb.debian.org/debian}" || return
    if [ ${#emulation[@]} -gt 0 ]; then
        # The first half has made the device files, which only this machine's root may. What is mounted goes with the namespace.
        "${emulation[@]}" unshare --mount --pid --fork --kill-child env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
            QEMU_CPU=max G_SLICE=always-malloc chroot "$2" /debootstrap/debootstrap --second-stage
    fi
}
emulation=()

# clean_debian NAME PACKAGES [ARCH]: makes target/roots/NAME/root with these packages (a list with commas), and leaves in `kept` the folder
# that it lies in. Packages of libssl lie there, too. ARCH is another than this machine's only after emulation_for.
clean_debian() {
    kept=target/roots/$1
    mkdir -p "$kept"
    exec 9>"$kept/lock"
    flock 9
    if [ "$(cat "$kept/ready" 2>/dev/null)" != "$suite $2" ]; then
        rm -rf "$kept/root" "$kept/ready" "$kept"/*.deb
        bootstrap "$2" "$kept/root" "${3:-}" >"$kept/log" 2>&1 || skip "debootstrap failed: $(tail -n 1 "$kept/log")"
        mv "$kept"/root/var/cache/apt/archives/libssl3_*.deb "$kept/"
        rm -rf "$kept"/root/var/cache/apt/archives/*.deb "$kept"/root/var/lib/apt/lists/*
        echo "$suite $2" >"$kept/ready"
    fi
    flock -u 9
}

# two_versions PROFILE FOLDER [ARCH]: the packages adjunct and adjunct-dev as first.deb and first-dev.deb, and with a higher version as second.deb
# and second-dev.deb. Made twice, from the same checkout: the same bytes.
two_versions() {
    local number version name made
    number=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
    for name in first second; do
        version=()
        [ "$name" = first ] || version=(--deb-version "$number-2")
        made=$(packaging/deb --profile "$1" --out "$2/made" ${3:+--arch "$3"} "${version[@]}")
        mv "$(sed -n 1p <<<"$made")" "$2/$name.deb"
        mv "$(sed -n 2p <<<"$made")" "$2/$name-dev.deb"
        rmdir "$2/made" || { say "packaging/deb left $(ls -A "$2/made")"; exit 1; }
    done
    for name in '' -dev; do
        cmp <(dpkg-deb --fsys-tarfile "$2/first$name.deb") <(dpkg-deb --fsys-tarfile "$2/second$name.deb")
    done
}
