# Node's tests of crypto, TLS and HTTPS, on the suite's nodejs.

bring() {
    source_of nodejs
    cp -r "$source/test" .
    # A CCM message that was never given has no tag in OpenSSL before its releases of August 2026; there, and with ours, it has.
    perl -0777 -pi -e 's/^\{\n  \/\/ CCM cipher without data should not crash.*?^\}\n//ms' test/parallel/test-crypto-authenticated.js
}

tests() {
    local file flags code log
    [ $# -gt 0 ] || set -- test/parallel/test-{crypto,tls,https,webcrypto,x509}*.js test/sequential/test-{crypto,tls,https}*.js
    for file; do
        [ -e "$file" ] || continue
        # What it wants in its first lines.
        flags=$(sed -n 's,^// Flags: *,,p' "$file")
        code=0
        # shellcheck disable=SC2086
        log=$(timeout 120 node --openssl-shared-config $flags "$file" 2>&1) || code=$?
        if [ "$code" -ne 0 ]; then
            printf -- '--- %s (%s)\n%s\n' "$file" "$code" "$log"
            echo "failed $file" >&3
        elif grep -q '^1\.\.0 # Skipped' <<<"$log"; then
            echo "skipped $file" >&3
        else
            echo "passed $file" >&3
        fi
    done
    echo end >&3
}
