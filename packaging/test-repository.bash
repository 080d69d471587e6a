# Sourced by test-deb: makes repositories of the packages in $work/share, for $arch, with packaging/apt-repository and looks at them;
# clean-root/repository installs from them.

wrong() { say "the apt repository: $*"; exit 1; }

# Two keys that can sign, each in a file, and one that is none.
need_packages gpg:gpg
mkdir -m 700 "$work/gnupg"
for name in good wrong; do
    GNUPGHOME=$work/gnupg gpg --batch --quiet --passphrase '' --quick-generate-key "$name <$name@localhost>" ed25519 sign never 2>/dev/null
    GNUPGHOME=$work/gnupg gpg --batch --quiet --armor --export-secret-keys "$name@localhost" >"$work/$name.asc"
done
GNUPGHOME=$work/gnupg gpg --batch --quiet --armor --export good@localhost >"$work/public.asc"
GNUPGHOME=$work/gnupg gpgconf --kill all
made=$work/share/repository
add() { packaging/apt-repository --out "$made" "$@" 2>"$work/said" || wrong "$(cat "$work/said")"; }

# A package of another architecture, and one with a version that there is and other contents.
fake() {
    mkdir -p "$work/fake/DEBIAN"
    printf '%s\n' 'Package: adjunct' "Version: $number-1" "Architecture: $1" 'Maintainer: nobody <nobody@localhost>' "Description: $2" >"$work/fake/DEBIAN/control"
    dpkg-deb --root-owner-group --build "$work/fake" "$work/fake-$1.deb" >/dev/null
}
other=arm64
[ "$arch" != arm64 ] || other=amd64
fake "$other" other
fake "$arch" changed

refused 'no such secret key' packaging/apt-repository --out "$work/out" --key "$work/public.asc" "$work/share/first.deb"
add --key "$work/good.asc" "$work/share/first.deb" "$work/share/first-dev.deb" "$work/fake-$other.deb"
cp -a "$made" "$made-1"
index=main/binary-$arch
sum=$(sha256sum <"$made/dists/stable/$index/Packages.xz")
grep -qx 'Acquire-By-Hash: yes' "$made/dists/stable/InRelease" || wrong "no Acquire-By-Hash"
grep -qxE 'Architectures: (amd64 arm64|arm64 amd64)' "$made/dists/stable/InRelease" || wrong "not both architectures"
! grep -q "$other" "$made/dists/stable/$index/Packages" || wrong "an index has packages of another architecture"
[ "$(sed -n 's/^Architecture: //p' "$made/dists/stable/main/binary-$other/Packages")" = "$other" ] || wrong "the index of the other architecture is wrong"

add --key "$work/good.asc" "$work/share/second.deb" "$work/share/second-dev.deb"
[ "$(grep -cx 'Package: adjunct' "$made/dists/stable/$index/Packages")" -eq 2 ] || wrong "the old version is not kept"
[ -e "$made/dists/stable/$index/by-hash/SHA256/${sum%% *}" ] || wrong "the index before is not there by its hash any more"
# What is refused or fails changes nothing.
now=$(readlink "$made/dists")
files() { find "$made" -printf '%p %l %s %T@\n' | LC_ALL=C sort; }
files >"$work/files"
if packaging/apt-repository --out "$made" --key "$work/good.asc" "$work/fake-$arch.deb" 2>"$work/said"; then
    wrong "a version was replaced by other bytes"
fi
grep -q 'is there already with other contents' "$work/said" || wrong "no word of why: $(cat "$work/said")"
[ "$now" = "$(readlink "$made/dists")" ] && files | cmp -s - "$work/files" || wrong "what was refused changed the repository"
# The same again, and signing alone.
add --key "$work/good.asc" --valid-for 30 "$work/share/second.deb"
grep -q '^Valid-Until: ' "$made/dists/stable/InRelease" || wrong "no Valid-Until"
add --key "$work/good.asc"
cp -a "$made" "$made-2"
# Another suite beside it.
add --key "$work/good.asc" --suite testing
[ -e "$made/dists/stable/InRelease" ] && [ -e "$made/dists/testing/InRelease" ] || wrong "a suite was lost"

# Signed by another key; changed after signing; a package changed.
add --key "$work/wrong.asc"
cp -a "$made" "$made-wrong"
cp -a "$made-2" "$made-changed"
sed -i 's/^Label: adjunct/Label: changed/' "$made-changed/dists/stable/InRelease"
cp -a "$made-2" "$made-packages"
find "$made-packages/pool" -name "adjunct_$number-2_*.deb" -exec sh -c 'printf x >>"$1"' - {} \;
rm -rf "$made"
