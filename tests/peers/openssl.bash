# OpenSSL's own tests, of the suite's version: built once, below target/peers; each test program reads the configuration that its recipe
# names, with our block in it. What became of each recipe is compared; what its test programs say stands in the log.

# On the machine itself, for the tests are compiled.
rooted() { root=/; }

# With stock the files of OpenSSL's own tree, with adjunct as `bring` changes them.
configure() {
    cp "$PWD/target/peers/$suite/root/etc/ssl/openssl.cnf" "$work/stock.cnf"
    cp "$work/stock.cnf" "$work/adjunct.cnf"
}

bring() {
    source_of openssl
    local tree=$work/../$suite/openssl
    mkdir -p "$tree"
    exec 7>"$tree/lock"
    flock 7
    if [ ! -e "$tree/ready" ]; then
        rm -rf "$tree/built"
        cp -r "$source" "$tree/built"
        (cd "$tree/built" && ./config --libdir=lib shared && make -j "$(nproc)" build_sw && make -j "$(nproc)" build_programs) >"$tree/log" 2>&1 ||
            { tail -n 5 "$tree/log" >&2; return 1; }
        touch "$tree/ready"
    fi
    cp -a "$tree/built/." .
}

# After both have the tree: what the recipes' programs read.
adjunct_of() {
    local file
    for file in apps/openssl.cnf test/default.cnf test/default-and-legacy.cnf; do
        [ ! -e "$file" ] || enable "$PWD/$file"
    done
}

tests() {
    local only=()
    [ $# -eq 0 ] || only=("TESTS=$*")
    # Their own programs, libraries and configurations: what is set for other suites is for those.
    unset OPENSSL_CONF
    HARNESS_JOBS=2 HARNESS_VERBOSE_FAILURE=yes make test "${only[@]}" 2>&1 | tee recipes
    # A recipe that fails has a line in the summary.
    sed -n -E -e 's,^[0-9]+-(test_[^ ]*)\.t \.+ ok.*,passed \1,p' -e 's,^[0-9]+-(test_[^ ]*)\.t \.+ skipped.*,skipped \1,p' \
        -e 's,^([^ ]*/)?[0-9]+-(test_[^ ]*)\.t +\(Wstat.*,failed \2,p' recipes >&3
    ! grep -qE '^Result: (PASS|FAIL)' recipes || echo end >&3
}
