#!/usr/bin/env bash
# Makes the files of a release for one target: a tarball, a Debian package, an image for containers, the wheel if
# asked, the page of the playground, a bill of materials, the licences of all parts, and checksums. Makes no tag and
# publishes nothing.
#
#   packaging/release.sh [--target TARGET] [--binary FILE] [--page FILE] [--out FOLDER] [--wheel]
#
#   --target TARGET   what to build for; by default what the compiler builds for. The program is asked for its manual
#                     pages and completions: one for another kind of machine is emulated (qemu-user-static).
#   --binary FILE     takes this program, which needs no library, instead of building one
#   --page FILE       takes this page of the playground instead of building one (packaging/play.sh)
#   --out FOLDER      where the files go; by default target/release-files
#   --wheel           builds the wheel, too (needs maturin)
#
# The same inputs give the same bytes (docs/releases.md says what the inputs are). packaging/try.sh tries the result.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")

usage() { sed -n '6,15s/^# \{0,1\}//p' "$0"; }
fail() {
  echo "failed to make a release: $*" >&2
  exit 1
}

target=$(rustc --version --verbose | sed -n 's/^host: //p')
binary=
page=
out=$root/target/release-files
wheel=
while [ $# -gt 0 ]; do
  case $1 in
  --target) target=${2:?} && shift 2 ;;
  --binary) binary=$(realpath "${2:?}") && shift 2 ;;
  --page) page=$(realpath "${2:?}") && shift 2 ;;
  --out) out=${2:?} && shift 2 ;;
  --wheel) wheel=yes && shift ;;
  --help | -h) usage && exit 0 ;;
  *) usage >&2 && exit 2 ;;
  esac
done
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$root"

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
umask 022

python=${PYTHON:-python3}
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
machine=${target%%-*}
case $machine in
x86_64) architecture=amd64 ;;
aarch64) architecture=arm64 ;;
*) fail "no package for $machine: it is not a machine that releases are made for" ;;
esac

if [ -z "$binary" ]; then
  status=0
  binary=$("$here/build.sh" "$target") || status=$?
  # The target is missing, which has been said.
  [ $status = 3 ] && exit 0
  [ $status = 0 ] || exit $status
fi
if readelf --program-headers "$binary" | grep -q INTERP; then
  fail "$binary needs libraries: build it with packaging/build.sh"
fi
# Manual pages and completions come from the program itself, since they name what it was built with. A program for
# another kind of machine runs in an emulator, which is slow, and writes the same text.
program=("$binary")
if [ "$machine" != "$(uname -m)" ]; then
  emulator=qemu-$machine-static
  if ! command -v "$emulator" >/dev/null; then
    echo "skipped: needs $emulator (qemu-user-static)" >&2
    exit 0
  fi
  program=("$emulator" "$binary")
fi
said=$("${program[@]}" --version)
[ "$said" = "layland $version" ] || fail "$binary says \"$said\", and the sources are $version"
features=
if grep -q --text 'libbpf: ' "$binary"; then features=ext; fi

if [ -z "$page" ]; then
  status=0
  page=$("$here/play.sh") || status=$?
  # The missing part has been reported.
  [ $status = 77 ] || [ $status = 0 ] || exit $status
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name=layland-$version-$target

# The bill of materials.
"$python" "$here/materials.py" layland "$target" "$features" "$work/sbom.cdx.json" "$work/LICENCES.txt"
cp "$work/sbom.cdx.json" "$out/$name.sbom.cdx.json"
cp "$work/LICENCES.txt" "$out/$name.LICENCES.txt"

# Files of every form, which the program itself writes.
"${program[@]}" man -o "$work/man" 2>/dev/null
mkdir "$work/completions"
"${program[@]}" completions bash >"$work/completions/layland.bash"
"${program[@]}" completions zsh >"$work/completions/_layland"
"${program[@]}" completions fish >"$work/completions/layland.fish"

