"""Measure the commands against their budgets, in one run on this machine.

usage: python -m benchmarks.bench [--write] [--only PART…]

Needs an engine with the node image. Exit codes: 0 every budget was kept; 1 one was missed, or
nothing could be measured.
"""

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks import commands, gateways, measure, stale, table
from benchmarks.product import Product

DEFAULT_IMAGE = "openshell/source-node:dev"
RESULTS = Path(__file__).with_name("results.md")
PARTS = ("commands", "gateways", "stale")


def main() -> int:
    """Measure, show, and say whether every budget was kept."""
    options = _parser().parse_args()
    rows: list[table.Row] = []
    for part in _parts(options.only):
        rows += part()
    print(table.as_text(rows))
    if options.write:
        RESULTS.write_text(_page(rows))
    return 0 if all(row.ok for row in rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name} too")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    return parser


def _parts(wanted: Sequence[str]) -> Iterator[Callable[[], list[table.Row]]]:
    if "commands" in wanted:
        yield commands.rows
    if "stale" in wanted:
        yield stale.fake_rows
    if {"gateways", "stale"} & set(wanted):
        yield lambda: _rows_of_a_gateway(wanted)


def _rows_of_a_gateway(wanted: Sequence[str]) -> list[table.Row]:
    image = os.environ.get("OPENSHELL_NODE_IMAGE", DEFAULT_IMAGE)
    with tempfile.TemporaryDirectory() as home:
        product = Product(Path(home), image)
        with product.borrowed() as gateway:
            gateway.start()
            rows = gateways.rows(product, gateway) if "gateways" in wanted else []
            if "stale" in wanted:
                rows.append(stale.real_row(gateway))
            return rows


def _page(rows: Sequence[table.Row]) -> str:
    engine = json.loads(measure.run(["docker", "version", "--format", "{{json .Server}}"]))
    where = (
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, "
        f"{platform.system()} {platform.release()}, Docker {engine['Version']}"
    )
    return (
        "# Benchmark results\n\n"
        "What `make bench` measured; every figure is the least of several in one run, and the\n"
        "arms of a comparison took turns.\n\n"
        f"{where}\n\n{table.as_markdown(rows)}\n"
    )


if __name__ == "__main__":
    raise SystemExit(main())
