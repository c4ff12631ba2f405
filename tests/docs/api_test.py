#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./dev docs` documents every public name, and fails with the place of one that is not documented.

    api_test.py SOURCE_TREE

It runs in a copy of the tree's headers, first as they are, then with some comments taken out.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support.components import exit_without

COPIED = ("dev", "include", "docs/Doxyfile", "docs/api.md", "docs/api_enumerators.py", "tests/support/components.txt")

# Declarations whose comment is taken away: a header, the only line that begins so, and the name that is then missing.
DOCUMENTED = [
    ("context.hpp", "class Context {", "Context"),
    ("kernel.hpp", "std::span<const std::byte> cubin() const;", "cubin"),
    ("builder_warp.hpp", "Reg shuffle_xor(", "shuffle_xor"),
    ("launch.hpp", "int max_threads = 0;", "max_threads"),
    ("ptx.hpp", "std::string print(const ir::Module&", "print"),
    ("error.hpp", "usage = 2,", "usage"),
    ("type.hpp", "enum class TypeKind", "TypeKind"),
    ("version.hpp", "#define PTXLOOM_VERSION_MAJOR", "PTXLOOM_VERSION_MAJOR"),
    ("log.hpp", "using LogCallback", "LogCallback"),
]

# Lines that are put behind one that begins so, and the word that `./dev docs` then says.
ADDED = [
    ("error.hpp", "int line = 0;", "int row = 0;", "row"),
    ("ptx.hpp", "std::string print(const ir::Module&", "void unheard_of();", "unheard_of"),
    ("log.hpp", "Log() = default;", "/// See \\ref no_such_name.\nvoid misspelt();", "no_such_name"),
]


def place_of(lines, start):
    """The number of the only line that begins so."""
    places = [i for i, line in enumerate(lines) if line.lstrip().startswith(start)]
    if len(places) != 1:
        raise SystemExit(f"{len(places)} lines begin with: {start}")
    return places[0]


def without_comment(lines, start):
    """The lines without the comment of a declaration: behind it, before it, or before the group that it is in."""
    at = place_of(lines, start)
    if "///<" in lines[at]:
        return lines[:at] + [lines[at].split("///<")[0]] + lines[at + 1:]
    first = at
    while not lines[first - 1].lstrip().startswith("///"):
        first -= 1
    end = first
    while lines[first - 1].lstrip().startswith("///"):
        first -= 1
    return lines[:first] + lines[end:]


def with_line(lines, start, added):
    at = place_of(lines, start)
    return lines[:at + 1] + added.split("\n") + lines[at + 1:]


def copy(root, folder):
    for name in COPIED:
        source, target = root / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy2(source, target)


def docs(folder):
    shutil.rmtree(folder / "build", ignore_errors=True)
    done = subprocess.run([folder / "dev", "docs"], env=os.environ | {"PTXLOOM_INSTALL": "no"}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def plant(folder):
    """Changes the headers, and returns what `./dev docs` must then say: a header, and a word about it."""
    faults = [(header, lambda lines, start=start: without_comment(lines, start), said)
              for header, start, said in DOCUMENTED]
    faults += [(header, lambda lines, start=start, added=added: with_line(lines, start, added), said)
               for header, start, added, said in ADDED]
    for header, change, _ in faults:
        path = folder / "include/ptxloom" / header
        path.write_text("\n".join(change(path.read_text(encoding="utf-8").splitlines())) + "\n", encoding="utf-8")
    return [(header, said) for header, _, said in faults]


def missing_pages(folder):
    """Pages that the reference lacks: the main page's links, a class, a header with its opening text."""
    html = folder / "build/docs/html"
    wanted = [("index.html", "context_8hpp.html"), ("classptxloom_1_1Context.html", "CPU executor"),
              ("launch_8hpp.html", "device layer"), ("structptxloom_1_1LaunchConfig.html", "shared_bytes")]
    return [f"{page} does not hold '{text}'" for page, text in wanted
            if not (html / page).is_file() or text not in (html / page).read_text(encoding="utf-8")]


def main():
    root = pathlib.Path(sys.argv[1])
    if shutil.which("doxygen") is None:
        return exit_without("doxygen", "there is no doxygen (Debian: apt-get install doxygen)")
    problems = []
    with tempfile.TemporaryDirectory(prefix="ptxloom-docs-") as name:
        folder = pathlib.Path(name)
        copy(root, folder)
        code, output = docs(folder)
        if code != 0:
            print(output)
            problems.append(f"./dev docs ends with {code}")
        else:
            problems += missing_pages(folder)
            wanted = plant(folder)
            code, output = docs(folder)
            if code != 1:
                problems.append(f"./dev docs ends with {code} where {len(wanted)} names are not documented")
            for header, said in wanted:
                if not any(f"{header}:" in line and said in line for line in output.splitlines()):
                    problems.append(f"{header} without {said}: {output[-500:]}")
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems, {len(DOCUMENTED) + len(ADDED)} faults tried")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
