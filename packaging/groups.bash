# Sourced by what runs tests in control groups of their own.

# remove_group FOLDER: a control group and those below it. They can be removed once the last process in them is gone, which takes a moment.
remove_group() {
    local tries
    for ((tries = 0; tries < 50; tries++)); do
        [ -d "$1" ] || break
        find "$1" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
    done
}
