#!/usr/bin/env bash
# Tests the Python package: `pip install .` into an environment of its own, the tests, the examples in the
# documentation, and the types. Everything stays below target/.
#
#   tools/test_python.sh [MODULE]
#
# MODULE is an extension module that is built already (target/debug/lib_layland.so): a wheel is made of it and
# installed, and nothing is compiled. This does not test that maturin builds the module with the features that it has by
# itself. Built with the workspace, its dependencies also have the features that tests ask for.
set -euo pipefail
cd "$(dirname "$0")/.."

module=${1:-}
if [ -n "$module" ] && [ ! -f "$module" ]; then
  echo "there is no module $module (cargo build --workspace --lib --tests)" >&2
  exit 1
fi
# Of an earlier run, and of another module.
wheels=$PWD/target/python-wheel
rm -rf "$wheels"

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
  # Most of what is installed is never imported: what is, is compiled then.
  if ! "$environment/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check --requirement "$needs"; then
    echo "skipped: needs the packages of $needs (a package index)"
    exit 0
  fi
  cp "$needs" "$environment/installed.txt"
fi
in_environment() { "$environment/bin/python" -m "$@"; }

install=(pip install --quiet --disable-pip-version-check --no-deps --force-reinstall)
if [ -n "$module" ]; then
  mkdir -p "$wheels"
  in_environment "${install[@]}" "$("$environment/bin/python" tools/wheel_of_module.py "$module" "$wheels")"
else
  # The profile of the tests: with assertions, and quick to build.
  in_environment "${install[@]}" --no-build-isolation --config-settings=build-args='--profile dev' .
fi

in_environment pytest --quiet
# The package that is installed, from where no folder of the same name is.
cd "$environment"
in_environment pytest --quiet --doctest-modules --pyargs layland -c "$OLDPWD/pyproject.toml" -p no:cacheprovider
in_environment mypy.stubtest layland --mypy-config-file "$OLDPWD/pyproject.toml"
