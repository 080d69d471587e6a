# Sourced by .ci/run and check: runs steps one after the other, each with a limit of time, and prints what each of them took.

steps_began=$SECONDS
step_times=()

# What was started and has not ended ends with the script.
trap 'kill $(jobs -pr) 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM HUP

# begin MINUTES COMMAND...: starts it; its process is in $pid. It is ended, with all it started, where it takes longer.
begin() {
    local limit=$1
    shift
    # As a job: what a script starts beside itself otherwise ignores interrupts, and some tests send them.
    set -m
    timeout --verbose --kill-after=60 "${limit}m" "$@" </dev/null &
    pid=$!
    set +m
}

# finish PID WHAT: waits for it; where it was ended by force, says so.
finish() {
    local rc=0
    wait "$1" || rc=$?
    if [ "$rc" -eq 124 ] || [ "$rc" -eq 137 ]; then printf '== ENDED BY FORCE, for it took too long: %s\n' "$2"; fi
    return "$rc"
}

# took SECONDS WHAT: notes the time of a step.
took() { step_times+=("$1 $2"); }

# step MINUTES COMMAND...: runs it to its end.
step() {
    local start=$SECONDS rc=0
    printf '\n== %s\n' "${*:2}"
    begin "$@"
    finish "$pid" "${*:2}" || rc=$?
    printf '== %s in %d s\n' "$([ "$rc" -eq 0 ] && echo done || echo FAILED)" $((SECONDS - start))
    took $((SECONDS - start)) "${*:2}"
    return "$rc"
}

# The times of all steps so far, longest first.
times_of_steps() {
    printf '\n== steps, in seconds, longest first\n'
    printf '%s\n' "${step_times[@]}" | sort -rn | awk '{ t = $1; $1 = ""; printf "%8d %s\n", t, $0 }'
    printf '%8d  in all\n' $((SECONDS - steps_began))
}

# times_of_tests FOLDER: those that tests/run-test has written there, longest first; what took less than 0.1 s as one sum.
times_of_tests() {
    [ -e "$1/programs" ] || return 0
    printf '\n== test programs, in seconds, longest first\n'
    sort -rn "$1/programs" | awk '{ printf "%8.1f %s\n", $1, $2 }'
    printf '\n== tests, in seconds, longest first\n'
    local file
    for file in "$1"/*.tests; do
        sed -n "s,^test \(.*\) \.\.\. .*<\([0-9.]*\)s>\$,\2 $(basename "$file" .tests) \1,p" "$file"
    done | sort -rn | awk '$1 >= 0.1 { t = $1; $1 = ""; printf "%8.1f %s\n", t, $0; next } { n++; s += $1 }
        END { printf "%8.1f  in all of %d more, none longer than 0.1 s\n", s, n }'
}

# skipped_tests FOLDER: how many tests said that they were skipped, by reason: what stands behind the last colon.
skipped_tests() {
    [ -e "$1/programs" ] || return 0
    printf '\n== tests that were skipped, by reason\n'
    cat "$1"/*.tests | sed -n 's/^SKIPPED: \(.*: \)\{0,1\}//p' | sort | uniq -c | sort -rn
}
