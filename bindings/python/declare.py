"""Writes tce/_declarations.py from the public headers (constants, structs, callbacks and functions), tce/_train_declarations.py from the
header of the trainer's library, tce/_primitives.py from the settings files of the project's tasks (their movement primitives),
and tce/_own_tasks.py from the list of tasks.

    python3 declare.py           writes all four
    python3 declare.py --check   exit status 1 when one is not what its sources say

Headers and settings files are plain enough to be read line by line: comments are removed, every struct has one field per
declaration, every function is marked TCE_API or TCE_API_EXPERIMENTAL, a section of settings has one key per line.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Tuple

HERE = Path(__file__).resolve().parent
HEADERS = sorted((HERE.parent.parent / "include" / "tce").glob("*.h"))
TRAINER = [HERE.parent.parent / "examples" / "trainer" / "embed" / "train.h"]
CONFIGS = HERE.parent.parent / "examples" / "configs"
SETTINGS = HERE.parent.parent / "examples" / "trainer" / "settings" / "settings_groups.c"
TASKS = HERE.parent.parent / "examples" / "tasks"

# C types by value, and what arrays of them are in an argument list; every other pointer is Pointer
SCALARS = {
    "size_t": "c_size_t", "int32_t": "c_int32", "int64_t": "c_int64", "uint32_t": "c_uint32", "uint64_t": "c_uint64", "uint8_t": "c_uint8",
    "double": "c_double", "tce_status": "c_int32"}
ARRAYS = {
    "double": "Float64", "uint8_t": "Uint8", "int32_t": "Int32", "uint32_t": "Uint32", "size_t": "Size", "tce_env_result": "Data",
    "void": "Data"}


def camel(name: str) -> str:
    """tce_pool_options -> PoolOptions"""
    return "".join(word.capitalize() for word in name.split("_")[1:])


class FunctionType(NamedTuple):
    """A function that is a field of a struct."""

    prototype: str  # as a callback, which C calls
    result: str  # as a function that is called
    arguments: List[str]


class StructType(NamedTuple):
    """A struct: its fields, which of them are arrays of numbers, and which are functions."""

    name: str
    fields: List[Tuple[str, str]]
    arrays: Dict[str, str]
    functions: Dict[str, FunctionType]


class Headers:
    """What some headers declare, in their order."""

    def __init__(self, paths: List[Path]) -> None:
        self.text = ""
        for path in paths:
            text = re.sub(r"/\*.*?\*/", " ", path.read_text(encoding="utf-8"), flags=re.S)
            self.text += text.replace("\\\n", " ") + "\n"
        self.callbacks = {name for name in re.findall(r"typedef [^;{}]*?\(\*(tce_\w+)\)", self.text)}

    def kind(self, declaration: str, argument: bool = False) -> str:
        """The ctypes type of one parameter, field or result."""
        words = declaration.replace("const", " ").replace("*", " * ").split()
        base = words[0]
        if "(" in declaration or base in self.callbacks:
            return "c_void_p"
        stars = words.count("*")
        size = re.search(r"\[(\w+)\]", declaration)
        if size and not argument:
            count = size[1] if size[1].isdigit() else f"{self.constants()[size[1]]}"
            return f"{SCALARS[base]} * {count}"
        stars += bool(size)
        if stars == 1 and base == "char":
            return "c_char_p"
        if stars == 1 and argument and base in ARRAYS:
            return ARRAYS[base]
        if stars:
            return "Pointer" if argument else "c_void_p"
        if base not in SCALARS:
            raise SystemExit(f"declare.py: what is {base} in \"{declaration.strip()}\"?")
        return SCALARS[base]

    def constants(self) -> Dict[str, int]:
        found = {}
        for name, value in re.findall(r"#define (TCE_\w+) (\d+)$", self.text, flags=re.M):
            found[name] = int(value)
        for body in re.findall(r"\benum\s*\{(.*?)\}", self.text, flags=re.S):
            for name, value in re.findall(r"(TCE_\w+)\s*=\s*(-?\d+)", body):
                found[name] = int(value)
        return found

    def arguments(self, text: str) -> List[str]:
        parts = [part.strip() for part in text.split(",")]
        return [self.kind(part, True) for part in parts if part not in ("void", "...")]

    def result(self, text: str) -> str:
        text = text.strip()
        return "None" if text == "void" else "Status" if text == "tce_status" else self.kind(text + " result")

    def prototype(self, result: str, arguments: str) -> str:
        """A callback's type: plain ctypes, since C calls it."""
        plain = [self.kind(part.strip()) for part in arguments.split(",")]
        return f"CFUNCTYPE({', '.join([self.result(result).replace('Status', 'c_int32'), *plain])})"

    def structs(self) -> List["StructType"]:
        found = []
        for body, name in re.findall(r"typedef struct \w+ \{(.*?)\}\s*(\w+);", self.text, flags=re.S):
            fields, arrays, functions = [], {}, {}
            for declaration in filter(str.strip, body.split(";")):
                function = re.match(r"\s*([\w\s*]+?)\(\*(\w+)\)\((.*)\)\s*$", declaration, flags=re.S)
                if function:
                    fields.append((function[2], "c_void_p"))
                    functions[function[2]] = FunctionType(
                        self.prototype(function[1], function[3]), self.result(function[1]), self.arguments(function[3]))
                    continue
                field = re.search(r"(\w+)(?:\[\w+\])?\s*$", declaration)
                assert field is not None, declaration
                fields.append((field[1], self.kind(declaration)))
                pointed = self.kind(declaration, True)
                if fields[-1][1] == "c_void_p" and pointed in ARRAYS.values() and pointed != "Data":
                    arrays[field[1]] = pointed
            found.append(StructType(name, fields, arrays, functions))
        return found

    def callback_types(self) -> List[Tuple[str, str]]:
        pattern = r"typedef ([\w\s*]+?)\(\*(tce_\w+)\)\((.*?)\);"
        return [(name, self.prototype(result, arguments)) for result, name, arguments in re.findall(pattern, self.text, flags=re.S)]

    def functions(self) -> List[Tuple[str, str, List[str]]]:
        """A status that may not be ignored is a Status; one that only informs is a number."""
        found = []
        pattern = r"TCE_API(?:_EXPERIMENTAL)?\s+(TCE_NODISCARD\s+)?([\w\s*]+?)(tce_\w+)\(([^)]*)\)"
        for checked, result, name, arguments in re.findall(pattern, self.text):
            kind = self.result(result)
            found.append((name, kind if checked else kind.replace("Status", "c_int32"), self.arguments(arguments)))
        return found


