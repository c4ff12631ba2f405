#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table "In which file" of docs/gemm-kernel.md names the files of templates/gemm, each in the row of its folder.

    gemm_files_test.py SOURCE_TREE
"""
import pathlib
import re
import sys

SOURCES = {".cpp", ".hpp"}


def named_files(guide):
    """Folder: the names in its row. A row names nothing else in backquotes."""
    table = guide.split("## In which file")[1]
    rows = re.findall(r"^\| `([a-z_/]+)/` \| (.*) \|$", table, re.MULTILINE)
    return {folder: set(re.findall(r"`([^`]+)`", text)) for folder, text in rows}


def real_files(template):
    files = {}
    for path in template.rglob("*"):
        if path.suffix in SOURCES and path.parent != template:
            files.setdefault(str(path.parent.relative_to(template)), set()).add(path.stem)
    return files


def differences(named, real):
    for folder in sorted(named.keys() | real.keys()):
        there, said = real.get(folder, set()), named.get(folder, set())
        yield from (f"{folder}/{name} is not in the table" for name in sorted(there - said))
        yield from (f"the table has {folder}/{name}, which is not there" for name in sorted(said - there))


def main():
    source = pathlib.Path(sys.argv[1])
    named = named_files((source / "docs/gemm-kernel.md").read_text(encoding="utf-8"))
    found = list(differences(named, real_files(source / "templates/gemm")))
    print("\n".join(found) or f"{len(named)} folders")
    return bool(found or not named)


if __name__ == "__main__":
    sys.exit(main())
