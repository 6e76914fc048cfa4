"""Lines and branches that the tests have run, by folder: coverage.py BUILD [--functions]

Reads what gcov knows of the objects in BUILD, compiled with COVERAGE=1. Prints a table; with
--functions also the functions that were never called. Ends with status 1 when the library, the
trainer or the tasks have fewer lines than their limit.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Dict, Iterator, List, Set, Tuple

# per cent of the lines, of all folders below these
LIMITS = {"src": 95.0, "examples/trainer": 90.0, "examples/tasks": 90.0}


class Count:
    def __init__(self) -> None:
        self.lines: Dict[Tuple[str, int], bool] = {}
        self.branches: Dict[Tuple[str, int, int], bool] = {}
        self.functions: Set[str] = set()

    def rates(self) -> List[float]:
        return [100.0 * sum(part.values()) / max(len(part), 1)
                for part in (self.lines, self.branches)]


def reports(build: Path) -> Iterator[Dict[str, object]]:
    """What gcov says of each object that has notes; one without data was never run."""
    for notes in sorted(build.rglob("*.gcno")):
        if notes.relative_to(build).parts[0] not in ("src", "examples"):
            continue
        done = subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--stdout", str(notes)],
                              capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            yield json.loads(line)


def measure(build: Path) -> Dict[str, Count]:
    folders: Dict[str, Count] = {}
    for report in reports(build):
        for file in report["files"]:  # type: ignore[attr-defined]
            name = file["file"]
            # headers with code count where they are; the examples that are single programs do not,
            # nor do objects of files that are gone
            if not name.startswith(tuple(f"{part}/" for part in LIMITS)) or not Path(name).exists():
                continue
            count = folders.setdefault(str(Path(name).parent), Count())
            for line in file["lines"]:
                key = (name, line["line_number"])
                count.lines[key] = count.lines.get(key, False) or line["count"] > 0
                for i, branch in enumerate(line["branches"]):
                    taken = count.branches.get((*key, i), False) or branch["count"] > 0
                    count.branches[(*key, i)] = taken
            for function in file["functions"]:
                if function["execution_count"] == 0:
                    count.functions.add(f"{name}:{function['start_line']} {function['name']}")
    return folders


def together(counts: List[Count]) -> Count:
    whole = Count()
    for count in counts:
        whole.lines.update(count.lines)
        whole.branches.update(count.branches)
    return whole


def print_row(name: str, count: Count, limit: str) -> None:
    lines, branches = count.rates()
    print(f"| {name} | {lines:.1f} % of {len(count.lines)} | {branches:.1f} % of {len(count.branches)} | {limit} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("--functions", action="store_true")
    arguments = parser.parse_args()
    folders = measure(arguments.build)
    if not folders:
        sys.exit(f"coverage: nothing was measured in {arguments.build}")

    low = []
    print("| folder | lines | branches | lines at least |\n|---|---|---|---|")
    for part, limit in LIMITS.items():
        below = [name for name in sorted(folders) if f"{name}/".startswith(f"{part}/")]
        whole = together([folders[name] for name in below])
        print_row(f"**{part}**", whole, f"{limit:.0f} %")
        for name in below:
            print_row(name, folders[name], "")
        if whole.rates()[0] < limit:
            low.append(f"{part}: {whole.rates()[0]:.1f} % of its lines are run, must be {limit:.0f} %")
    if arguments.functions or low:
        for name in sorted(folders):
            for function in sorted(folders[name].functions):
                print(f"never called: {function}")
    for message in low:
        print(message)
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
