#!/bin/sh
# A runner without a model: it "follows" a skill by saying, one line each, what the skill tells it to do for a prompt.
#
# Of SKILL.md it takes the sections whose heading shares a word with the prompt, all of them where none does. What
# stands in a reference that such a section links to is said as well; one that is not there is said to be missing.
cd "$SKILLHUB_EVAL_SKILL" || exit 1
exec awk -v prompt="$SKILLHUB_EVAL_PROMPT" '
function plain(text) {
    gsub(/[`*_>|]/, " ", text); gsub(/[ \t\r]+/, " ", text); sub(/^ /, "", text); sub(/ $/, "", text)
    return text
}
function flush_unit() {
    if (unit != "") said[section] = said[section] plain(unit) "\n"
    unit = ""
}
function wanted(heading,   words, count, i) {
    count = split(tolower(heading), words, /[^a-z]+/)
    for (i = 1; i <= count; i++) if (length(words[i]) > 3 && index(tolower(prompt), words[i])) return 1
    return 0
}
function refer(path,   line, found) {
    found = 0
    while ((getline line < path) > 0) { if (!found) print "From " path ":"; found = 1; if (plain(line) != "") print plain(line) }
    if (!found) print "Missing: " path
    close(path)
}
BEGIN { section = 0; heading[0] = "" }
FNR == 1 && /^---$/ { front = 1; next }
front { if (/^---$/) front = 0; next }
/^ *```/ { flush_unit(); code = !code; next }
code { if ($0 != "") { said[section] = said[section] "Run: " plain($0) "\n" } next }
/^##? / { flush_unit(); if (/^## /) { section++; heading[section] = $0 } next }
{
    rest = $0
    while (match(rest, /\]\([a-z]+\/[^)]*\)/)) {
        links[section] = links[section] substr(rest, RSTART + 2, RLENGTH - 3) "\n"
        rest = substr(rest, RSTART + RLENGTH)
    }
}
/^ *$/ { flush_unit(); next }
/^ *([0-9]+\.|[-+*]) / { flush_unit(); sub(/^ *([0-9]+\.|[-+*]) /, "") }
/^ *\|/ { flush_unit() }
{ unit = unit " " $0 }
END {
    flush_unit()
    any = 0
    for (i = 1; i <= section; i++) if (wanted(heading[i])) any = 1
    for (i = 0; i <= section; i++) {
        if (any && i > 0 && !wanted(heading[i])) continue
        printf "%s", said[i]
    }
    for (i = 0; i <= section; i++) {
        if (any && i > 0 && !wanted(heading[i])) continue
        count = split(links[i], path, "\n")
        for (j = 1; j < count; j++) if (!(path[j] in read_already)) { read_already[path[j]] = 1; refer(path[j]) }
    }
}' SKILL.md
