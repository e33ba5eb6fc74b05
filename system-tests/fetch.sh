#!/bin/sh
# Fetches what the system test boots: QEMU, busybox and the kernels of `kernels.txt`.
#
#   fetch.sh DIR            everything into DIR; writes DIR/used.txt, one `what version path` per line
#
# Files in DIR are not fetched again. A list of kernels that has changed is looked through again.
#
# Everything comes from Debian's own suites, from the mirror that this machine is configured for.
# The package lists are kept in DIR, so the machine's own lists do not change. Kernels and busybox
# are unpacked, not installed; QEMU is installed if it is missing or too old, which needs root.
# Exit code 77: skipped, the reason is the last line on standard error.
set -eu

skip() { echo "skipped: needs $*" >&2; exit 77; }

here=$(cd "$(dirname "$0")" && pwd)
dir=$1
mkdir -p "$dir/debs" "$dir/unpacked"
dir=$(cd "$dir" && pwd)
[ -s "$dir/used.txt" ] && cmp -s "$here/kernels.txt" "$dir/kernels.txt" && exit 0

command -v apt-get >/dev/null && command -v dpkg >/dev/null || skip "Debian's apt-get and dpkg"
[ "$(dpkg --print-architecture)" = amd64 ] || skip "an amd64 machine"
. /etc/os-release
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
    sed -nE 's,^(URIs:|deb( +\[[^]]*\])?) +([^ ]*/debian)/?( .*)?$,\3,p' | head -n 1)
[ -n "$mirror" ] || skip "a Debian mirror in /etc/apt"

# A private view of some suites: `suites NAME SUITE..` makes NAME usable as `apt NAME ..`.
suites() {
    view=$dir/$1; shift
    mkdir -p "$view/lists/partial" "$view/cache/archives/partial"
    for suite in "$@"; do
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
    done >"$view/sources.list"
    cat >"$view/apt.conf" <<END
Dir::Etc::SourceList "$view/sources.list";
Dir::Etc::SourceParts "-";
Dir::State::Lists "$view/lists";
Dir::Cache "$view/cache";
Acquire::Retries "3";
APT::Sandbox::User "root";
END
    APT_CONFIG=$view/apt.conf apt-get update >"$view/update.log" 2>&1 ||
        skip "the suites $* (see $view/update.log)"
}
apt() { view=$1; shift; APT_CONFIG=$dir/$view/apt.conf "$@"; }

# The emulator. Before 8.1, `-icount` gives one CPU far more than its share.
version() { qemu-system-x86_64 --version 2>/dev/null | sed -nE '1s/.*version ([0-9]+)\.([0-9]+).*/\1 \2/p'; }
usable() { set -- $(version); [ "${1:-0}" -gt 8 ] || { [ "${1:-0}" -eq 8 ] && [ "$2" -ge 1 ]; }; }
suites emulator "$VERSION_CODENAME" "$VERSION_CODENAME-backports"
if ! usable; then
    [ "$(id -u)" -eq 0 ] || skip "QEMU 8.1 or later (or root, to install it)"
    apt emulator apt-get install -y --no-install-recommends -t "$VERSION_CODENAME-backports" \
        qemu-system-x86 >"$dir/emulator/install.log" 2>&1 || true
    usable || skip "QEMU 8.1 or later (see $dir/emulator/install.log)"
fi

# `unpack VIEW PACKAGE`: downloads and unpacks it; false if the suites do not carry it.
unpack() {
    [ ! -d "$dir/unpacked/$2" ] || return 0
    (cd "$dir/debs" && apt "$1" apt-get download "$2" >/dev/null 2>&1) || return 1
    rm -rf "$dir/unpacked/new"
    for deb in "$dir/debs/$2"_*.deb; do
        dpkg -x "$deb" "$dir/unpacked/new" && rm "$deb"
    done
    mv "$dir/unpacked/new" "$dir/unpacked/$2"
}

new=$dir/used.txt.new
set -- $(version)
echo "qemu $1.$2 $(command -v qemu-system-x86_64)" >"$new"
unpack emulator busybox-static || skip "the package busybox-static"
echo "busybox - $(find "$dir/unpacked/busybox-static" -type f -path '*/bin/busybox')" >>"$new"

suites kernels bookworm-backports trixie-backports
sed 's/#.*//' "$here/kernels.txt" | while read -r label packages; do
    [ -n "$label" ] || continue
    # `7.3-rt` is the flavour `rt` of 7.3.
    case $label in *-*) flavour=${label#*-} ;; *) flavour=cloud ;; esac
    series=$(apt kernels apt-cache pkgnames linux- |
        grep -E "^linux-(binary|image)-${label%%-*}\.[0-9]+[^-]*-$flavour-amd64$" | sort -rV)
    for package in $packages $series; do
        unpack kernels "$package" || continue
        # From 7.0 on `linux-image-..` has no kernel itself.
        image=$(find "$dir/unpacked/$package" -type f -name 'vmlinuz*')
        [ -n "$image" ] || continue
        echo "$label $package $image" >>"$new"
        break
    done
done
mv "$new" "$dir/used.txt"
cp "$here/kernels.txt" "$dir/kernels.txt"