def wrapped(words: List[str], indent: str, width: int = 120) -> List[str]:
    """The words with commas between them, in lines."""
    lines, line = [], indent
    for word in words:
        if len(line) + len(word) + 2 > width:
            lines.append(line.rstrip())
            line = indent
        line += word + ", "
    return lines + [line.rstrip(" ")]


CTYPES = ["CFUNCTYPE", "c_char_p", "c_double", "c_int32", "c_int64", "c_size_t", "c_uint32", "c_uint64", "c_uint8", "c_void_p"]
POINTERS = ["Data", "Float64", "Int32", "Pointer", "Size", "Status", "Struct", "Uint8", "Uint32"]


def declarations(what: str, paths: List[Path]) -> str:
    body = declared(Headers(paths))

    def used(names: List[str]) -> str:
        return ", ".join(name for name in names if re.search(rf"\b{name}\b", body))

    return "\n".join([
        f'"""{what} in ctypes: constants, structs, callbacks, functions. Made by declare.py: do not edit."""', "",
        f"from ctypes import {used(CTYPES)}", "from typing import Any, Dict, List, Tuple", "",
        f"from ._pointers import {used(POINTERS)}", "", body])


def declared(headers: Headers) -> str:
    lines: List[str] = []
    lines += [f"{name} = {value}" for name, value in headers.constants().items()] + ["", ""]

    structs = headers.structs()
    for struct in structs:
        lines += [f"class {camel(struct.name)}(Struct):", f'    """{struct.name}"""', "", f'    _name_ = "{struct.name}"', "    _fields_ = ["]
        lines += wrapped([f'("{field}", {kind})' for field, kind in struct.fields], " " * 8)
        lines[-1] = lines[-1].rstrip(",") + "]"
        if struct.arrays:
            lines += ["    _arrays_ = {"] + wrapped([f'"{field}": {kind}' for field, kind in struct.arrays.items()], " " * 8)
            lines[-1] = lines[-1].rstrip(",") + "}"
        lines += ["", ""]

    lines.append("# callbacks that are passed as arguments")
    lines += [f"{camel(name)} = {kind}" for name, kind in headers.callback_types()]
    for struct in structs:
        if struct.functions:
            lines += ["", f"# functions that are fields of {struct.name}: as callbacks, and as what is called"]
            lines.append(f"{camel(struct.name)}Callbacks: Dict[str, Any] = {{")
            lines += [f'    "{field}": {kind.prototype},' for field, kind in struct.functions.items()] + ["}"]
            lines.append(f"{camel(struct.name)}Functions: Dict[str, Tuple[Any, List[Any]]] = {{")
            lines += [f'    "{field}": ({kind.result}, [{", ".join(kind.arguments)}]),' for field, kind in struct.functions.items()] + ["}"]

    lines += ["", "# every function: its result and its arguments", "FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {"]
    for name, result, arguments in headers.functions():
        line = f'    "{name}": ({result}, [{", ".join(arguments)}]),'
        if len(line) > 120:
            lines += [f'    "{name}": ({result}, ['] + wrapped(arguments, " " * 8)
            lines[-1] = lines[-1].rstrip(",") + "]),"
        else:
            lines.append(line)
    return "\n".join(lines + ["}", ""])


