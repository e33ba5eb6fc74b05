"""Compares layland with others. `python3 tools/compare KIND --help` says what a kind needs, and how it compares.

    cargo build --release -p layland
    python3 tools/compare KIND [--program target/release/layland] ..
"""

import argparse
import pathlib
import sys

# The tree stays as it is.
sys.dont_write_bytecode = True

import classes
import with_dags
import with_schedcat
import with_simso

KINDS = {"simso": with_simso, "schedcat": with_schedcat, "dags": with_dags, "classes": classes}
PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "target" / "release" / "layland"


def main():
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="compare", description=__doc__, formatter_class=as_written)
    kinds = parser.add_subparsers(metavar="KIND", required=True)
    for name, kind in KINDS.items():
        summary = kind.__doc__.split("\n", 1)[0]
        one = kinds.add_parser(name, help=summary, description=kind.__doc__, formatter_class=as_written)
        one.add_argument("--program", type=pathlib.Path, default=PROGRAM, help="that of target/release by default")
        kind.add_arguments(one)
        one.set_defaults(run=kind.run)
    arguments = parser.parse_args()
    sys.exit(arguments.run(arguments))


if __name__ == "__main__":
    main()
