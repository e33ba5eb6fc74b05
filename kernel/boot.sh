#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Boots a kernel of build.sh in QEMU and runs a script there, with the programs and the functions of
# `guest/`.
#
#   boot.sh [OPTION..] DIR SCRIPT
#
#   --image FILE   another kernel than that of build.sh with the same DIR
#   --debug        the kernel of `build.sh --debug`
#   --cpus N       4 by default
#   --shift N      an instruction takes 2^N ns: 1 by default
#   --words TEXT   more of the kernel's command line
#
# SCRIPT is a file, or commands such as `setup; paper; example5`. The emulator counts instructions and not
# time: a busy machine makes the guest slow, and not late. Needs no root and no KVM.
# Exit code 77: skipped, the reason is the last line on standard error.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
image= cpus=4 shift=1 words= built=()
while [ $# -gt 2 ]; do
    case $1 in
    --image) image=$2; shift ;;
    --cpus) cpus=$2; shift ;;
    --shift) shift=$2; shift ;;
    --words) words=$2; shift ;;
    --debug) built=(--debug) ;;
    *) echo "boot.sh: no option $1" >&2; exit 2 ;;
    esac
    shift
done
[ $# = 2 ] || { echo "usage: boot.sh [--image FILE] [--debug] [--cpus N] [--shift N] [--words TEXT] DIR SCRIPT" >&2; exit 2; }

skip() { echo "skipped: needs $*" >&2; exit 77; }

mkdir -p "$1"
dir=$(cd "$1" && pwd)
[ -n "$image" ] || image=$("$here/build.sh" "${built[@]}" --cached "$dir")
version=$(qemu-system-x86_64 --version 2>/dev/null | sed -nE '1s/.*version ([0-9]+\.[0-9]+).*/\1/p')
# Before, `-icount` gives one CPU far more than its share.
printf '%s\n' 8.1 "${version:-0}" | sort --check --version-sort 2>/dev/null ||
    skip "QEMU 8.1 or later (Debian 12: from bookworm-backports)"
busybox=$(command -v busybox) && ldd "$busybox" >/dev/null 2>&1 && busybox=
[ -n "$busybox" ] || busybox=$dir/busybox/bin/busybox
if [ ! -x "$busybox" ]; then
    (cd "$dir" && apt-get download busybox-static >/dev/null 2>&1) || skip "the package busybox-static"
    dpkg-deb --extract "$dir"/busybox-static_*.deb "$dir/busybox"
    rm "$dir"/busybox-static_*.deb
    [ -x "$busybox" ] || skip "busybox-static with bin/busybox"
fi
command -v cpio >/dev/null || skip "cpio"

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,proc,sys,dev,tmp}
cp "$busybox" "$root/bin/busybox"
for applet in sh mount ls cat echo poweroff mkdir sleep uname taskset kill grep dmesg; do
    ln -s busybox "$root/bin/$applet"
done
for program in "$here"/guest/*.c; do
    gcc -static -O2 -Wall -Wextra -Werror -s -pthread -o "$root/bin/$(basename "$program" .c)" "$program"
done
cp "$here"/guest/*.sh "$root/tmp"
if [ -f "$2" ]; then cp "$2" "$root/tmp/script"; else echo "$2" >"$root/tmp/script"; fi
cat >"$root/init" <<'INIT'
#!/bin/sh
export PATH=/bin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tracefs tracefs /sys/kernel/tracing
mount -t debugfs debugfs /sys/kernel/debug
mount -t cgroup2 cgroup2 /sys/fs/cgroup
cd /tmp
. ./examples.sh
. ./placement.sh
. ./script
poweroff -f
INIT
chmod +x "$root/init"
(cd "$root" && find . | cpio --create --format=newc --quiet) >"$root.cpio"
trap 'rm -rf "$root" "$root.cpio"' EXIT

nice -n 10 qemu-system-x86_64 -accel tcg,thread=single -cpu max -m 1G -smp "$cpus" -nodefaults \
    -no-user-config -icount "shift=$shift,sleep=off" -rtc base=2026-01-01T00:00:00,clock=vm -seed 1 \
    -display none -no-reboot -serial stdio -kernel "$image" -initrd "$root.cpio" \
    -append "console=ttyS0 quiet panic=-1 nokaslr init_on_alloc=0 $words" </dev/null |
    tr -d '\r'
