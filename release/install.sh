#!/bin/sh
# Installs skillhub below ~/.local from a folder of release files on a server, and checks their SHA-256 sums.
#
#   sh install.sh               program, man pages and completions
#   sh install.sh --uninstall   removes them
#
# SKILLHUB_RELEASES is the address of the folder, SKILLHUB_PREFIX another place than ~/.local. The sums come from the
# same server as the archive: they detect damage, and who trusts them trusts the server.
set -eu
umask 022
releases=${SKILLHUB_RELEASES:-}
prefix=${SKILLHUB_PREFIX:-${HOME:?}/.local}
case $prefix in
    /*) ;;
    *) prefix=$PWD/$prefix ;;
esac
from_source='build it from a clone: cargo install --locked --path .'

main() {
    case "$*" in
        '') install_release ;;
        --uninstall) uninstall ;;
        *) fail "there is no option $*" 'install with: sh install.sh, remove with: sh install.sh --uninstall' ;;
    esac
}

fail() {
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

install_release() {
    [ -n "$releases" ] || fail 'SKILLHUB_RELEASES is not set, and this installer comes from a build without an address of its own' \
        'run: SKILLHUB_RELEASES=ADDRESS sh install.sh, where ADDRESS is that of the folder with SHA256SUMS and the archives'
    platform=$(platform)
    mkdir -p "$prefix/bin" "$prefix/share"
    # Beside the target, so that the program is put in place by one rename.
    work=$(mktemp -d "$prefix/.skillhub-install-XXXXXX")
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' HUP INT TERM

    fetch SHA256SUMS
    name=$(sed -n "s/^[0-9a-f]\{64\}  \(skillhub-[0-9][0-9A-Za-z.+-]*-$platform\)\.tar\.gz\$/\1/p" "$work/SHA256SUMS")
    case $name in
        '') fail "$releases has no archive for $platform" "$from_source" ;;
        *[!0-9A-Za-z.+_-]*) fail "$releases has several archives for $platform" 'name the folder of one release in SKILLHUB_RELEASES' ;;
    esac
    fetch "$name.tar.gz"
    expected=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\.tar\.gz\$/\1/p" "$work/SHA256SUMS")
    [ "$(sum_of "$work/$name.tar.gz")" = "$expected" ] ||
        fail "$name.tar.gz does not have the sum in SHA256SUMS; nothing was installed" 'run the installer again, and report it if it happens twice'
    tar -xzf "$work/$name.tar.gz" -C "$work"
    installed=$("$work/$name/bin/skillhub" --version) ||
        fail 'the program does not start on this machine, probably because the system is older; nothing was installed' "$from_source"

    cp -R "$work/$name/share/." "$prefix/share"
    mv -f "$work/$name/bin/skillhub" "$prefix/bin/skillhub"
    printf 'Installed %s to %s/bin/skillhub\n' "$installed" "$prefix"
    case :$PATH: in
        *:"$prefix/bin":*) printf 'Try it: skillhub tour\n' ;;
        *) printf "Put it on your PATH: export PATH='%s/bin':\$PATH\nTry it: '%s/bin/skillhub' tour\n" "$prefix" "$prefix" ;;
    esac
}

platform() {
    case $(uname -s)/$(uname -m) in
        Linux/x86_64) echo "x86_64-unknown-linux-$(libc)" ;;
        Linux/aarch64 | Linux/arm64) echo "aarch64-unknown-linux-$(libc)" ;;
        Darwin/x86_64) echo x86_64-apple-darwin ;;
        Darwin/arm64) echo aarch64-apple-darwin ;;
        *) fail "there are no archives for $(uname -s) on $(uname -m)" "$from_source" ;;
    esac
}

libc() {
    case $(ldd --version 2>&1) in
        *musl*) echo musl ;;
        *) echo gnu ;;
    esac
}

# Over HTTPS, also after redirections. Plain HTTP is for a server on this machine.
fetch() {
    case $releases in
        *@*) fail 'SKILLHUB_RELEASES has a user name' 'set it to an address without one' ;;
        https://*) scheme=https ;;
        http://127.0.0.1[:/]* | http://localhost[:/]*) scheme=http ;;
        *) fail "$releases is not an https:// address" 'set SKILLHUB_RELEASES to one' ;;
    esac
    if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --proto "=$scheme" --output "$work/$1" "$releases/$1"
    elif command -v wget >/dev/null; then
        wget -q -O "$work/$1" "$releases/$1"
    else
        fail 'there is neither curl nor wget' 'install curl with your package manager'
    fi || fail "$releases/$1 cannot be fetched; nothing was installed" 'check the address and the connection'
}

sum_of() {
    if command -v sha256sum >/dev/null; then
        sha256sum <"$1"
    elif command -v shasum >/dev/null; then
        shasum -a 256 <"$1"
    else
        fail 'there is neither sha256sum nor shasum to check the archive with; nothing was installed' 'install coreutils with your package manager'
    fi | cut -d ' ' -f 1
}

uninstall() {
    [ -e "$prefix/bin/skillhub" ] || fail "there is no skillhub in $prefix/bin; nothing was removed" \
        'name the folder that it was installed to: SKILLHUB_PREFIX=FOLDER sh install.sh --uninstall'
    rm -rf "$prefix/share/doc/skillhub"
    rm -f "$prefix/bin/skillhub" "$prefix/share/man/man1/skillhub.1" "$prefix"/share/man/man1/skillhub-*.1 \
        "$prefix/share/bash-completion/completions/skillhub" "$prefix/share/zsh/site-functions/_skillhub" \
        "$prefix/share/fish/vendor_completions.d/skillhub.fish"
    printf 'Removed skillhub from %s; skills and their history stay in ~/.skillhub\n' "$prefix"
}

main "$@"
