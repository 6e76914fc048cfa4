"""The declarations here are those of the headers: struct layouts by a C compiler, functions by their prototypes."""

from __future__ import annotations

import ctypes
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, Literal, Set, get_args, get_origin

import pytest

import tce
from shared import ROOT, compiler
from tce import _choices, _declarations, _library, _train_declarations
from tce._pointers import Status, Struct


def test_structs_have_the_layout_of_the_headers(tmp_path) -> None:
    lines = ["#include <stdio.h>", "#include <stddef.h>", "#include <tce/tce.h>", "#include <embed/train.h>", "int main(void) {"]
    want = []
    declared = [*vars(_declarations).values(), *vars(_train_declarations).values()]
    structs = [kind for kind in declared if isinstance(kind, type) and issubclass(kind, Struct) and kind is not Struct]
    assert len(structs) > 15
    for struct in structs:
        name = struct.__doc__
        lines.append(f'printf("%zu\\n", sizeof({name}));')
        want.append(ctypes.sizeof(struct))
        for field in struct._fields_:
            lines.append(f'printf("%zu\\n", offsetof({name}, {field[0]}));')
            lines.append(f'printf("%zu\\n", sizeof((({name} *)0)->{field[0]}));')
            entry = getattr(struct, field[0])
            want += [entry.offset, entry.size]
    lines += ["return 0; }"]
    (tmp_path / "layout.c").write_text("\n".join(lines))
    cc = compiler(os.environ.get("CC", ""), "cc", "gcc", "clang")
    subprocess.run(
        [cc, "-std=c99", f"-I{ROOT / 'include'}", f"-I{ROOT / 'examples' / 'trainer'}", "-o", str(tmp_path / "layout"), str(tmp_path / "layout.c")],
        check=True)
    got = subprocess.run([str(tmp_path / "layout")], check=True, capture_output=True, text=True).stdout.split()
    assert [int(x) for x in got] == want


def test_declarations_are_those_of_the_headers_and_settings_files() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "bindings" / "python" / "declare.py"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("source, before, after", [
    ("include/tce/mp.h", "double goal_scale;", "double goal_scale, twice;"),
    ("examples/trainer/embed/train.h", "int32_t has_seed;", "int64_t has_seed;"),
    ("examples/trainer/settings/settings_groups.c", 'AT(mp.alpha), "10"', 'AT(mp.alpha), "11"'),
    ("examples/configs/hopper_jump/tce.yaml", "\n  tau: 0.8\n", "\n  tau: 0.9\n"),
    ("examples/tasks/tasks.h", "X(swing) ", "X(reacher5) "),
    ("examples/tasks/point_via.c", "PLAIN_PATHS, ", "")])
def test_a_source_of_declarations_that_changed_is_noticed(tmp_path, source, before, after) -> None:
    bindings = Path("bindings") / "python"
    for folder in ("include/tce", "examples/configs", "examples/trainer/embed", "examples/trainer/settings", "examples/tasks"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / bindings / "tce").mkdir(parents=True)
    for name in ("declare.py", "tce/_declarations.py", "tce/_train_declarations.py", "tce/_primitives.py", "tce/_own_tasks.py"):
        shutil.copyfile(ROOT / bindings / name, tmp_path / bindings / name)
    check = [sys.executable, str(tmp_path / bindings / "declare.py"), "--check"]
    assert subprocess.run(check).returncode == 0
    text = (tmp_path / source).read_text(encoding="utf-8")
    assert text.count(before) == 1
    (tmp_path / source).write_text(text.replace(before, after), encoding="utf-8")
    assert subprocess.run(check, capture_output=True).returncode == 1


def test_functions_that_return_a_status_raise() -> None:
    for name, (result, _) in _declarations.FUNCTIONS.items():
        function = getattr(_library.lib, name)
        assert inspect.getclosurevars(function).nonlocals["raises"] == (result is Status), name
    informing = {"tce_fail", "tce_rollout_status"}
    statuses = [name for name, (result, _) in _declarations.FUNCTIONS.items() if result is Status]
    assert len(statuses) > 60 and not informing & set(statuses)


def test_every_choice_of_the_headers_has_its_name() -> None:
    source = Path(_choices.__file__).read_text(encoding="utf-8")
    named = dict((constant, name) for name, constant in re.findall(r'"(\w+)": c\.(TCE_\w+)', source))
    others = re.compile(r"TCE_(OK|E_\w+|VERSION_\w+|\w+_MAX_\w+|ENV_\w+)$")  # statuses, limits, what check_env reports
    constants = [name for name in vars(_declarations) if name.startswith("TCE_") and not others.match(name)]
    assert sorted(named) == sorted(constants)
    for constant, name in named.items():
        short = re.sub(r"^([FIU])\D*", r"\1", name.upper()) if constant.startswith("TCE_STORE_") else name.upper()
        assert short in constant, (constant, name)


