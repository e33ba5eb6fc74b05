#!/usr/bin/env bash
# Tries the files of a release as a new user would: each is unpacked or installed in an empty root without a toolchain
# and without libraries, checks a bundled task set, and draws a first picture. The clock runs from the file to the
# picture. The Debian package is removed again, and has to leave nothing. A program for another kind of machine is tried
# in an emulator, which is brought into the root.
#
#   packaging/try.sh FOLDER [LIBRARY..]
#
# FOLDER is what packaging/release.sh wrote. A wheel that is not from a release (tools/test_release.sh) may need more
# than Python: a LIBRARY, `elf`, is brought into its root, with its dependencies.
set -euo pipefail

folder=$(cd "${1:?the folder that release.sh wrote}" && pwd)
# Other users than root may become root in a namespace, where the kernel allows that.
if [ "$(id -u)" != 0 ]; then
  if unshare --user --map-root-user true 2>/dev/null; then
    exec unshare --user --map-root-user "$0" "$folder" "${@:2}"
  fi
  echo "skipped: needs root (or user namespaces)"
  exit 0
fi

# Of a command that users download: megabytes of ten to the six.
most=10000000
python=${PYTHON:-python3}
more=("${@:2}")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "failed to try $what: $*" >&2
  exit 1
}

# An empty root. Programs throw away what they write to /dev/null, which a namespace may not make.
new_root() {
  root=$(mktemp -d -p "$work")
  chmod 755 "$root"
  mkdir "$root/dev" "$root/tmp"
  chmod 1777 "$root/tmp"
  mknod -m 666 "$root/dev/null" c 1 3 2>/dev/null || : >"$root/dev/null"
}

# Runs a program in the root.
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp chroot "$root" "$@"; }

# Copies programs or libraries into the root, with the libraries that they need.
bring() {
  local file
  for file in "$@" $(ldd "$@" 2>/dev/null | grep -o '/[^ ):]*' | sort -u); do
    mkdir -p "$root$(dirname "$file")"
    cp -L "$file" "$root$file"
  done
}

now() { echo "${EPOCHREALTIME/[.,]/}"; }

# The first steps of a new user. The first verdict is yes; under the second policy a deadline is missed.
first_steps() {
  local status=0 took
  inside "$@" check demo:dhall --policy run >"$work/said" 2>&1 || fail "check: $(cat "$work/said")"
  inside "$@" sim demo:dhall --policy g-edf -o /tmp/x.svg >"$work/said" 2>&1 || status=$?
  [ $status = 1 ] || fail "sim ended with $status: $(cat "$work/said")"
  grep -q '</svg>' "$root/tmp/x.svg" || fail "the picture is not whole"
  took=$(($(now) - began))
  printf '%s: first picture after %d.%02d s\n' "$what" $((took / 1000000)) $((took / 10000 % 100))
  if [ $took -gt 10000000 ]; then echo "warning: $what: more than ten seconds"; fi
}

# playground PAGE PROGRAM..: a page with a set, from the page that is installed. Its path is given, since without
# /proc a program cannot find its own path.
playground() {
  local made page=$1
  shift
  made=$(inside "$@" play demo:dhall --policy g-edf --page "$page" --print 2>"$work/said") ||
    fail "play: $(cat "$work/said")"
  grep -q 'id="start">{"set"' "$root$made" || fail "the page does not begin with the set"
  rm "$root$made"
}

# The machine that a file is for, by its name.
machine_of() {
  case ${1##*/} in
  *x86_64* | *amd64*) echo x86_64 ;;
  *aarch64* | *arm64*) echo aarch64 ;;
  esac
}

is_for_here() {
  [ "$(machine_of "$1")" != "$(uname -m)" ] || return 0
  echo "skipped: needs another kind of machine (${1##*/})"
  return 1
}

