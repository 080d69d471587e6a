# The tests of Go's module golang-fips/openssl, and of a server of Go's own TLS 1.3 over its digests (tests/peers/go). That module is what
# the Go of Red Hat and Microsoft computes with; this version of it copies digests by their memory, whatever provider they are of.

# On the machine itself, for the tests are compiled.
rooted() { root=/; }

bring() {
    local version=v2.0.3
    command -v go >/dev/null && command -v gcc >/dev/null || return 75
    (
        cd "$work" && mkdir fetch && cd fetch
        export GOFLAGS=-mod=mod
        go mod init fetch && go get "github.com/golang-fips/openssl/v2@$version" && go mod download
    ) >"$work/log" 2>&1 || { tail -n 2 "$work/log" >&2; return 75; }
    cp -r "$(go env GOMODCACHE)/github.com/golang-fips/openssl/v2@$version" module
    chmod -R u+w module
    (cd module && go test -c -o ../module.test .) || return 1
    mkdir resumption
    cp "$here/go/resumption_test.go" resumption
    (cd resumption && cp "$work/fetch/go.sum" . && go mod init resumption && go mod edit -require "github.com/golang-fips/openssl/v2@$version" &&
        go test -c -o ../resumption.test .) || return 1
}

# A process for each test: one that panics ends them all.
tests() {
    local program name said
    for program in module resumption; do
        for name in $("./$program.test" -test.list .); do
            [[ $name == Test* ]] || continue
            [ $# -eq 0 ] || [[ " $* " == *" $program/$name "* ]] || continue
            if said=$(cd "$program" && timeout 120 "../$program.test" -test.run "^$name\$" -test.v 2>&1); then
                if grep -q "^--- SKIP: $name " <<<"$said"; then echo "skipped $program/$name"; else echo "passed $program/$name"; fi >&3
            else
                echo "failed $program/$name" >&3
            fi
            printf '%s\n' "$said"
        done
    done
    echo end >&3
}