def test_type_checkers_know_every_choice() -> None:
    tables = [list(table) for fields in _choices.FIELDS.values() for table in fields.values()] + [list(table) for table in _choices.ARGUMENTS.values()]
    known = {name: list(get_args(kind)) for name, kind in vars(_choices).items() if get_origin(kind) is Literal}
    for name, words in known.items():
        assert words in tables or name == "Method", name
    signatures = [
        inspect.signature(function) for function in (
            tce.ProDMP.__init__, tce.Projection.__init__, tce.Net.__init__, tce.Policy.__init__, tce.Normaliser.__init__, tce.Rollout.__init__,
            tce.segment.advantage, tce.segment.choose_pairs, tce.train)]
    used = {annotation for signature in signatures for p in signature.parameters.values() for annotation in re.findall(r"\w+", str(p.annotation))}
    assert set(known) <= used


def test_everything_exported_exists() -> None:
    pytest.importorskip("gymnasium")
    for name in tce.__all__:
        assert getattr(tce, name) is not None
    assert tce.version().startswith(tce.__version__.rpartition(".")[0])
    with pytest.raises(AttributeError):
        tce.nothing


PLUMBING = re.compile(r"#include |(MUJOCO|PLAIN)_TASK")
FUNCTION = re.compile(r"static (tce_status|void|size_t) (create|destroy|spec|n_state|get_state|set_state|render)\(")


def plumbing(source: str) -> float:
    """The share of lines of code that every task would have to repeat: docs/inside/add-a-task.md says which these are."""
    lines = [line for line in re.sub(r"/\*.*?\*/", "", source, flags=re.S).splitlines() if line.strip()]
    n, until = 0, ""
    for line in lines:
        if not until and (PLUMBING.match(line) or FUNCTION.match(line)):
            until = "}" if FUNCTION.match(line) else ";" if "_TASK" in line else "\n"
        n += bool(until)
        if until == "\n" or (until and line.rstrip().endswith(until) and (until == ";" or line == "}")):
            until = ""
    return n / len(lines)


def test_a_task_is_hardly_plumbing() -> None:
    tasks = ROOT / "examples" / "tasks"
    sources = {path.name: path.read_text(encoding="utf-8") for path in sorted(tasks.glob("*.c"))}
    shares = {name: plumbing(source) for name, source in sources.items() if re.search("^(MUJOCO|PLAIN)_TASK", source, flags=re.M)}
    assert len(shares) >= 8 and max(shares.values()) < 0.15, shares
    assert plumbing('#include <math.h>\n\nstatic void render(void)\n{\n    x;\n}\n\nint y;\nPLAIN_TASK(a,\n    b);\n') == 7 / 8


ROWS = re.compile(r"^const mw_task \w+ = \{.*?^\};", flags=re.S | re.M)


def repeated(sources: Dict[str, str]) -> Set[str]:
    """Stretches of six lines of code that stand in more than one place: comments, brackets alone and `#include` lines do not count."""
    seen: Set[str] = set()
    twice: Set[str] = set()
    for source in sources.values():
        code = re.sub(r"/\*.*?\*/", "", source, flags=re.S)
        lines = [line.strip() for line in code.splitlines() if re.search(r"\w", line) and not line.startswith("#include ")]
        for first in range(len(lines) - 5):
            stretch = "\n".join(lines[first:first + 6])
            twice |= {stretch} & seen
            seen.add(stretch)
    return twice


def test_no_six_lines_stand_twice_in_the_tasks_but_in_rows_of_metaworld() -> None:
    sources = {str(path): path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples" / "tasks").rglob("*.[ch]"))}
    assert len(sources) > 40
    assert not repeated({name: ROWS.sub("", source) for name, source in sources.items()})
    assert repeated(sources)
    assert repeated({"a.c": "a;\nb;\n{\nc;\nd;\n", "b.c": "e;\nf;\n"}) == set()
    assert repeated({"a.c": "x;\na;\nb;\n{\nc;\nd;\ne;\nf;\n", "b.c": "a;\nb;\n/* c */\nc;\nd;\ne;\nf;\n"}) == {"a;\nb;\nc;\nd;\ne;\nf;"}
