"""Writes the hashes into requirements files, from the versions that these pin.

    deps/venv/bin/python tests/python/hashes.py [--check]

For maintainers, after a pin has changed. Each `name==version` gets the sha256 of every wheel that a
Python 3.11 or later on Linux, x86_64 or aarch64, may choose, as the package index of this machine's
pip lists them; in source.txt it gets that of the source archive. Nothing is downloaded but the
index's pages. Comments, markers and order stay as they are. With --check nothing is written, and
the exit status is 1 when a file would change.
"""

from __future__ import annotations

import html.parser
import os
import ssl
import subprocess
import sys
import urllib.parse
import urllib.request
from functools import lru_cache
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from packaging.requirements import Requirement
from packaging.tags import Tag
from packaging.utils import (InvalidSdistFilename, InvalidWheelFilename, canonicalize_name,
                             parse_sdist_filename, parse_wheel_filename)
from packaging.version import InvalidVersion

TESTS = Path(__file__).resolve().parents[1]
FOLDERS = ("machines", "python", "types", "bench", "oracle")
FILES = [path for folder in FOLDERS for path in sorted((TESTS / folder).glob("*.txt"))]
FILES.append(TESTS.parent / "bindings" / "python" / "wheel" / "wheel.txt")
FILES.append(TESTS.parent / "docs" / "site" / "requirements.txt")

OLDEST = 11  # minor version of Python
MACHINES = ("x86_64", "aarch64")


class Links(html.parser.HTMLParser):
    """File names and sha256 of an index's page."""

    def __init__(self) -> None:
        super().__init__()
        self.files: Dict[str, str] = {}

    def handle_starttag(self, tag: str, attributes: List[Tuple[str, Optional[str]]]) -> None:
        place = urllib.parse.urlsplit(dict(attributes).get("href") or "")
        if tag == "a" and place.fragment.startswith("sha256="):
            name = urllib.parse.unquote(place.path.rsplit("/", 1)[1])
            self.files[name] = place.fragment[len("sha256="):]


@lru_cache(maxsize=None)
def index() -> str:
    """The index that pip would ask."""
    if os.environ.get("PIP_INDEX_URL"):
        return os.environ["PIP_INDEX_URL"]
    said = subprocess.run([sys.executable, "-m", "pip", "config", "get", "global.index-url"],
                          capture_output=True, text=True)
    if said.returncode == 0:
        return said.stdout.strip()
    from pip._internal.models.index import PyPI
    return PyPI.simple_url


@lru_cache(maxsize=None)
def files_of(name: str) -> Dict[str, str]:
    address = f"{index().rstrip('/')}/{canonicalize_name(name)}/"
    if address.startswith("file:"):
        address += "index.html"
    request = urllib.request.Request(address, headers={"Accept": "text/html"})
    context = ssl.create_default_context(cafile=os.environ.get("PIP_CERT"))
    links = Links()
    with urllib.request.urlopen(request, timeout=60, context=context) as page:
        links.feed(page.read().decode())
    return links.files


def is_chosen(tag: Tag) -> bool:
    """Whether some Python that is meant may take a wheel with this tag."""
    linux = tag.platform.startswith("manylinux") and tag.platform.endswith(MACHINES)
    if tag.platform != "any" and not linux:
        return False
    if tag.interpreter.startswith("py3"):
        return True
    minor = tag.interpreter[3:]
    if not tag.interpreter.startswith("cp3") or not minor.isdigit():
        return False
    return tag.abi == "abi3" or int(minor) >= OLDEST


def hashes(requirement: Requirement, source: bool) -> List[str]:
    version = next(iter(requirement.specifier)).version
    found = []
    for file, digest in sorted(files_of(requirement.name).items()):
        try:
            if source:
                fits = str(parse_sdist_filename(file)[1]) == version
            else:
                _, number, _, tags = parse_wheel_filename(file)
                fits = str(number) == version and any(is_chosen(tag) for tag in tags)
        except (InvalidSdistFilename, InvalidWheelFilename, InvalidVersion):
            continue
        if fits:
            found.append(digest)
    if not found:
        sys.exit(f"{requirement}: the index has no {'source archive' if source else 'wheel'} of it")
    return sorted(found)


def with_hashes(path: Path) -> str:
    out: List[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith("--hash="):
            continue
        text = line.rstrip("\\ ")
        if text and not text.startswith(("#", "-")):
            requirement = Requirement(text)
            if [one.operator for one in requirement.specifier] != ["=="]:
                sys.exit(f"{path}: {text}: must pin a version with ==")
            for digest in hashes(requirement, path.name == "source.txt"):
                out.append(text + " \\")
                text = f"    --hash=sha256:{digest}"
        out.append(text)
    return "\n".join(out) + "\n"


def main() -> None:
    changed = []
    for path in FILES:
        text = with_hashes(path)
        if text != path.read_text(encoding="utf-8"):
            changed.append(str(path.relative_to(TESTS.parent)))
            if "--check" not in sys.argv[1:]:
                path.write_text(text, encoding="utf-8")
    print("\n".join(changed) if changed else "nothing changes")
    sys.exit(1 if changed and "--check" in sys.argv[1:] else 0)


if __name__ == "__main__":
    main()
