# Sourced by ./all and ./booted, after lib.bash: Ansible on this machine itself.

export ANSIBLE_ROLES_PATH=$share/ansible/roles ANSIBLE_LOCALHOST_WARNING=False ANSIBLE_INVENTORY_UNPARSED_WARNING=False
# What Ansible keeps, and what a package leaves that is removed by hand as well.
records+='|^root/\.ansible|^root/\.cache'

# play CHANGES ARGUMENTS...: runs the play of the test; CHANGES, none or some, is what it says of changes. What it said is in /tmp/said.
play() {
    local wanted=$1 changed
    shift
    ansible-playbook /tmp/play.yml "$@" >/tmp/said 2>&1 </dev/null || fail "ansible-playbook $*: $(cat /tmp/said)"
    changed=$(sed -n 's/.*changed=\([0-9]*\).*/\1/p' /tmp/said)
    case $wanted:$changed in
        none:0 | some:[1-9]*) ;;
        *) fail "ansible-playbook $*: $changed changes where there were to be $wanted: $(cat /tmp/said)" ;;
    esac
}
# fails WHY ARGUMENTS...: it ends with a failure, and says why.
fails() {
    local why=$1
    shift
    if ansible-playbook /tmp/play.yml "$@" >/tmp/said 2>&1 </dev/null; then fail "ansible-playbook $* went through: $(cat /tmp/said)"; fi
    shows "$why" </tmp/said || fail "ansible-playbook $*: no word of why: $(cat /tmp/said)"
}
