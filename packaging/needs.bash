# Sourced by check and quickstart: what they need, installed with apt when we may, or the one line to run.

say() { printf '%s\n' "$*" >&2; }

# need_packages COMMAND-OR-FILE:PACKAGE...
need_packages() {
    local pair missing=()
    for pair in "$@"; do
        local what=${pair%%:*} package=${pair#*:}
        case $what in
            /*) [ -e "$what" ] || missing+=("$package") ;;
            *) PATH="$PATH:/usr/sbin:/sbin" command -v "$what" >/dev/null || missing+=("$package") ;;
        esac
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if ! command -v apt-get >/dev/null; then
        say "Missing: ${missing[*]} (Debian's names). Install them and run this again."
        exit 1
    fi
    if [ "$(id -u)" -ne 0 ]; then
        say "Some packages are missing. Run this line, then this script again:"
        say "  sudo apt-get install -y ${missing[*]}"
        exit 1
    fi
    # Another script may be at it just now.
    local lock
    exec {lock}<"$apt_in_use"
    flock "$lock"
    say "Installing with apt: ${missing[*]}"
    local ok=
    if (
        # Debian starts a service when its package is installed; we only want the programs. In a shell of its own, as the caller may have
        # something else to do at its end.
        if [ ! -e /usr/sbin/policy-rc.d ]; then
            trap 'rm -f /usr/sbin/policy-rc.d' EXIT
            printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d && chmod 755 /usr/sbin/policy-rc.d || exit
        fi
        apt_install "${missing[@]}" || { apt_update && apt_install "${missing[@]}"; }
    ); then ok=1; fi
    exec {lock}<&-
    if [ -z "$ok" ]; then
        say "apt could not install them. Run this line, then this script again:"
        say "  apt-get update && apt-get install -y ${missing[*]}"
        exit 1
    fi
}

# Held by those of our scripts that change what apt knows or has installed.
apt_in_use=/usr/sbin

# A machine that has just started may be looking for upgrades itself: dpkg's lock is waited for, that of the lists apt gives up on.
apt_install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=600 -o Acquire::Retries=5 \
        "$@" >&2 </dev/null
}

apt_update() {
    local tries
    for tries in 1 2 3 4; do
        if apt-get update -q -o Acquire::Retries=5 >&2 </dev/null; then return 0; fi
        [ "$tries" -eq 4 ] || sleep 15
    done
    return 1
}

# A cargo new enough for rust-version in Cargo.toml; Debian 12's own is not.
need_cargo() {
    command -v cargo >/dev/null || PATH="$HOME/.cargo/bin:$PATH"
    # A registry that does not answer at once is asked again.
    export CARGO_NET_RETRY=${CARGO_NET_RETRY:-10}
    local wanted have=none
    wanted=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml)
    if command -v cargo >/dev/null; then
        have=$(cargo --version 2>/dev/null | cut -d' ' -f2)
        if [ "$(printf '%s\n' "$wanted" "${have:-0}" | sort -V | head -n 1)" = "$wanted" ]; then return 0; fi
    fi
    say "Rust $wanted or newer is needed (found: ${have:-none}). Run this line, then this script again:"
    if command -v rustup >/dev/null; then
        say "  rustup update stable && rustup default stable"
    else
        say "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y && . \"\$HOME/.cargo/env\""
    fi
    exit 1
}

# cargo deb of the version this repository is made for. Unoptimized: it is run for seconds, and compiled in half the time.
need_cargo_deb() {
    command -v cargo-deb >/dev/null || cargo install --locked --quiet --debug --version '^3.8' cargo-deb
}
