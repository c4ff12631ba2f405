#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what the digest of each template is made of: a kernel in the cache is stale unless the digest changes with
everything that kernels come of.

    digest_test.py SOURCE_TREE BUILD_TREE CMAKE

CMake derives the files from what the templates library links. Here they are derived a second way: from the public
headers that a template includes, the layers that own them, and the edges of layers.txt.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import layering

SOURCE, BUILD, CMAKE = pathlib.Path(), pathlib.Path(), ""


def layers():
    return layering.read_layers((BUILD / "layers.txt").read_text(encoding="utf-8"))


def templates():
    return sorted(path.parent.name for path in SOURCE.glob("templates/*/space.json"))


def listed(template):
    return (BUILD / f"generated/templates/{template}/digest.txt").read_text(encoding="utf-8").split()


def headers_of(template):
    """The public headers that it sees: those that it includes, and what these include."""
    waiting = [path for path in (SOURCE / "templates" / template).rglob("*") if path.suffix in layering.CODE]
    seen = set()
    while waiting:
        for match in map(layering.INCLUDE.match, waiting.pop().read_text(encoding="utf-8").splitlines()):
            if match and match[2].startswith("ptxloom/") and match[2] not in seen:
                seen.add(match[2])
                waiting.append(SOURCE / "include" / match[2])
    return {header.removeprefix("ptxloom/") for header in seen}


def reachable_layers(template):
    headers = headers_of(template)
    return set().union(*(uses for public, uses in layers().values() if public & headers))


def sources(folder):
    return {path.relative_to(SOURCE).as_posix() for path in (SOURCE / folder).rglob("*")
            if path.suffix in layering.CODE | {".json"} or path.name == "CMakeLists.txt"}


def needed(template):
    """Files by the part of the tree that they are of."""
    folders = [f"templates/{template}", "specs", "include"] + [f"src/{layer}" for layer in reachable_layers(template)]
    return {folder: sources(folder) for folder in folders}


def missing(template, files):
    return sorted(file for part in needed(template).values() for file in part - set(files))


class Digest(unittest.TestCase):
    def test_everything_that_a_template_reaches_is_in_it(self):
        self.assertTrue(templates())
        for template in templates():
            self.assertLessEqual({"check", "lower", "build", "spec", "api", "base"}, reachable_layers(template))
            self.assertEqual(missing(template, listed(template)), [])

    def test_a_layer_that_is_left_out_is_noticed(self):
        for template in templates():
            for folder, files in needed(template).items():
                self.assertTrue(files, folder)
                kept = [file for file in listed(template) if not file.startswith(folder + "/")]
                self.assertEqual(missing(template, kept), sorted(files), folder)

    def test_it_changes_with_a_file_of_any_part(self):
        for template in templates():
            with tempfile.TemporaryDirectory() as folder:
                tree = Tree(pathlib.Path(folder), template)
                before = tree.digest()
                self.assertEqual(tree.digest(), before)
                for part, files in sorted(needed(template).items()):
                    with tree.touched(max(files)):
                        self.assertNotEqual(tree.digest(), before, part)
                self.assertEqual(tree.digest(), before)


class Tree:
    """The files of a template's digest elsewhere, so that they can be changed."""

    def __init__(self, root, template):
        self.root = root
        self.list = BUILD / f"generated/templates/{template}/digest.txt"
        for file in listed(template):
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).symlink_to(SOURCE / file)

    def digest(self):
        output = self.root / "digest.cpp"
        subprocess.run([CMAKE, f"-Dlist={self.list}", f"-Droot={self.root}", f"-Doutput={output}", "-Dnamespace=n",
                        "-P", SOURCE / "cmake/ptxloom_digest.cmake"], check=True)
        return re.search(r'"([0-9a-f]{64})"', output.read_text(encoding="utf-8"))[1]

    def touched(self, file):
        return Touched(self.root / file, SOURCE / file)


class Touched:
    def __init__(self, link, source):
        self.link, self.source = link, source

    def __enter__(self):
        self.link.unlink()
        self.link.write_bytes(self.source.read_bytes() + b"\n")

    def __exit__(self, *_):
        self.link.unlink()
        self.link.symlink_to(self.source)


if __name__ == "__main__":
    SOURCE, BUILD, CMAKE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    unittest.main(argv=sys.argv[:1])
