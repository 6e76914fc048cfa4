"""The declarations here are those of the headers: struct layouts by a C compiler, functions by their prototypes."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess

import pytest

import tce
from conftest import ROOT, compiler
from tce import _library

STRUCTS = {
    "tce_random": _library.RandomState, "tce_pool_options": _library.PoolOptions,
    "tce_store_array": _library.StoreArray, "tce_mp_options": _library.MpOptions, "tce_mp_grid": _library.MpGrid,
    "tce_mp_via": _library.MpVia, "tce_mp_plan": _library.MpPlan, "tce_trpl_options": _library.TrplOptions,
    "tce_segment_options": _library.SegmentOptions, "tce_segment_stats": _library.SegmentStats,
    "tce_net_options": _library.NetOptions, "tce_adam_options": _library.AdamOptions,
    "tce_policy_options": _library.PolicyOptions, "tce_critic_options": _library.CriticOptions,
    "tce_env_spec": _library.EnvSpecStruct, "tce_env_result": _library.EnvResult,
    "tce_env_vtable": _library.EnvVtable, "tce_rollout_options": _library.RolloutOptions,
    "tce_rollout_paths": _library.RolloutPaths}

# what the C types of arguments and results are called in the table of functions
LETTERS = {
    "size_t": "n", "int32_t": "i", "uint64_t": "u", "double": "d", "tce_status": "i", "void": "v",
    "tce_pool_work": "p", "tce_net_loss": "p"}


def test_structs_have_the_layout_of_the_headers(tmp_path) -> None:
    lines = ["#include <stdio.h>", "#include <stddef.h>", "#include <tce/tce.h>", "int main(void) {"]
    want = []
    for name, struct in STRUCTS.items():
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
        [cc, "-std=c99", f"-I{ROOT / 'include'}", "-o", str(tmp_path / "layout"), str(tmp_path / "layout.c")],
        check=True)
    got = subprocess.run([str(tmp_path / "layout")], check=True, capture_output=True, text=True).stdout.split()
    assert [int(x) for x in got] == want


def prototypes() -> dict:
    """Result and argument letters of every TCE_API function."""
    found = {}
    for header in sorted((ROOT / "include" / "tce").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.S)
        for result, name, arguments in re.findall(r"TCE_API\s+(?:TCE_NODISCARD\s+)?([\w\s*]+?)(tce_\w+)\(([^)]*)\)", text):
            letters = []
            for argument in arguments.replace("\n", " ").split(","):
                argument = argument.replace("const ", "").strip()
                if argument == "void":
                    continue
                kind = argument.split()[0].rstrip("*")
                if "*" in argument or "[" in argument:
                    letters.append("s" if kind == "char" else "p")
                else:
                    letters.append(LETTERS.get(kind, "?" + kind))
            kind = result.replace("const ", "").strip()
            letter = ("s" if kind.startswith("char") else "p") if "*" in kind else LETTERS.get(kind, "?" + kind)
            found[name] = (letter, "".join(letters))
    return found


def test_functions_have_the_prototypes_of_the_headers() -> None:
    declared = {}
    for name, signature in _library.FUNCTIONS.items():
        result, _, arguments = signature.partition(" ")
        declared[name] = ("i" if result == "x" else result, arguments)
    headers = prototypes()
    headers.pop("tce_fail")
    assert declared == headers


def test_every_public_function_with_a_status_raises() -> None:
    for header, (result, _) in prototypes().items():
        if result == "i" and header in _library.FUNCTIONS:
            raises = _library.FUNCTIONS[header].startswith("x")
            numbers = {"tce_version", "tce_pool_threads", "tce_blas_threads", "tce_rollout_status"}
            assert raises == (header not in numbers), header


def test_everything_exported_exists() -> None:
    pytest.importorskip("gymnasium")
    for name in tce.__all__:
        assert getattr(tce, name) is not None
    assert tce.version().startswith(tce.__version__.rpartition(".")[0])
    with pytest.raises(AttributeError):
        tce.nothing
