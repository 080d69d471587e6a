# The tests of Perl's Net::SSLeay, on the suite's libnet-ssleay-perl.

bring() {
    source_of libnet-ssleay-perl
    cp -r "$source/t" "$source/inc" .
}

# What each file's lines say (Test Anything Protocol), and whether it came to its end.
tests() {
    local file code
    [ $# -gt 0 ] || set -- t/local/*.t
    for file; do
        code=0
        timeout 300 perl -Iinc "$file" >log || code=$?
        cat log
        perl -ne 'BEGIN { $file = shift }
            next unless /^(not )?ok\b\s*\d*\s*-?\s*(.*?)(\s*# (SKIP|TODO)\b.*)?$/i;
            my ($no, $name, $skipped) = ($1, $2, $4);
            # How long it took is no part of its name.
            $name =~ s/duration=\d+/duration/;
            print(($skipped ? "skipped" : $no ? "failed" : "passed"), " $file: $name\n")' "$file" <log >&3
        if [ "$code" -eq 0 ]; then echo "passed $file: its end" >&3; else echo "failed $file: its end ($code)" >&3; fi
    done
    echo end >&3
}

# The file of a test's name.
again() { sed 's/: .*//' | sort -u; }
