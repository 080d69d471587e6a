# Sourced by ./all, inside the booted system, after lib.bash.

# The files of a system that runs: logs, random seeds, time stamps of timers, the identity it gave itself.
records+='|var/(log|tmp|lib/(systemd|private|dbus|logrotate))(/|  *| )|etc/(machine-id|\.updated) |var/\.updated |srv/'

state() { systemctl show --value --property="$2" "$1"; }
main_pid() { state "$1" MainPID; }
is_active() { systemctl is-active --quiet "$1"; }
# field PID NAME: of /proc/PID/status.
field() { awk -v name="$2:" '$1 == name { print $2 }' "/proc/$1/status"; }
# The processes that run a program, by its file.
running() { pgrep -f "^$1( |\$)" || true; }

units="adjunct-cards.socket adjunct-cards-control.socket adjunct-cards.service"
# In hardware alone there are cards.
if grep -qw avx512ifma /proc/cpuinfo; then has_cards=1; else has_cards=; fi

# Requests that the cards have done.
requests() { lszcrypt | awk '$1 ~ /^[0-9a-f][0-9a-f]$/ { sum += $NF } END { print sum + 0 }'; }
a_card_is_online() { lszcrypt 2>/dev/null | shows '^[0-9a-f]* .* online '; }

# signs NAME: one signature with RSA, which asks a card, and its verification.
signs() {
    ADJUNCT_CARDS=always openssl dgst -sha256 -sign /tmp/rsa.key -out "/tmp/$1.sig" /tmp/text &&
        openssl dgst -sha256 -verify /tmp/rsa.pub -signature "/tmp/$1.sig" /tmp/text >/dev/null
}
# Signatures of eight at a time until stop_signing; none may be lost.
start_signing() {
    rm -f /tmp/stop.signing /tmp/lost.signing
    signers=()
    local number
    for number in 1 2 3 4 5 6 7 8; do
        while [ ! -e /tmp/stop.signing ]; do
            signs "$number" 2>>/tmp/signing.why && echo >>"/tmp/signed.$number" || echo >>/tmp/lost.signing
        done &
        signers+=($!)
    done
}
stop_signing() {
    touch /tmp/stop.signing
    wait "${signers[@]}"
    [ ! -e /tmp/lost.signing ] || fail "signatures were lost $1: $(wc -l </tmp/lost.signing): $(tail -n 1 /tmp/signing.why)"
}

# hold NAME: a session, kept open until release NAME WHEN, which then sends the data through it.
hold() {
    rm -f "/tmp/$1.in"
    mkfifo "/tmp/$1.in"
    login cat <"/tmp/$1.in" >"/tmp/$1.out" &
    session=$!
    exec 7>"/tmp/$1.in"
    echo before >&7
    await "a session" grep -q before "/tmp/$1.out"
}
release() {
    cat /tmp/data >&7
    exec 7>&-
    wait "$session" || fail "the session was lost $2"
    tail -c +8 "/tmp/$1.out" | cmp - /tmp/data || fail "the session's data changed $2"
}

fetches() { curl -sS --insecure -o /dev/null https://localhost/; }
# metrics PORT: what is served to Prometheus there.
metrics() { curl -sS --fail "http://127.0.0.1:$1/metrics"; }
