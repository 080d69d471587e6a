# Sourced by make-root, make-openssl4 and make-cross-root: packages of another Debian, fetched without touching the system. The
# caller says in `dir` where all of it goes and has a function `fail`. What cannot be had here ends with 75.

. "$(dirname "${BASH_SOURCE[0]}")/../packaging/needs.bash"

lacking() { (fail "$@") || exit 75; }

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# The mirror this machine itself uses; apt's own settings (a proxy, say) stay in force.
mirror() {
    apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' | awk '$2 == "Debian" { print $1; exit }'
}

# Makes $dir/apt, apt's own state with no package installed, for the suite $1 and the architecture $2 (this machine's if none).
open_suite() {
    command -v apt-get >/dev/null || lacking "no apt here"
    [ -e "$keyring" ] || lacking "no $keyring (package debian-archive-keyring)"
    if [ -z "$(mirror)" ]; then
        (flock 8 && apt_update) 8<"$apt_in_use" >"$dir/log" 2>&1 || lacking "apt-get update failed; see $dir/log"
    fi
    local from
    from=$(mirror)
    [ -n "$from" ] || lacking "apt has no Debian mirror (apt-get update?)"
    rm -rf "$dir/apt"
    mkdir -p "$dir"/apt/{state/lists/partial,cache/archives/partial,preferences.d}
    : >"$dir/apt/status"
    architecture=${2:-$(dpkg --print-architecture)}
    echo "deb [signed-by=$keyring] $from $1 main" >"$dir/apt/sources.list"
    apt update >"$dir/log" 2>&1 || lacking "apt update for $1 failed; see $dir/log"
}

# apt-get with that state.
apt() {
    apt-get -q -y -o Dir::State="$dir/apt/state" -o Dir::State::status="$dir/apt/status" -o Dir::Cache="$dir/apt/cache" \
        -o Dir::Etc::sourcelist="$dir/apt/sources.list" -o Dir::Etc::sourceparts=- -o Dir::Etc::preferencesparts=- \
        -o Dir::Etc::preferences=- -o APT::Install-Recommends=false -o APT::Sandbox::User=root \
        -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" \
        -o Acquire::Languages=none -o Acquire::Retries=3 -o DPkg::Post-Invoke= -o APT::Update::Post-Invoke= "$@" </dev/null
}

# Downloads the packages named, with what they depend on, and unpacks them in the folder $1, whose /usr is merged.
unpack() {
    local root=$1 name package
    shift
    apt --download-only install "$@" >>"$dir/log" 2>&1 || lacking "download of packages failed; see $dir/log"
    # The folders of merged /usr first: the packages bring files below both names.
    mkdir -p "$root"/usr/{bin,sbin,lib,lib64}
    for name in bin sbin lib lib64; do ln -sfn "usr/$name" "$root/$name"; done
    for package in "$dir"/apt/cache/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x -C "$root" --keep-directory-symlink
    done
}
