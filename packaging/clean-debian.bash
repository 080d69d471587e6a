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

# The mirror and the proxy that apt itself uses.
bootstrap() {
    local mirror proxy
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' | awk '$2 == "Debian" { print $1; exit }')
    proxy=$(apt-config dump --format '%v' Acquire::http::Proxy)
    [ -z "$proxy" ] || export http_proxy=$proxy
    debootstrap --variant=minbase --include="$1" "$suite" "$2" "${mirror:-http://deb.debian.org/debian}"
}

# clean_debian NAME PACKAGES: makes target/roots/NAME/root with these packages (a list with commas), and leaves in `kept` the folder that
# it lies in. Packages of libssl lie there, too.
clean_debian() {
    kept=target/roots/$1
    mkdir -p "$kept"
    exec 9>"$kept/lock"
    flock 9
    if [ "$(cat "$kept/ready" 2>/dev/null)" != "$suite $2" ]; then
        rm -rf "$kept/root" "$kept/ready" "$kept"/*.deb
        bootstrap "$2" "$kept/root" >"$kept/log" 2>&1 || skip "debootstrap failed: $(tail -n 1 "$kept/log")"
        mv "$kept"/root/var/cache/apt/archives/libssl3_*.deb "$kept/"
        rm -rf "$kept"/root/var/cache/apt/archives/*.deb "$kept"/root/var/lib/apt/lists/*
        echo "$suite $2" >"$kept/ready"
    fi
    flock -u 9
}

# two_versions PROFILE FOLDER: the packages adjunct and adjunct-dev as first.deb and first-dev.deb, and with a higher version as second.deb
# and second-dev.deb. Made twice, from the same checkout: the same bytes.
two_versions() {
    local number version name made
    number=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
    for name in first second; do
        version=()
        [ "$name" = first ] || version=(--deb-version "$number-2")
        made=$(packaging/deb --profile "$1" --out "$2/made" "${version[@]}")
        mv "$(sed -n 1p <<<"$made")" "$2/$name.deb"
        mv "$(sed -n 2p <<<"$made")" "$2/$name-dev.deb"
        rmdir "$2/made" || { say "packaging/deb left $(ls -A "$2/made")"; exit 1; }
    done
    for name in '' -dev; do
        cmp <(dpkg-deb --fsys-tarfile "$2/first$name.deb") <(dpkg-deb --fsys-tarfile "$2/second$name.deb")
    done
}
