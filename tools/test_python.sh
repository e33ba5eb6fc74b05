#!/usr/bin/env bash
# Tests the Python package: `pip install .` into an environment of its own, the tests, the examples in the
# documentation, and the types. Everything stays below target/, and the build uses what `cargo test` has built.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "skipped: needs Python 3.11 or newer (python3)"
  exit 0
fi
if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
  echo "skipped: needs venv and pip (python3-venv)"
  exit 0
fi

environment=$PWD/target/python
export PATH=$environment/bin:$PATH
needs=crates/layland-python/tests/requirements.txt
if ! cmp -s "$needs" "$environment/installed.txt"; then
  rm -rf "$environment"
  "$python" -m venv "$environment"
  if ! "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$needs"; then
    echo "skipped: needs the packages of $needs (a package index)"
    exit 0
  fi
  cp "$needs" "$environment/installed.txt"
fi
in_environment() { "$environment/bin/python" -m "$@"; }

# The profile of the tests: with assertions, and quick to build.
in_environment pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --force-reinstall \
  --config-settings=build-args='--profile dev' .

in_environment pytest --quiet
# The package that is installed, from where no folder of the same name is.
cd "$environment"
in_environment pytest --quiet --doctest-modules --pyargs layland -c "$OLDPWD/pyproject.toml" -p no:cacheprovider
in_environment mypy.stubtest layland --mypy-config-file "$OLDPWD/pyproject.toml"
