# The tests of Ruby's openssl, with Ruby's own runner, on the suite's ruby.

bring() {
    local version
    version=$(readlink "$root/usr/bin/ruby")
    source_of "$version"
    cp -r "$source/test" "$source/tool" .
}

tests() {
    local one=()
    # By name, of all classes that have one of it.
    [ $# -eq 0 ] || one=(-n "/^($(printf '%s\n' "${@##*#}" | sort -u | paste -sd '|'))\$/")
    # Its runner writes what became of a test only where it failed; all that are run and neither fail nor are skipped have passed.
    cat >peers.rb <<'END'
report = IO.for_fd(3, "w")
report.sync = true
module Peers; end
Peers::REPORT = report
module Peers
  def record(suite, method, assertions, time, error)
    outcome = case error
              when nil then "passed"
              when Test::Unit::PendedError then "skipped"
              else "failed"
              end
    REPORT.puts "#{outcome} #{suite}##{method}"
    super
  end
end
Test::Unit::Runner.prepend(Peers)
END
    ruby -W0 -I tool/lib -I test/lib -r test/unit -r ./peers.rb tool/test/runner.rb "${one[@]}" test/openssl
    echo end >&3
}
