# OpenSSL's own tests, of the suite's version: built once, below target/peers; each test program reads the configuration that its recipe
# names, with our block in it. What became of each recipe is compared; what its test programs say stands in the log.

# On the machine itself, for the tests are compiled.
rooted() { root=/; }

# With stock the files of OpenSSL's own tree, with adjunct as `bring` changes them.
configure() {
    cp "$PWD/target/peers/$suite/root/etc/ssl/openssl.cnf" "$work/stock.cnf"
    cp "$work/stock.cnf" "$work/adjunct.cnf"
}

# What OpenSSL's tests demand that must be otherwise with ours; both sides run what these edits make of them.
edit() {
    local tree=$1
    # ChaCha20-Poly1305: decryption ends with success where no tag was given. Ours refuses it. The tag is given.
    perl -0777 -pi -e 's/(ChaCha20-Poly1305.*?)(\|\| !TEST_true\(EVP_EncryptFinal\(ctx, ciphertext \+ ctlen, &tmp\)\))(.*?)(if \(!TEST_true\(EVP_DecryptInit_ex\(ctx, cipher, NULL, key, iv\)\))/$1$2 || !TEST_int_gt(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, ciphertext + 60), 0)$3$4 || !TEST_int_gt(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, ciphertext + 60), 0)/s' \
        "$tree/test/evp_extra_test.c"
    # Where the default provider is unloaded or excluded, a digest cannot be fetched. With the configuration it is loaded all the same,
    # and there is ours. A provider is asked for that is nowhere.
    perl -pi -e 's/(TEST_ptr_null\(sha256 = EVP_MD_fetch\(NULL, "SHA2-256", )NULL/$1"provider=none"/' "$tree/test/evp_extra_test2.c"
    perl -pi -e "s/'provider!=default', '-fetchfail'/'provider=none', '-fetchfail'/" "$tree/test/recipes/30-test_evp_fetch_prov.t"
    # The "null" provider keeps the default one from being loaded. A configuration that names the default one loads it.
    perl -pi -e 's/TEST_false\(OSSL_PROVIDER_available\(NULL, "default"\)\)/1/' "$tree/test/pkcs12_format_test.c" "$tree/test/sslapitest.c"
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
        edit "$tree/built"
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
