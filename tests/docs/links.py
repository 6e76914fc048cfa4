"""links.py FILE...: every link of Markdown pages to a file of the project leads somewhere, to a heading too where it names one."""

import re
import sys
import unicodedata
from pathlib import Path
from typing import Dict, Iterator, List, Set, Tuple

LINK = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
IN_CODE = re.compile(r"`[^`]*`")


def prose(path: Path) -> Iterator[Tuple[int, str]]:
    """The lines of a page that are not in a block of code, with their numbers."""
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchor(heading: str) -> str:
    """What GitHub calls a heading in addresses."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    kept = (c for c in text if c in " -_" or unicodedata.category(c)[0] in "LN")
    return "".join(kept).replace(" ", "-")


def anchors(path: Path, known: Dict[Path, Set[str]]) -> Set[str]:
    if path not in known:
        found: List[str] = []
        for _, line in prose(path):
            heading = HEADING.match(line)
            if heading:
                name = anchor(heading.group(1))
                found.append(name + (f"-{found.count(name)}" if name in found else ""))
        known[path] = set(found)
    return known[path]


def faults(page: Path, known: Dict[Path, Set[str]]) -> Iterator[str]:
    for number, line in prose(page):
        for target in LINK.findall(IN_CODE.sub("", line.replace("[`", "[").replace("`]", "]"))):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, heading = target.partition("#")
            there = (page.parent / name).resolve() if name else page.resolve()
            if not there.exists():
                yield f"{page}:{number}: {target}: there is no such file"
            elif heading and there.suffix == ".md" and heading not in anchors(there, known):
                yield f"{page}:{number}: {target}: there is no such heading"


def main() -> int:
    known: Dict[Path, Set[str]] = {}
    found = [fault for name in sys.argv[1:] for fault in faults(Path(name), known)]
    print("\n".join(found) if found else f"links of {len(sys.argv) - 1} pages lead somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
