# Run by make: one page's source becomes the page.

function fail(what) { print "make: " page ": " what >"/dev/stderr"; failed = 1; exit 1 }

# The header: each function's prototype, each type's definition, each error number's words.
BEGIN {
    while ((getline line <header) > 0) {
        if (line ~ /^ \*     (0|E[A-Z]+) /) {
            words = line
            sub(/^ \*     [0E][A-Z]* +/, "", words)
            split(line, field, " ")
            error[field[2]] = words
        }
        if (line ~ /^ICA_EXPORT/) {
            prototype = line
            while (prototype !~ /;$/ && (getline line <header) > 0) {
                sub(/^[ \t]+/, "", line)
                prototype = prototype " " line
            }
            sub(/^ICA_EXPORT (ICA_DEPRECATED )?/, "", prototype)
            name = prototype
            sub(/[(;].*/, "", name)
            sub(/.*[ *]/, "", name)
            prototypes[name] = prototype
        }
        if (line ~ /^typedef /) {
            body = line
            while (body !~ /;$/ || body ~ /\{[^}]*$/) {
                if ((getline line <header) <= 0) break
                body = body "\n" line
            }
            name = body
            sub(/(\[[0-9]*\])?;$/, "", name)
            sub(/.*[ *]/, "", name)
            types[name] = body
        }
    }
    close(header)
}

# What stands between the parentheses, an argument a line.
function synopsis(name,    text, type, count, part, i) {
    if (!(name in prototypes)) fail(name " is not in the header")
    text = prototypes[name]
    if (text ~ /^extern /) {
        sub(/^extern /, "", text)
        print ".Vt \"" text "\""
        return
    }
    type = substr(text, 1, index(text, name "(") - 1)
    sub(/ +$/, "", type)
    print ".Ft \"" type "\""
    print ".Fo " name
    text = substr(text, index(text, "(") + 1)
    sub(/\);$/, "", text)
    count = split(text, part, /, */)
    for (i = 1; i <= count; i++) print ".Fa \"" part[i] "\""
    print ".Fc"
}

/^\.Sh / { section = $2 }
section == "NAME" && /^\.Nm / { names[++named] = $2 }
/^@date$/ { print ".Dd " date; next }
/^@type / { if (!($2 in types)) fail($2 " is no type of the header"); shown[++showing] = $2; next }
/^@synopsis$/ {
    for (i = 1; i <= showing; i++) {
        if (i == 1) print ".Bd -literal"
        else print ""
        print types[shown[i]]
        if (i == showing) print ".Ed\n.Pp"
    }
    for (i = 1; i <= named; i++) synopsis(names[i])
    next
}
/^@errors$/ {
    print "0 on success, and otherwise one of these numbers of\n.In errno.h ;\n.Va errno\nitself is not set:"
    next
}
/^@E[A-Z]+/ {
    code = substr($1, 2)
    words = $0
    sub(/^@E[A-Z]+ */, "", words)
    if (words == "") {
        if (!(code in error)) fail("the header says nothing of " code)
        words = error[code]
    }
    print ".It Er " code
    print toupper(substr(words, 1, 1)) substr(words, 2) (words ~ /\.$/ ? "" : ".")
    next
}
/^@/ { fail("unknown: " $0) }
{ print }
END { if (failed) exit 1 }
