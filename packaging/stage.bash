# Sourced by what makes packages: the files that are made of the programs, below target/package. Cargo.toml of adjunct-cli and of
# adjunct-ica ([package.metadata.deb]) lists all that a package holds, these and others.

# One at a time makes and takes them.
stage_alone() {
    mkdir -p target
    exec 7>target/package.lock
    flock 7
}

# stage BUILT PREFIX LIBDIR DATE: of the programs that cargo has built in BUILT (target/release), for a package whose libraries lie in
# LIBDIR (/usr/lib/x86_64-linux-gnu), with DATE (2026-11-25) in the man pages:
#   target/package/man, man3, man5    man pages of the commands, of functions of libica and libep11, and of files
#   target/package/{bash,zsh,fish}    completions
#   target/package/lib                libica.so.4, libica-cex.so.4 and libep11.so.4
#   target/package/pkgconfig          libica.pc and libica-cex.pc
#   target/package/{third-party-licenses,changelog}.gz
# For another architecture `runner` is the command that runs its programs, CC its compiler and `tools` what strip's name begins with.
stage() {
    local built=$1 prefix=$2 libdir=$3 date=$4 stage=target/package name
    local run=(${runner:+"$runner"} "$built/adjunct")
    rm -rf "$stage"
    mkdir -p "$stage"/{man,man3,man5,bash,zsh,fish}
    "${run[@]}" man --date "$date" "$stage/man"
    for name in adjunct icainfo icainfo-cex icastats cpacfstats pkcsconf pkcsstats p11sak lszcrypt chzcrypt zcryptctl zcryptstats; do
        "${run[@]}" completions bash "$name" >"$stage/bash/$name"
        "${run[@]}" completions zsh "$name" >"$stage/zsh/_$name"
        "${run[@]}" completions fish "$name" >"$stage/fish/$name.fish"
    done
    run=(${runner:+"$runner"} "$built/adjunct-grep11")
    "${run[@]}" man --date "$date" >"$stage/man/adjunct-grep11.1"
    "${run[@]}" completions bash >"$stage/bash/adjunct-grep11"
    "${run[@]}" completions zsh >"$stage/zsh/_adjunct-grep11"
    "${run[@]}" completions fish >"$stage/fish/adjunct-grep11.fish"
    packaging/licenses >"$stage/third-party-licenses"
    cp CHANGELOG.md "$stage/changelog"
    # libica, with its symbol versions, of the static library.
    crates/adjunct-ica/link "$built/libadjunct_ica.a" "$stage/lib"
    cp "$built/libadjunct_ep11.so" "$stage/lib/libep11.so.4"
    "${tools:-}strip" --strip-unneeded --remove-section=.comment "$stage"/lib/*.so.4
    crates/adjunct-ica/pkgconfig "$prefix" "$libdir" "$stage/pkgconfig"
    crates/adjunct-ica/man/make "$date" "$stage/man3"
    sed "s/^@date\$/.Dd $(LC_ALL=C date -u -d "$date" '+%B %-d, %Y')/" crates/adjunct-ep11/man/libep11.3 >"$stage/man3/libep11.3"
    cp docs/man/*.5 "$stage/man5"
    # Pages that a page stands for are links to it, which are not compressed.
    find "$stage/man" "$stage/man3" "$stage/man5" -type f -exec gzip -9n {} +
    for name in $(find "$stage/man3" -type l -printf '%f\n'); do
        ln -s "$(readlink "$stage/man3/$name").gz" "$stage/man3/$name.gz"
        rm "$stage/man3/$name"
    done
    gzip -9n "$stage/third-party-licenses" "$stage/changelog"
}
