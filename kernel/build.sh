#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds a Linux kernel with the patches of `patches/`, and says what that costs.
#
#   build.sh [OPTION..] DIR
#
#   --series N   the series of Debian's linux-source-N and of the patches: 6.12, the default
#   --debug      with all checks of locks, objects, lists and stalls (config/debug.config)
#   --stock      without the patches
#   --cached     builds nothing: prints the image that is built already
#   --objects    compiles the scheduler alone, which takes a minute: do the patches apply, and compile?
#   --each       like --objects, after each patch
#
# Everything is in DIR: the package, the unpacked source (1.2 GB), ccache, and the images, each under a
# key made of the version of the package, configuration, patches and compiler. The last line of the output
# is the path of the image. Needs no root, but the packages that it names if they are missing.
# Exit code 77: skipped, the reason is the last line on standard error.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
series=6.12 configs=(base) do=build stock=
while [ $# -gt 1 ]; do
    case $1 in
    --series) series=$2; shift ;;
    --debug) configs=(base debug) ;;
    --stock) stock=yes ;;
    --cached) do=cached ;;
    --objects) do=objects ;;
    --each) do=each ;;
    *) echo "build.sh: no option $1" >&2; exit 2 ;;
    esac
    shift
done
[ $# = 1 ] || { echo "usage: build.sh [--series N] [--debug] [--stock] [--cached | --objects | --each] DIR" >&2; exit 2; }

skip() { echo "skipped: needs $*" >&2; exit 77; }

mkdir -p "$1"
dir=$(cd "$1" && pwd)
source=$dir/source-$series
patches=()
if [ -z "$stock" ]; then
    while read -r name; do patches+=("$here/patches/$series/$name"); done <"$here/patches/$series/series"
fi

# The key of an image: the same inputs give the same kernel.
key() {
    {
        cat "$source/version"
        gcc -dumpfullversion
        for config in "${configs[@]}"; do cat "$here/config/$config.config"; done
        # Of a patch what changes the kernel, and not its message.
        [ ${#patches[@]} = 0 ] || sed -n '/^diff --git/,/^-- $/p' "${patches[@]}"
    } | sha256sum | cut -c 1-16
}
image() { echo "$dir/images/$series-$(key)"; }
if [ $do = cached ]; then
    if [ ! -f "$source/version" ] || [ ! -f "$(image)" ]; then
        skip "the kernel of kernel/build.sh, which takes 9 minutes of processors"
    fi
    image
    exit 0
fi

missing=
for need in flex:flex bison:bison bc:bc gcc:gcc make:make ccache:ccache patch:patch xz:xz-utils dpkg-deb:dpkg; do
    command -v "${need%%:*}" >/dev/null || missing+=" ${need#*:}"
done
[ -f /usr/include/libelf.h ] || missing+=" libelf-dev"
[ -f /usr/include/openssl/ssl.h ] || missing+=" libssl-dev"
[ -z "$missing" ] || skip "the packages$missing (apt-get install$missing)"

# What each step took: wall time, and time of processors.
SECONDS=0 wall=0 cpu=0
costs() {
    local user system now file
    file=$(mktemp)
    times >"$file"
    { read -r _; read -r user system; } <"$file"
    rm -f "$file"
    now=$(awk -F '[ms ]+' '{ printf "%d", ($1 + $3) * 60 + $2 + $4 }' <<<"$user $system")
    echo "$1: $((SECONDS - wall)) s, of processors $((now - cpu)) s"
    wall=$SECONDS cpu=$now
}

if [ ! -f "$source/version" ]; then
    command -v apt-get >/dev/null || skip "Debian's apt-get"
    mkdir -p "$dir/debs"
    (cd "$dir/debs" && apt-get download "linux-source-$series" >/dev/null 2>&1) ||
        skip "the package linux-source-$series, of a suite of this machine's apt (apt-get update)"
    deb=$(ls -t "$dir/debs/linux-source-${series}_"*.deb | head -n 1)
    costs "download of $(du -h "$deb" | cut -f 1)"
    # Documentation is a fifth of all files. Kconfig files are needed everywhere.
    rm -rf "$source" "$source.new"
    mkdir "$source.new"
    dpkg-deb --fsys-tarfile "$deb" | tar --extract --to-stdout --wildcards '*/linux-source-*.tar.xz' |
        xz --decompress --threads=2 |
        tar --extract --directory "$source.new" --strip-components=1 --exclude='*/Documentation/*/*'
    dpkg-deb --field "$deb" Version >"$source.new/version"
    rm "$deb"
    mv "$source.new" "$source"
    costs "unpacking of $(du -sh "$source" | cut -f 1)"
fi

out=$dir/out
image=$(image)
if [ $do = build ] && [ -f "$image" ]; then
    echo "built before"
    echo "$image"
    exit 0
fi

# Files of the copy are links: `patch` replaces a file, and does not write into it. The copy and its objects are new each
# time, so that no object is older than a source that went back to what it was; ccache has most of them.
tree=$dir/tree
rm -rf "$tree" "$out"
mkdir "$out"
cp -al "$source" "$tree"

export CCACHE_DIR=${CCACHE_DIR:-$dir/ccache} CCACHE_BASEDIR=$dir CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
export KBUILD_BUILD_TIMESTAMP=2026-01-01 KBUILD_BUILD_USER=layland KBUILD_BUILD_HOST=layland KBUILD_BUILD_VERSION=1
make=(nice -n 10 make --silent -C "$tree" O="$out" CC="ccache gcc" -j "${JOBS:-2}")

configure() {
    local config line
    "${make[@]}" tinyconfig
    for config in "${configs[@]}"; do cat "$here/config/$config.config"; done >"$out/wanted"
    cat "$out/wanted" >>"$out/.config"
    "${make[@]}" olddefconfig 2>/dev/null
    while read -r line; do
        case $line in
        CONFIG_*=n) ! grep -q "^${line%=n}=" "$out/.config" || echo "still set: $line" ;;
        CONFIG_*) grep -qx "$line" "$out/.config" || echo "not taken: $line" ;;
        esac
    done <"$out/wanted"
}
objects() {
    "${make[@]}" kernel/sched/core.o kernel/sched/syscalls.o kernel/sched/build_policy.o \
        kernel/sched/build_utility.o kernel/cgroup/cpuset.o
}
# Without fuzz: with it, hunks have gone into a wrong function without a complaint.
apply() {
    patch --quiet --strip 1 --fuzz 0 --no-backup-if-mismatch --directory "$tree" <"$1" ||
        { echo "build.sh: ${1#"$here"/} does not apply to $(cat "$source/version")" >&2; exit 1; }
}

if [ $do = each ]; then
    configure
    for patch in "${patches[@]}"; do
        apply "$patch"
        "${make[@]}" prepare
        objects
        costs "${patch##*/}"
    done
    exit 0
fi

for patch in "${patches[@]}"; do apply "$patch"; done
configure
costs "${#patches[@]} patches, configuration"
if [ $do = objects ]; then
    "${make[@]}" prepare
    objects
    costs "the scheduler alone"
    exit 0
fi
"${make[@]}" bzImage
mkdir -p "$dir/images"
cp "$out/arch/x86/boot/bzImage" "$image.new"
mv "$image.new" "$image"
costs "building $(find "$out" -name '*.o' | wc -l) objects into $(du -h "$image" | cut -f 1)"
ccache --show-stats 2>/dev/null | grep -m 2 -E 'Hits|cache hit rate' || true
rm -rf "$out"
echo "$image"
