# Sourced by test-systemd and test-ansible, after needs.bash and clean-debian.bash: boots a clean Debian with systemd as its first process.
# It has its own file system, processes, network, shared memory and control groups: nothing of this machine is touched.

booted=
boot_group=

# needs_to_boot: ends the script where no Debian can be booted.
needs_to_boot() {
    grep -qw cgroup2 /proc/filesystems || skip "the kernel has no control groups of the second version"
    needs_of_clean_debian --mount --pid --net --ipc --uts --cgroup
}

# boot_debian ROOT WORK: boots a copy of the folder ROOT, which lies in the folder WORK and has what is in WORK/share as /srv/share.
boot_debian() {
    local root=$2/root
    boot_folder=$2
    boot_group=adjunct-${2##*.}
    cp -a --reflink=auto "$1" "$root"
    cp -r "$2/share" "$root/srv/share"
    : >"$root/etc/machine-id"
    unshare --mount bash packaging/booted/boot "$root" "$boot_group" >"$2/log" 2>&1 </dev/null &
    booted=$!
    local tries
    for ((tries = 0; ; tries++)); do
        is_up && break
        [ -e "/proc/$booted" ] && [ "$tries" -lt 240 ] || skip "systemd does not start: $(tail -n 1 "$2/log")"
        sleep 0.5
    done
}

# end_booted: its processes end with its first one, its mounts with its namespaces; the control groups are left, and go here.
end_booted() {
    [ -n "$booted" ] || return 0
    kill -KILL "$booted" 2>/dev/null || true
    # Without a word of how it ended.
    wait "$booted" 2>/dev/null || true
    booted=
    unshare --mount bash -c '. packaging/groups.bash
        mount -t cgroup2 cgroup2 "$1" && remove_group "$1/$2"' - "$boot_folder" "$boot_group" || true
}

# inside COMMAND...: in the booted system.
inside() {
    nsenter --target "$init" --mount --uts --ipc --net --pid --cgroup --root --wd env -i \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb DEBIAN_FRONTEND=noninteractive "$@"
}

is_up() {
    init=$(cat "/proc/$booted/task/$booted/children" 2>/dev/null) && init=${init% } && [ -n "$init" ] || return
    # Also where a unit of Debian's own failed.
    case $(inside systemctl is-system-running 2>/dev/null) in running | degraded) ;; *) return 1 ;; esac
}

# run_booted SCRIPT: as a service, for what is started from it belongs to it, as on any machine.
run_booted() {
    inside systemd-run --quiet --pipe --wait --collect --unit=booted-test --setenv=DEBIAN_FRONTEND=noninteractive --setenv=LANG=C.UTF-8 \
        --setenv=HOME=/root --setenv=TERM=dumb bash "$1" </dev/null
}
