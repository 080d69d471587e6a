#!/usr/bin/env bash
# A root folder with programs of a newer Debian suite, beside this system and without touching it.
#
#   tests/roots.sh SUITE [PACKAGE...]     default: openssh-server openssh-client openssl libc-bin
#
# Prints the folder, target/roots/SUITE. Packages and all they depend on are fetched by apt, whose lists, cache and state
# are private to the root, from the archive and with the keys this system uses, and unpacked; nothing of them is run. A
# second call with the same packages does nothing. Exits with 3 where there is no apt, no Debian or no network.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=${1:?usage: roots.sh SUITE [PACKAGE...]}
shift
packages=("$@")
[ ${#packages[@]} -gt 0 ] || packages=(openssh-server openssh-client openssl libc-bin)

root=$PWD/target/roots/$suite
state=$PWD/target/roots/.apt-$suite
want="${packages[*]}"
if [ -e "$root" ] && [ "$(cat "$state/unpacked" 2>/dev/null)" = "$want" ]; then
    echo "$root"
    exit 0
fi

give_up() {
    echo "roots.sh: $suite: $*" >&2
    exit 3
}

command -v apt-get >/dev/null || give_up "no apt-get here"
command -v dpkg-deb >/dev/null || give_up "no dpkg-deb here"
archive=$(apt-get indextargets --format '$(REPO_URI) $(LABEL)' 2>/dev/null | awk '$2 == "Debian" { print $1; exit }')
if [ -z "$archive" ]; then
    # Lists not fetched yet: what the sources say.
    archive=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
        grep -oE 'https?://[^ ]*/debian/?( |$)' | head -n 1 | tr -d ' ')
fi
[ -n "$archive" ] || give_up "apt here has no Debian archive"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e "$keys" ] || give_up "$keys is missing"

mkdir -p "$state"/{lists/partial,archives/partial,etc}
: >"$state/status"
architecture=$(dpkg --print-architecture)
echo "deb [signed-by=$keys arch=$architecture] ${archive%/} $suite main" >"$state/etc/sources.list"
apt=(apt-get -q -y
    -o "Dir::State=$state" -o "Dir::State::lists=$state/lists" -o "Dir::State::status=$state/status"
    -o "Dir::Cache=$state" -o "Dir::Cache::archives=$state/archives"
    -o "Dir::Etc::sourcelist=$state/etc/sources.list" -o "Dir::Etc::sourceparts=/dev/null"
    -o "Dir::Etc::preferencesparts=/dev/null" -o "APT::Install-Recommends=false" -o "APT::Architecture=$architecture"
    -o "APT::Sandbox::User=$(id -un)" -o "Debug::NoLocking=true" -o "Acquire::Languages=none")

"${apt[@]}" update >&2 || give_up "the lists cannot be fetched"
rm -f "$state"/archives/*.deb "$state/unpacked"
"${apt[@]}" --download-only install "${packages[@]}" >&2 || give_up "the packages cannot be fetched"

rm -rf "$root" "$root.new"
mkdir -p "$root.new"
# Merged /usr, as the suites have had it since 12: packages that still ship /bin or /lib land in the right place.
for folder in bin sbin lib lib64; do
    mkdir -p "$root.new/usr/$folder"
    ln -s "usr/$folder" "$root.new/$folder"
done
for package in "$state"/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink --no-same-owner -C "$root.new"
done
mv "$root.new" "$root"
rm -f "$state"/archives/*.deb
echo "$want" >"$state/unpacked"
echo "$root"
