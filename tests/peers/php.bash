# The tests of PHP's openssl, on the suite's php-cli.

bring() {
    local version
    version=$(readlink "$root/usr/bin/php.default")
    source_of "$version"
    mkdir -p ext sapi
    cp -r "$source/ext/openssl" ext
    cp "$source/run-tests.php" .
}

tests() {
    local php
    php=$(readlink /usr/bin/php.default)
    [ $# -gt 0 ] || set -- ext/openssl/tests
    TEST_PHP_EXECUTABLE=/usr/bin/$php NO_INTERACTION=1 SKIP_ONLINE_TESTS=1 "$php" run-tests.php -n -q --set-timeout 120 -W outcome "$@"
    # Names of tests are absolute, below this folder.
    sed -n -e "s,^PASSED\t$PWD/,passed ,p" -e "s,^FAILED\t$PWD/,failed ,p" -e "s,^BORKED\t$PWD/,failed ,p" -e "s,^XFAILED\t$PWD/,passed ,p" \
        -e "s,^SKIPPED\t$PWD/,skipped ,p" -e "s,^LEAKED\t$PWD/,failed ,p" outcome >&3
    for test in ext/openssl/tests/*.out; do
        [ -e "$test" ] || continue
        echo "--- ${test%.out}"
        cat "${test%.out}.diff" 2>/dev/null
    done
    echo end >&3
}