# The page of the playground is a file of its own, which needs nothing but a browser. The tarball does without: with
# the page it would have more than ten megabytes.
if [ -n "$page" ]; then
  install -m 644 "$page" "$out/layland-$version-play.html"
else
  echo "without the playground: there is no page of it" >&2
fi

# The tarball.
tree=$work/tree
mkdir "$tree"
install -m 755 "$binary" "$tree/layland"
cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$work/LICENCES.txt" "$tree"
cp -r "$work/man" "$work/completions" "$tree"
if [ -n "$features" ]; then
  install -D -m 644 -t "$tree/daemon" packaging/laylandd.service packaging/laylandd.socket \
    packaging/org.layland.exec.policy
fi
"$python" "$here/archive.py" tar "$out/$name.tar.gz" "$tree" "$name"

# The Debian package. Its units start a daemon that needs the engine ext: there is none without.
if [ -n "$features" ]; then
  tree=$work/deb
  share=$tree/usr/share
  install -D -m 755 "$binary" "$tree/usr/bin/layland"
  install -D -m 644 -t "$tree/usr/lib/systemd/system" packaging/laylandd.service packaging/laylandd.socket
  install -D -m 644 -t "$share/polkit-1/actions" packaging/org.layland.exec.policy
  install -D -m 644 "$work/completions/layland.bash" "$share/bash-completion/completions/layland"
  install -D -m 644 -t "$share/zsh/vendor-completions" "$work/completions/_layland"
  install -D -m 644 -t "$share/fish/vendor_completions.d" "$work/completions/layland.fish"
  install -D -m 644 "$here/debian/overrides" "$share/lintian/overrides/layland"
  [ -z "$page" ] || install -D -m 644 "$page" "$share/layland/play.html"
  install -D -m 644 -t "$share/man/man1" "$work"/man/*.1
  install -D -m 644 -t "$share/doc/layland" "$work/LICENCES.txt"
  {
    cat "$here/debian/copyright"
    echo "License: Expat"
    sed '1,/^Copyright/d; 1,/^$/d; s/^$/./; s/^/ /' LICENSE-MIT
  } >"$share/doc/layland/copyright"
  printf 'layland (%s) unstable; urgency=medium\n\n  * Release %s: see CHANGELOG.md of the sources.\n\n -- %s  %s\n' \
    "$version" "$version" "$(sed -n 's/^Maintainer: //p' "$here/debian/control")" \
    "$(date --utc --rfc-email --date "@$SOURCE_DATE_EPOCH")" >"$share/doc/layland/changelog"
  find "$share/man" "$share/doc/layland/LICENCES.txt" "$share/doc/layland/changelog" -type f -exec gzip -9n {} +
  control=$work/control
  install -D -m 755 -t "$control" "$here/debian/prerm" "$here/debian/postrm"
  sed "s/@VERSION@/$version/; s/@ARCHITECTURE@/$architecture/" "$here/debian/control" >"$control/control"
  chmod 644 "$control/control"
  "$python" "$here/archive.py" deb "$out/layland_${version}_$architecture.deb" "$tree" "$control"
fi

# The image: the program, the page, their licences, and nothing else.
tree=$work/image
install -D -m 755 "$binary" "$tree/usr/bin/layland"
install -D -m 644 "$work/LICENCES.txt" "$tree/usr/share/doc/layland/LICENCES.txt"
[ -z "$page" ] || install -D -m 644 "$page" "$tree/usr/share/layland/play.html"
"$python" "$here/archive.py" oci "$out/$name.oci.tar" "$tree" "$machine" "$version"

if [ -n "$wheel" ]; then
  "$here/build.sh" --wheel "$out" "$target"
fi

cd "$out"
rm -f SHA256SUMS
sums=$(find . -maxdepth 1 -type f -printf '%P\n' | sort | xargs sha256sum)
echo "$sums" >SHA256SUMS
find . -maxdepth 1 -type f -printf '%10s  %f\n' | sort -k 2
