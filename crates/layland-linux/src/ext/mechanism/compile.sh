#!/bin/sh
# Compiles the mechanism.
#
#   compile.sh HEADERS [OUTPUT]
#
# HEADERS holds bpf_helpers.h and its like: the folder libbpf/src of the crate libbpf-sys. Without OUTPUT the object that
# is kept is written, and the checksums of it and of what it was made from (mechanism.sum).
#
# CLANG names the compiler (clang-14 by default), STRIP what takes the debug sections away (llvm-strip of the same
# version). The object that is kept beside the source was made by clang 14: another version gives other bytes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
clang=${CLANG:-clang-14}
strip=${STRIP:-$(echo "$clang" | sed 's,clang,llvm-strip,')}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$1" "$folder/bpf"
# From the folder of the source, whose lines the object quotes for the messages of the verifier.
(cd "$here" && "$clang" -target bpf -mcpu=v3 -O2 -g -Wall -Werror -Wno-unknown-attributes \
    -Wno-missing-declarations -fdebug-prefix-map="$here=." -fdebug-compilation-dir=. -I"$folder" -I. \
    -c mechanism.bpf.c -o "$folder/mechanism.bpf.o")
"$strip" -g "$folder/mechanism.bpf.o"
cp "$folder/mechanism.bpf.o" "${2:-$here/mechanism.bpf.o}"
if [ $# -lt 2 ]; then
    cd "$here"
    sha256sum compile.sh kernel.h shared.h mechanism.bpf.c mechanism.bpf.o >mechanism.sum
fi
