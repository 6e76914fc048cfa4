"""Puts the site's pages together and has mkdocs build them: build.py OUT, in the project's folder.

README.md is the first page, docs/ the rest. Sources that pages link to become pages of their own, and
the page of a header ends with the header's own text, function by function. Links are rewritten to
where things are on the site; a page of docs/ that is not in mkdocs.yml is listed there by mkdocs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, Iterator, Tuple

LINK = re.compile(r"(\]\()([^()\s]+)(\))")
# what stands above a declaration, and the declaration up to a line that ends it
DECLARATION = re.compile(r"/\*\n(?P<comment>(?: \*.*\n)+?) \*/\n(?P<code>(?:[^\n]+\n)+)")
HEADERS = {"net": ["net", "adam"]}
ROOT_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


def place(path: str) -> str:
    """Where a file of the project is on the site."""
    if path == "README.md":
        return "index.md"
    if path == "docs/index.md":
        return "pages.md"
    if path.startswith("docs/"):
        return path[len("docs/"):]
    return path if path.endswith(".md") else f"source/{path}.md"


def functions(header: Path) -> Iterator[Tuple[str, str, str]]:
    """Name, comment and declaration of everything that a header explains."""
    for found in DECLARATION.finditer(header.read_text(encoding="utf-8")):
        code = found["code"].rstrip()
        if code.startswith("#"):
            continue
        names = re.findall(r"\b(tce_\w+)\s*\(", code) or re.findall(r"\b(tce_\w+|TCE_\w+);?$", code, re.M)
        if names:
            comment = "\n".join(line[3:] for line in found["comment"].rstrip("\n").split("\n"))
            yield names[0], comment, code


def header_text(name: str) -> str:
    """The end of the page of a header."""
    out = []
    for stem in HEADERS.get(name, [name]):
        out.append(f"\n## The text of {stem}.h\n")
        for function, comment, code in functions(Path("include/tce", f"{stem}.h")):
            out.append(f"\n### {function}\n\n```text\n{comment}\n```\n\n```c\n{code}\n```\n")
    return "".join(out)


class Site:
    def __init__(self, pages: Path) -> None:
        self.pages = pages
        self.sources: Dict[str, str] = {}

    def link(self, page: str, target: str) -> str:
        """A link of a page, for the site. What the site does not have is named, not linked."""
        name, _, heading = target.partition("#")
        if re.match(r"[a-z]+:", target) or not name:
            return target
        path = os.path.normpath(os.path.join(os.path.dirname(page), name))
        if os.path.isdir(path):
            path = os.path.join(path, "README.md")
        if not os.path.isfile(path):
            return ""
        if not path.startswith("docs/") and not path.endswith(".md"):
            self.sources[path] = place(path)
        there = place(path) if not path.startswith("docs/images") else path[len("docs/"):]
        relative = os.path.relpath(there, os.path.dirname(place(page)) or ".")
        return relative + (f"#{heading}" if heading else "")

    def rewritten(self, page: str, text: str) -> str:
        fenced = False
        lines = []
        for line in text.split("\n"):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            if not fenced:
                line = LINK.sub(lambda found: found[1] + self.link(page, found[2]) + found[3], line)
                line = re.sub(r"\[([^\[\]]*)\]\(\)", r"\1", line)
            lines.append(line)
        return "\n".join(lines)

    def write(self, there: str, text: str) -> None:
        out = self.pages / there
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")

    def add_page(self, page: str) -> None:
        text = self.rewritten(page, Path(page).read_text(encoding="utf-8"))
        if page.startswith("docs/api/"):
            text = text.rstrip("\n") + "\n" + header_text(Path(page).stem)
        self.write(place(page), text)

    def add_sources(self) -> None:
        for path, there in sorted(self.sources.items()):
            language = {".c": "c", ".h": "c", ".py": "python", ".yaml": "yaml"}.get(Path(path).suffix, "text")
            self.write(there, f"# {path}\n\n```{language}\n{Path(path).read_text(encoding='utf-8')}\n```\n")


def main() -> int:
    out = Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    site = Site(out / "pages")
    tracked = subprocess.run(["git", "ls-files", "docs", *ROOT_PAGES, "README.md"], check=True, capture_output=True, text=True)
    for path in tracked.stdout.split():
        if path.endswith(".md") and not path.startswith("docs/site/"):
            site.add_page(path)
        elif path.startswith("docs/images/"):
            (site.pages / "images").mkdir(parents=True, exist_ok=True)
            shutil.copy(path, site.pages / "images")
    site.add_sources()
    shutil.copy("docs/site/extra.css", site.pages)
    shutil.copy("docs/site/mkdocs.yml", out / "mkdocs.yml")
    return subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-f", out / "mkdocs.yml"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
