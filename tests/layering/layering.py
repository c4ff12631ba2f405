#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules on who may include whom.

    layering.py SOURCE_TREE LAYERS_TXT

LAYERS_TXT is written by CMake from the ptxloom_layer() calls, a line a layer: name|public headers|layers it may
use ("may use" is transitive). The rules:

  - src/X includes internal headers ("Y/name.hpp") and public headers of X and of layers X may use, no others;
  - each header in include/ptxloom/ is owned by one layer, and a public header includes public headers only, by the
    same edges; templates/ and include/ptxloom/templates/ stand above all layers but cli;
  - ptxloom.hpp reaches all public headers;
  - in src/exec the folders of the machine include none of a family of instructions (CORE);
  - templates/ and samples/ include public headers, their own, and generated text only;
  - every source file has its SPDX line.

Prints each violation as file:line: message; exits 1 if there is any.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SPDX = "SPDX-License-Identifier: Apache-2.0"
CODE = {".cpp", ".hpp"}
NEED_SPDX = CODE | {".cmake", ".css", ".html", ".js", ".py", ".sh"}
# The folders of a layer that know nothing of its others. In exec: the machine, its memory, its judge and its observers.
# memory/ also has the families whose instructions only access memory, in files that no header declares.
CORE = {"exec": {"machine", "memory", "judge", "watch"}}
UMBRELLA = "ptxloom.hpp"  # the header that includes all others
ROOTS = ("src", "include", "templates", "samples", "tests", "cmake")


def read_layers(text):
    """Layers as {name: (public headers, layers it may use, itself and transitive ones included)}."""
    rows = [line.split("|") for line in text.splitlines() if line]
    public = {name: set(filter(None, headers.split(","))) for name, headers, _ in rows}
    direct = {name: set(filter(None, uses.split(","))) for name, _, uses in rows}

    def reach(name, seen):
        if name not in seen:
            seen.add(name)
            for used in direct[name]:
                reach(used, seen)
        return seen

    return {name: (public[name], reach(name, set())) for name in public}


class Checker:
    def __init__(self, root, layers):
        self.root = pathlib.Path(root)
        self.layers = layers
        self.owner = {header: name for name, (headers, _) in layers.items() for header in headers}
        self.problems = []

    def report(self, path, line, message):
        self.problems.append(f"{path.relative_to(self.root)}:{line}: {message}")

    def files(self, folder, suffixes=CODE):
        return sorted(p for p in (self.root / folder).rglob("*") if p.suffix in suffixes and p.is_file())

    def includes(self, path):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if match := INCLUDE.match(line):
                yield number, match[1] == '"', match[2]

    def public_include(self, path, line, header, allowed, who):
        """`header` is relative to include/ptxloom; `allowed` the layers that `who` may use, None for all."""
        if not (self.root / "include/ptxloom" / header).is_file():
            self.report(path, line, f"there is no public header ptxloom/{header}")
        elif header.startswith("templates/"):
            if allowed is not None and who != "cli":
                self.report(path, line, f"{who} may not use templates: ptxloom/{header}")
        elif header in self.owner and allowed is not None and self.owner[header] not in allowed:
            self.report(path, line, f"{who} may not use {self.owner[header]}: ptxloom/{header}")

    def check_layer(self, name):
        allowed = self.layers[name][1]
        for path in self.files(f"src/{name}"):
            for line, quoted, target in self.includes(path):
                first, _, rest = target.partition("/")
                if first == "ptxloom":
                    self.public_include(path, line, rest, allowed, name)
                elif quoted and not rest:
                    self.report(path, line, f'write the folder of an internal header: "{name}/{target}"')
                elif quoted and first in self.layers and first not in allowed:
                    self.report(path, line, f"{name} may not use {first}: {target}")
                elif quoted and not (self.root / "src" / target).is_file() and first != "generated":
                    self.report(path, line, f'no such internal header: "{target}" (third-party ones go in <>)')
                elif first == name:
                    self.core_include(path, line, name, rest)

    def core_include(self, path, line, name, header):
        core = CORE.get(name, set())
        folder, used = path.relative_to(self.root / "src" / name).parts[0], header.partition("/")[0]
        if folder in core and used not in core:
            self.report(path, line, f"{name}/{folder} may not use {name}/{used}: {header}")

    def check_public(self):
        base = self.root / "include/ptxloom"
        for path in self.files("include"):
            header = path.relative_to(base).as_posix()
            template = header.startswith("templates/")
            owner = self.owner.get(header)
            if owner is None and not template:
                self.report(path, 1, "this public header belongs to no layer: add it to a PUBLIC list in src/")
            allowed = None if template or header == UMBRELLA or owner is None else self.layers[owner][1]
            for line, quoted, target in self.includes(path):
                first, _, rest = target.partition("/")
                if first == "ptxloom":
                    self.public_include(path, line, rest, allowed, owner or header)
                elif quoted or first in self.layers or target in ("cuda.h", "nvrtc.h", "nvJitLink.h"):
                    self.report(path, line, f"a public header may include ptxloom/ and standard headers, not {target}")

    def check_umbrella(self):
        base = self.root / "include/ptxloom"
        reached, ahead = set(), [UMBRELLA]
        while ahead:
            header = ahead.pop()
            if header not in reached and (base / header).is_file():
                reached.add(header)
                ahead += [target.removeprefix("ptxloom/") for _, _, target in self.includes(base / header)]
        for header in sorted(set(self.owner) - reached):
            self.report(base / UMBRELLA, 1, f"{UMBRELLA} leaves out ptxloom/{header}")

    def check_outside(self, folder):
        for path in self.files(folder):
            for line, quoted, target in self.includes(path):
                first, _, rest = target.partition("/")
                if first == "ptxloom":
                    self.public_include(path, line, rest, None, folder)
                elif first in self.layers and "/" in target and not (self.root / folder / target).is_file():
                    self.report(path, line, f"{folder}/ may include what is in include/ only: {target}")
                elif ".." in target:
                    self.report(path, line, f"{folder}/ may include what is in include/ only: {target}")

    def check_spdx(self):
        names = [self.root / "CMakeLists.txt", self.root / "dev", self.root / ".ci/run"]
        for root in ROOTS:
            names += self.files(root, NEED_SPDX)
            names += (self.root / root).rglob("CMakeLists.txt")
        for path in names:
            if path.is_file() and SPDX not in "".join(path.read_text(encoding="utf-8").splitlines(True)[:2]):
                self.report(path, 1, f"the first lines lack '{SPDX}'")

    def run(self):
        for name in self.layers:
            self.check_layer(name)
        for folder in sorted(p.name for p in (self.root / "src").iterdir() if p.is_dir()):
            if folder not in self.layers and self.files(f"src/{folder}"):
                self.problems.append(f"src/{folder}: no layer of that name; add it to CMakeLists.txt")
        self.check_public()
        self.check_umbrella()
        for folder in ("templates", "samples"):
            self.check_outside(folder)
        self.check_spdx()
        return self.problems


def main():
    root, layers = sys.argv[1:]
    problems = Checker(root, read_layers(pathlib.Path(layers).read_text(encoding="utf-8"))).run()
    for problem in problems:
        print(problem)
    print(f"{len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