def primitive_defaults() -> Dict[str, str]:
    """What the section mp has where a settings file says nothing and tce.ProDMP would have something else, as the help of these keys tells."""
    rows = re.sub(r'"\s*\n\s*"', "", SETTINGS.read_text(encoding="utf-8"))
    return dict(re.findall(r'\{ "mp", "(\w+)", SETTING_\w+, AT\([\w.]+\), "([^"]*)"[^{}]*tce_mp_options and Python', rows))


def primitive(path: Path) -> Dict[str, Any]:
    """The section mp of a settings file, over the defaults; a dt of 0 is the task's."""
    lines = path.read_text(encoding="utf-8").splitlines()
    section = itertools.takewhile(lambda line: line.startswith(" "), lines[lines.index("mp:") + 1:])
    pairs = (line.partition("#")[0].partition(":") for line in section)
    texts = {**primitive_defaults(), **{key.strip(): value.strip() for key, _, value in pairs}}
    values = {key: json.loads(text) for key, text in texts.items()}
    return {key: value for key, value in values.items() if (key, value) != ("dt", 0)}


def primitives() -> str:
    lines = [
        '"""Movement primitives of the settings in examples/configs, by the folder whose tce.yaml has them in its section mp.', "",
        'Made by declare.py: do not edit."""', "", "from typing import Any, Dict", "", "PRODMP: Dict[str, Dict[str, Any]] = {"]
    for path in sorted(CONFIGS.glob("*/tce.yaml")):
        lines += [f'    "{path.parent.name}": {{'] + wrapped([f'"{key}": {value!r}' for key, value in primitive(path).items()], " " * 8)
        lines[-1] = lines[-1].rstrip(",") + "},"
    return "\n".join(lines + ["}", ""])


def tasks() -> str:
    """Tasks without simulator say whether they follow paths in the line that makes their table; all on MuJoCo do."""
    lines = [
        '"""Tasks of the project, those of Metaworld apart, and whether they follow desired paths. Made by declare.py: do not edit."""', "",
        "from typing import Dict", "", "OWN_TASKS: Dict[str, bool] = {"]
    listed = (TASKS / "tasks.h").read_text(encoding="utf-8").replace("\\\n", " ")
    for simulator, names in re.findall(r"#define TASKS_(PLAIN|MUJOCO)\(X\)(.*)", listed):
        for name in re.findall(r"X\((\w+)\)", names):
            follows = simulator == "MUJOCO" or "PLAIN_PATHS" in (TASKS / f"{name}.c").read_text(encoding="utf-8")
            lines.append(f'    "{name}": {follows},')
    return "\n".join(lines + ["}", ""])


def main() -> int:
    stale = False
    made = {
        "_declarations.py": declarations("The public headers", HEADERS),
        "_train_declarations.py": declarations("The trainer's library", TRAINER),
        "_primitives.py": primitives(),
        "_own_tasks.py": tasks()}
    for name, text in made.items():
        target = HERE / "tce" / name
        if "--check" not in sys.argv[1:]:
            target.write_text(text, encoding="utf-8")
        elif not target.exists() or target.read_text(encoding="utf-8") != text:
            print(f"{name} is not what its sources say: run bindings/python/declare.py", file=sys.stderr)
            stale = True
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