# A program needs nothing but an emulator, where it is for another kind of machine: sets `emulator` to what runs it in
# the root.
can_run() {
  emulator=()
  local machine path
  machine=$(machine_of "$1")
  [ "$machine" != "$(uname -m)" ] || return 0
  if ! path=$(command -v "qemu-$machine-static"); then
    echo "skipped: needs qemu-$machine-static (qemu-user-static), to try ${1##*/}"
    return 1
  fi
  emulator=("/${path##*/}")
  what+=" (emulated)"
}

# The emulator in the new root.
bring_emulator() {
  [ ${#emulator[@]} = 0 ] || cp "$(command -v "${emulator[0]#/}")" "$root${emulator[0]}"
}

# Each kind of file, by its name; a kind that is not there is not tried.
files() { find "$folder" -maxdepth 1 -name "$1" | sort; }

what=SHA256SUMS
(cd "$folder" && sha256sum --check --strict --quiet SHA256SUMS) || fail "files are not what they were"
for file in "$folder"/*; do
  name=${file##*/}
  [ "$name" = SHA256SUMS ] || grep -q "  $name\$" "$folder/SHA256SUMS" || fail "$name is not in it"
done

for file in $(files '*.tar.gz'); do
  what=${file##*/}
  can_run "$file" || continue
  name=${file##*/}
  name=${name%.tar.gz}
  size=$(stat --format=%s "$file")
  if [ "$size" -gt $most ]; then echo "warning: $what: $size bytes, more than 10 MB"; fi
  new_root
  bring_emulator
  began=$(now)
  tar --extract --file "$file" --directory "$root"
  first_steps "${emulator[@]}" "/$name/layland"
  tree=$root/$name
  for part in README.md LICENSE-MIT LICENSE-APACHE LICENCES.txt man/layland.1 man/layland-sim.1 \
    completions/layland.bash completions/_layland completions/layland.fish; do
    [ -s "$tree/$part" ] || fail "$part is missing"
  done
  for page in $(files '*-play.html'); do
    cp "$page" "$tree/play.html"
    playground "/$name/play.html" "${emulator[@]}" "/$name/layland"
  done
  bash -n "$tree/completions/layland.bash" || fail "bash does not read its completions"
done

for file in $(files '*.oci.tar'); do
  what=${file##*/}
  can_run "$file" || continue
  if ! command -v "$python" >/dev/null; then
    echo "skipped: needs Python (python3), to unpack images"
    continue
  fi
  new_root
  bring_emulator
  began=$(now)
  # By the layout's own rules: every blob is named by its hash, and layers are what the configuration says.
  program=$("$python" - "$file" "$root" <<'PYTHON'
import gzip, hashlib, io, json, sys, tarfile

image = tarfile.open(sys.argv[1])
read = lambda name: image.extractfile(name).read()

def blob(entry):
    kind, digest = entry["digest"].split(":")
    content = read(f"blobs/{kind}/{digest}")
    assert hashlib.new(kind, content).hexdigest() == digest and len(content) == entry["size"], entry
    return content

assert json.loads(read("oci-layout")) == {"imageLayoutVersion": "1.0.0"}
[entry] = json.loads(read("index.json"))["manifests"]
manifest = json.loads(blob(entry))
config = json.loads(blob(manifest["config"]))
for entry, digest in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
    layer = gzip.decompress(blob(entry))
    assert "sha256:" + hashlib.sha256(layer).hexdigest() == digest, entry
    tarfile.open(fileobj=io.BytesIO(layer)).extractall(sys.argv[2])
[program] = config["config"]["Entrypoint"]
print(program)
PYTHON
) || fail "it is not an image"
  first_steps "${emulator[@]}" "$program"
  [ -z "$(files '*-play.html')" ] || playground /usr/share/layland/play.html "${emulator[@]}" "$program"
done

for file in $(files '*.deb'); do
  is_for_here "$file" || continue
  what=${file##*/}
  if ! command -v dpkg >/dev/null; then
    echo "skipped: needs dpkg"
    continue
  fi
  new_root
  # Programs of every Debian, for the scripts of the package.
  bring /bin/sh
  mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
  : >"$root/var/lib/dpkg/status"
  (cd "$root" && find . -type f | sort) >"$work/before"
  began=$(now)
  dpkg --root="$root" --log=/dev/null --install "$file" >"$work/said" 2>&1 || fail "$(cat "$work/said")"
  first_steps layland
  [ -z "$(files '*-play.html')" ] || playground /usr/share/layland/play.html layland
  share=$root/usr/share
  for part in usr/lib/systemd/system/laylandd.service usr/lib/systemd/system/laylandd.socket \
    usr/share/polkit-1/actions/org.layland.exec.policy usr/share/bash-completion/completions/layland \
    usr/share/zsh/vendor-completions/_layland usr/share/fish/vendor_completions.d/layland.fish \
    usr/share/doc/layland/copyright usr/share/doc/layland/LICENCES.txt.gz; do
    [ -s "$root/$part" ] || fail "$part is missing"
  done
  for page in layland layland-sim layland-daemon; do
    zcat "$share/man/man1/$page.1.gz" | grep -q '^\.TH' || fail "the manual page of $page is missing"
  done
  (cd "$root" && md5sum --check --strict --quiet var/lib/dpkg/info/layland.md5sums) || fail "files are not what they were"
  dpkg --root="$root" --log=/dev/null --purge layland >"$work/said" 2>&1 || fail "$(cat "$work/said")"
  rm -f "$root/tmp/x.svg"
  left=$(cd "$root" && find . -type f ! -path './var/lib/dpkg/*' | sort | comm -13 "$work/before" -)
  [ -z "$left" ] || fail "its removal leaves $left"
  echo "$what: installed, and removed without a trace"
  if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error,warning "$file" || fail "lintian does not like it"
  else
    echo "skipped: needs lintian"
  fi
done

# A wheel needs Python, and nothing else: the interpreter and its standard library are brought into the root, and the
# libraries that were named.
for file in $(files '*.whl'); do
  is_for_here "$file" || continue
  what=${file##*/}
  if ! "$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "skipped: needs Python 3.11 or newer with venv (python3-venv)"
    continue
  fi
  new_root
  mapfile -t places < <("$python" -c '
import os, sys, sysconfig
print(os.path.realpath(sys._base_executable))
print(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix}))
print(sysconfig.get_config_var("WHEEL_PKG_DIR") or "")')
  interpreter=${places[0]}
  library=${places[1]}
  mkdir -p "$root$library"
  tar --create --directory "$library" --exclude=site-packages --exclude=dist-packages --exclude=__pycache__ \
    --exclude='./test' --exclude='./config-*' --exclude=idlelib --exclude=tkinter . | tar --extract --directory "$root$library"
  # The libraries of every system with glibc, which manylinux leaves to it.
  mapfile -t libraries < <(/sbin/ldconfig -p | sed -nE "s#^\s*lib(c|dl|gcc_s|m|pthread|rt)\.so\.[0-9]+ \(libc6,.*=> ##p")
  for name in "${more[@]}"; do
    mapfile -t -O ${#libraries[@]} libraries \
      < <(/sbin/ldconfig -p | sed -nE "s#^\s*lib$name\.so\.[0-9]+ \(libc6,.*=> ##p")
  done
  bring "$interpreter" "$library"/lib-dynload/*.so "${libraries[@]}"
  if [ -n "${places[2]}" ]; then
    mkdir -p "$root${places[2]}"
    cp "${places[2]}"/* "$root${places[2]}"
  fi
  cp "$file" "$root/$what"
  inside "$interpreter" -m venv /venv >"$work/said" 2>&1 || fail "$(cat "$work/said")"
  began=$(now)
  inside /venv/bin/pip install --quiet --no-index --disable-pip-version-check "/$what" >"$work/said" 2>&1 ||
    fail "$(cat "$work/said")"
  first_steps /venv/bin/layland
  inside /venv/bin/python -c 'import layland; assert layland.TaskSet.load("demo:dhall").simulate("p-edf").met' ||
    fail "the module does not work"
done
