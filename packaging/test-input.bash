# Sourced by test-deb: bad input of packaging/deb and packaging/apt-repository gets one line and exit status 2, before anything is made.

# What the tree has outside of target.
tree() {
    find . \( -path ./target -o -path ./.git -o -path ./fuzz/target \) -prune -o -type f -printf '%p %s %T@ %m\n' | LC_ALL=C sort | sha256sum
}
before=$(tree)

# refused WORD COMMAND...: it says one line, which has WORD, ends with 2 and leaves nothing in the folder that is to be its output.
refused() {
    local word=$1 code=0 said
    shift
    said=$("$@" 2>&1 </dev/null) || code=$?
    [ "$code" -eq 2 ] || { say "$* ended with $code: $said"; exit 1; }
    [ "$(wc -l <<<"$said")" -eq 1 ] && [[ $said == *"$word"* ]] || { say "$* said: $said"; exit 1; }
    [ ! -e "$work/out" ] || { say "$* made its folder"; exit 1; }
}
deb=(packaging/deb --out "$work/out")
refused 'unknown option --nothing' "${deb[@]}" --nothing
refused '--out needs a value' packaging/deb --out
refused '--arch m68k' "${deb[@]}" --arch m68k
refused '--profile nothing' "${deb[@]}" --profile nothing
refused '--profile dev' "${deb[@]}" --profile dev
refused '--deb-version a b' "${deb[@]}" --deb-version 'a b'
refused '--deb-version a.1' "${deb[@]}" --deb-version a.1
refused 'Cargo.toml is not a folder' packaging/deb --out Cargo.toml/below
refused '/proc cannot be written to' packaging/deb --out /proc/below
packaging/deb --help | grep -q -e '--deb-version VERSION'

# A build that fails leaves nothing either, wherever it is started.
mkdir "$work/failing"
printf '#!/bin/sh\n[ "$1" != build ] || { echo "error: this build fails" >&2; exit 101; }\nexec %s "$@"\n' "$(command -v cargo)" >"$work/failing/cargo"
chmod 755 "$work/failing/cargo"
if (cd "$work" && PATH=$work/failing:$PATH "$OLDPWD/packaging/deb" --out out --profile "$profile" >/dev/null 2>&1); then
    say "packaging/deb does not see that a build fails"
    exit 1
fi
[ ! -e "$work/out" ] || { say "a build that failed left $work/out"; exit 1; }

repository=(packaging/apt-repository --out "$work/out")
refused '--key KEY is missing' "${repository[@]}" "$work/none.deb"
refused '--out DIR is missing' packaging/apt-repository --key "$work/none.asc"
refused 'no PACKAGE.deb' "${repository[@]}" --key "$work/none.asc"
refused 'none.deb: no such file' "${repository[@]}" --key "$work/none.asc" "$work/none.deb"
refused 'cargo: not a Debian package' "${repository[@]}" --key "$work/none.asc" "$work/failing/cargo"
refused '--valid-for soon' "${repository[@]}" --key "$work/none.asc" --valid-for soon
refused '--suite ../x' "${repository[@]}" --key "$work/none.asc" --suite ../x
refused 'neither empty nor a repository' packaging/apt-repository --out packaging --key "$work/none.asc"
packaging/apt-repository --help | grep -q -e '--valid-for DAYS'
