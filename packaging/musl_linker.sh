#!/usr/bin/env bash
# Gets what links a program against musl for a target that this machine has no C library for. Prints an assignment for
# a shell, as std_source.sh does:
#
#   assignments=$(packaging/musl_linker.sh aarch64-unknown-linux-musl) || exit
#   eval "$assignments"
#   RUSTFLAGS="-Clink-self-contained=no -Ctarget-feature=+crt-static" cargo build --target aarch64-unknown-linux-musl
#
# The linker is Zig (zig_requirements.txt), which brings musl and libunwind as sources, and comes from PyPI as a wheel
# of 100 MB. It stays in target/zig.
#
# Exit code 77: skipped, the reason is the last line on standard error.
set -euo pipefail
target=${1:?a target, e.g. aarch64-unknown-linux-musl}
here=$(cd "$(dirname "$0")" && pwd)

skip() {
  echo "skipped: needs $*" >&2
  exit 77
}

kept=$(dirname "$here")/target/zig
mkdir -p "$kept"
# Two that run at a time would each install it.
exec 9>"$kept/lock"
flock 9
if ! cmp --quiet "$here/zig_requirements.txt" "$kept/zig_requirements.txt"; then
  echo "fetching Zig from PyPI" >&2
  rm -rf "$kept/packages"
  "${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --require-hashes --requirement "$here/zig_requirements.txt" --target "$kept/packages" >"$kept/install.log" 2>&1 ||
    skip "Zig (see $kept/install.log)"
  cp "$here/zig_requirements.txt" "$kept/zig_requirements.txt"
fi

# rustc names its target in words that Zig does not know.
linker=$kept/$target
cat >"$linker" <<END
#!/bin/sh
export ZIG_GLOBAL_CACHE_DIR='$kept/cache'
exec '$kept/packages/ziglang/zig' cc -target ${target/-unknown/} "\$@"
END
chmod +x "$linker"
name=${target^^}
printf 'export CARGO_TARGET_%s_LINKER=%q\n' "${name//-/_}" "$linker"
