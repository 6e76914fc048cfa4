"""docs/inside/equations.md maps every tag of the sources to functions and tests that exist; docs/index.md has every page."""

from __future__ import annotations

import re

import pytest

from shared import ROOT

# [TCE eq. promp], [TCE, one iteration, step 7], [TRPL], [tasks 1.6]; not array sizes like [TCE_MP_MAX_BASIS]
TAG = re.compile(r"\[(?:(?:TCE|TRPL|ProDMP|ProMP|DMP|BBRL)(?:[ ,;][^]\[\n]*)?|(?:tasks|rivals) [0-9.]+)\]")


def table() -> list:
    rows = []
    for line in (ROOT / "docs" / "inside" / "equations.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| [") and len(cells) == 5:
            rows.append((cells[0], cells[2], cells[3].split(", "), cells[4].split(", ")))
    return rows


def tags_of_the_sources() -> set:
    found = set()
    for folder in ("src", "include", "examples"):
        for file in sorted((ROOT / folder).rglob("*.[ch]")):
            for tag in TAG.findall(file.read_text(encoding="utf-8")):
                found.add((tag, str(file.relative_to(ROOT))))
    return found


def suites() -> str:
    files = [*(ROOT / "tests").rglob("test_*.c"), *(ROOT / "tests").rglob("test_*.py")]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def kinds() -> str:
    return (ROOT / "tests" / "replay" / "replay.c").read_text(encoding="utf-8")


def test_every_tag_of_the_sources_has_its_row() -> None:
    assert tags_of_the_sources() - {(tag, file) for tag, file, _, _ in table()} == set()


@pytest.mark.parametrize("row", table(), ids=lambda row: f"{row[0]}-{row[1]}")
def test_a_row_names_what_exists(row) -> None:
    tag, file, functions, names = row
    text = (ROOT / file).read_text(encoding="utf-8")
    assert tag in text
    for function in functions:
        assert re.search(rf"\b{function}\(", text), f"{file} has no {function}"
    known = suites()
    for name in names:
        if name.startswith("replay:"):
            assert f'{{ "{name.removeprefix("replay:")}", replay_' in kinds(), f"no kind of cases {name}"
        else:
            assert f"START_TEST({name})" in known or f"def {name}(" in known, f"no test {name}"


def test_links_between_pages_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


def test_the_index_has_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        name = str(page.relative_to(ROOT / "docs"))
        assert name == "index.md" or f"({name})" in index, f"docs/index.md does not link {name}"
