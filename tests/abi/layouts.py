#!/usr/bin/env python3
"""layouts.py OLD NEW HEADER...: public structs are laid out in NEW as in OLD, both written by abidw.

A struct that begins with struct_size may have grown at its end. abidiff has no way to allow just that: a suppression hides all
changes of a struct. So it compares functions only (functions.ini), and this the structs. Of a member whose comment in a header begins
with "experimental", name and type may change.
"""

import re
import sys
import xml.etree.ElementTree as tree

TAGS = ("type-decl", "class-decl", "union-decl", "enum-decl", "typedef-decl", "pointer-type-def", "qualified-type-def",
        "array-type-def", "function-type")


class Interface:
    def __init__(self, path):
        self.types = {}
        self.structs = {}
        for node in tree.parse(path).getroot().iter():
            if node.tag in TAGS and node.get("id"):
                self.types[node.get("id")] = node
            if node.tag == "class-decl" and node.get("name").startswith("tce_") and node.find("data-member") is not None:
                self.structs[node.get("name")] = node

    def describe(self, key):
        """A type as text; a struct by its name, since it has its own comparison."""
        if key is None:
            return "..."
        node = self.types[key]
        inner = node.get("type-id")
        if node.tag == "pointer-type-def":
            return self.describe(inner) + "*"
        if node.tag == "qualified-type-def":
            return ("const " if node.get("const") else "") + self.describe(inner)
        if node.tag == "array-type-def":
            return self.describe(inner) + "".join("[%s]" % range_.get("length") for range_ in node.iter("subrange"))
        if node.tag == "function-type":
            arguments = [self.describe(argument.get("type-id")) for argument in node.iter("parameter")]
            return "%s(%s)" % (self.describe(node.find("return").get("type-id")), ", ".join(arguments))
        if node.tag == "typedef-decl" and self.types[inner].tag != "class-decl":
            return self.describe(inner)
        return node.get("name")

    def members(self, name):
        """[(offset in bits, name, type)] of a struct."""
        rows = []
        for member in self.structs[name].iter("data-member"):
            variable = member.find("var-decl")
            rows.append((int(member.get("layout-offset-in-bits")), variable.get("name"), self.describe(variable.get("type-id"))))
        return rows


def compare(old, new, experimental):
    faults = []
    for name in sorted(old.structs):
        if name not in new.structs:
            faults.append("struct %s is gone" % name)
            continue
        was, now = old.members(name), new.members(name)
        size = int(old.structs[name].get("size-in-bits"))
        for a, b in zip(was, now):
            # a reserved field is zero in old callers and may take a name
            named = a[1] == "reserved" and (a[0], a[2]) == (b[0], b[2])
            free = (name, b[1]) in experimental and a[0] == b[0]
            if a != b and not named and not free:
                faults.append("struct %s: %s %s at bit %d became %s %s at bit %d" % (name, a[2], a[1], a[0], b[2], b[1], b[0]))
        if len(now) < len(was):
            faults.append("struct %s: lost %s" % (name, was[len(now)][1]))
        # new members: only behind the old end, so that a shorter struct has no part of them
        for offset, member, _ in now[len(was):]:
            if was[0][1] != "struct_size":
                faults.append("struct %s may not grow: it has no struct_size" % name)
            elif offset < size:
                faults.append("struct %s: new member %s lies in what was padding" % (name, member))
    return faults


def experimental_members(headers):
    """{(struct, member)}"""
    found = set()
    for header in headers:
        with open(header, encoding="utf-8") as text:
            for name, body in re.findall(r"^typedef struct (tce_\w+) \{(.*?)^\}", text.read(), re.MULTILINE | re.DOTALL):
                found.update((name, member) for member in re.findall(r"(\w+); */\* experimental", body))
    return found


def main():
    old, new = (Interface(path) for path in sys.argv[1:3])
    faults = compare(old, new, experimental_members(sys.argv[3:]))
    print("\n".join(faults) if faults else "%d public structs laid out as before" % len(old.structs))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
