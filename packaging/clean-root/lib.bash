# Sourced by ./all, inside the clean root.

share=${share:-/tmp/share}
user=visitor
key=/tmp/key
config=/etc/ssl/openssl.cnf
sshd_environment=/etc/default/ssh
# The program of sshd's processes, as /proc tells it.
sshd_runs=sshd
[ -z "${EMULATED:-}" ] || sshd_runs='qemu-[a-z0-9-]*'

step() { printf '   %s\n' "$*"; }
fail() { printf 'FAILED in the clean root: %s\n' "$*" >&2; exit 1; }
# shows PATTERN: whether a line of the input has it. All is read first: a program whose reader ends early ends by SIGPIPE, and with
# pipefail that counts.
shows() {
    local input
    input=$(cat)
    grep -q -e "$1" <<<"$input"
}

# manifest FOLDER: a line for each name below it with its kind, mode, owner and link, and one for each file with its content.
manifest() {
    (
        cd "$1"
        skipped=(-xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp \) -prune -o)
        find . "${skipped[@]}" -printf '%P %y %m %U:%G %l\n'
        find . "${skipped[@]}" -type f -print0 | xargs -0 -r sha256sum | sed 's/^\\\{0,1\}\([0-9a-f]*\)  \.\/\(.*\)/\2 \1/'
    ) | LC_ALL=C sort
}

# What dpkg, apt, man-db and a login record, wherever a package comes from.
records='^(var/lib/dpkg/(status|status-old|available|lock|lock-frontend|triggers/Lock|updates|info/format) '
# And the linker's cache of the libraries that there are.
records+='|(etc/)?ld\.so\.cache '
records+='|var/log/(dpkg\.log|alternatives\.log|wtmp|btmp|lastlog|faillog|apt(/[a-z.]*)?) |var/lib/apt/|var/cache/|run/|root/\.cache)'

# same BEFORE AFTER WHAT: both manifests say the same.
same() {
    local differing
    differing=$(diff <(grep -Ev "$records" "$1") <(grep -Ev "$records" "$2")) || fail "$3: $differing"
}

# etc_is MANIFEST WHAT
etc_is() {
    manifest /etc >/tmp/etc.now
    same "$1" /tmp/etc.now "$2"
}

# make_user: $user, who may log in with $key.
make_user() {
    useradd --create-home "$user"
    ssh-keygen -q -t ed25519 -N '' -f "$key"
    mkdir -m 700 "/home/$user/.ssh"
    cp "$key.pub" "/home/$user/.ssh/authorized_keys"
    chown -R "$user:" "/home/$user/.ssh"
}

login() {
    ssh -i "$key" -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR \
        -o ConnectTimeout=100 -c aes128-gcm@openssh.com "$user@127.0.0.1" "$@"
}

# copies WHEN: the data through a login, all of it and unchanged.
copies() {
    local sum
    sum=$(login sha256sum </tmp/data 2>/tmp/said) || fail "no login $1: $(cat /tmp/said)"
    [ "${sum%% *}" = "$(cut -d' ' -f1 /tmp/data.sum)" ] || fail "the data that arrived $1 is other data"
}

# Bytes of AES GCM that the visitor's part of sshd had served by adjunct, in hardware and software.
counted() {
    adjunct stats --user "$user" --bytes | awk -F'|' '$1 ~ /AES GCM/ { n = split($2 " " $3, number, " "); for (i = 1; i <= n; i++) sum += number[i] }
        END { print sum + 0 }'
}

# is_used WHEN: a copy of the data is counted; not_used WHEN: it is not.
is_used() {
    local before
    before=$(counted)
    copies "$1"
    [ $(($(counted) - before)) -ge "$(stat -c %s /tmp/data)" ] || fail "$1: not all of the data was counted"
}
not_used() {
    local before
    before=$(counted)
    copies "$1"
    [ "$(counted)" -eq "$before" ] || fail "$1: adjunct is used"
}

# Logins one after the other until stop_logins; none may be lost.
start_logins() {
    rm -f /tmp/stop /tmp/lost
    touch /tmp/logins
    while [ ! -e /tmp/stop ]; do
        login true 2>>/tmp/lost.why && echo >>/tmp/logins || echo >>/tmp/lost
    done &
    logins=$!
}
stop_logins() {
    touch /tmp/stop
    wait "$logins"
    [ ! -e /tmp/lost ] || fail "logins were lost $1: $(wc -l </tmp/lost) of $(cat /tmp/logins /tmp/lost | wc -l): $(tail -n 1 /tmp/lost.why)"
}

# quietly COMMAND...: shows what it said where it fails.
quietly() { "$@" >/tmp/said 2>&1 </dev/null || fail "$* ended with $?: $(cat /tmp/said)"; }
# The same with what standard input gives it.
quietly_with() { "$@" >/tmp/said 2>&1 || fail "$* ended with $?: $(cat /tmp/said)"; }
# refuses COMMAND...: it must fail.
refuses() { if "$@" >/tmp/said 2>&1 </dev/null; then fail "$* went through: $(cat /tmp/said)"; fi; }

# tune: has the order of algorithms measured and, since a policy is named, written whatever it brings. An emulator takes too long for it: there it is written by hand.
tuned_files='/etc/ssh/ssh_config.d/10-adjunct.conf /etc/ssh/sshd_config.d/10-adjunct.conf'
tune() {
    if [ -z "${EMULATED:-}" ]; then
        quietly adjunct ssh tune --quick --time 5 --policy compat --apply
        return
    fi
    for file in $tuned_files; do
        printf '%s\n' '# Written by `adjunct ssh tune --apply`; `adjunct ssh tune --undo` takes it away.' 'Ciphers aes128-gcm@openssh.com,aes256-gcm@openssh.com' >"$file"
    done
}

# install first|second: that version of the package; install_dev: what programs are built with, of the same version.
install() { quietly apt-get install -q -y "$share/$1.deb"; }
install_dev() { quietly apt-get install -q -y "$share/$1-dev.deb"; }
remove() { quietly apt-get "${1:-remove}" -q -y adjunct; }

# await WHAT COMMAND...: until it succeeds, a minute at most.
await() {
    local what=$1 tries=0
    shift
    until "$@"; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || fail "$what did not come about"
        sleep 0.1
    done
}
