#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that layering.py finds each kind of violation, and finds none in a tree without."""
import pathlib
import tempfile
import unittest

import layering

LAYERS = "base|error.hpp|\nir|ir.hpp|base\ntext|ptx.hpp|ir\nexec||text\napi|ptxloom.hpp|exec\ncli||api\n"
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"

GOOD = {
    "include/ptxloom/error.hpp": "#include <string>",
    "include/ptxloom/ir.hpp": '#include "ptxloom/error.hpp"',
    "include/ptxloom/ptx.hpp": "",
    "include/ptxloom/ptxloom.hpp": '#include "ptxloom/templates/gemm.hpp"\n#include "ptxloom/ptx.hpp"',
    "include/ptxloom/templates/gemm.hpp": '#include "ptxloom/ir.hpp"',
    "src/base/error.cpp": '#include "ptxloom/error.hpp"',
    "src/ir/detail.hpp": "",
    "src/ir/ir.cpp": '#include "ir/detail.hpp"\n#include "ptxloom/ir.hpp"\n#include <fmt/format.h>',
    "src/text/print.cpp": '#include "ir/detail.hpp"\n#include "ptxloom/error.hpp"',
    "src/exec/machine/warp.hpp": '#include "exec/judge/judge.hpp"\n#include "ir/detail.hpp"',
    "src/exec/judge/judge.hpp": "",
    "src/exec/async/copies.hpp": '#include "exec/machine/warp.hpp"',
    "src/cli/main.cpp": '#include <ptxloom/templates/gemm.hpp>\n#include "ir/detail.hpp"',
    "templates/gemm/kernel.cpp": '#include "ptxloom/ir.hpp"\n#include "templates/gemm/space.json.hpp"',
    "samples/demo.cpp": "#include <ptxloom/ptxloom.hpp>",
}

# What is added to the good tree, and a part of the message that it must give.
BAD = [
    ("src/ir/up.cpp", '#include "text/print.hpp"', "ir may not use text"),
    ("src/ir/up.cpp", '# include <text/print.hpp>', None),  # not ours: a system header that happens to be so named
    ("src/base/up.cpp", "#include <ptxloom/ir.hpp>", "base may not use ir"),
    ("src/ir/up.cpp", '#include "detail.hpp"', "write the folder"),
    ("src/ir/up.cpp", '#include "ir/gone.hpp"', "no such internal header"),
    ("src/ir/up.cpp", '#include "ptxloom/gone.hpp"', "there is no public header"),
    ("src/exec/up.cpp", '#include "ptxloom/templates/gemm.hpp"', "exec may not use templates"),
    ("src/exec/machine/warp.cpp", '#include "exec/async/copies.hpp"', "exec/machine may not use exec/async"),
    ("src/exec/judge/judge.cpp", '#include "exec/async/copies.hpp"', "exec/judge may not use exec/async"),
    ("src/stray/a.cpp", "", "no layer of that name"),
    ("include/ptxloom/orphan.hpp", "", "belongs to no layer"),
    ("include/ptxloom/error.hpp", '#include "ptxloom/ir.hpp"', "base may not use ir"),
    ("include/ptxloom/ptx.hpp", '#include "ir/detail.hpp"', "a public header may include"),
    ("include/ptxloom/ptxloom.hpp", '#include "ptxloom/templates/gemm.hpp"', "leaves out ptxloom/ptx.hpp"),
    ("include/ptxloom/ptx.hpp", "#include <cuda.h>", "a public header may include"),
    ("templates/gemm/kernel.cpp", '#include "ir/detail.hpp"', "templates/ may include"),
    ("templates/gemm/kernel.cpp", '#include "../../src/ir/detail.hpp"', "templates/ may include"),
    ("samples/demo.cpp", "#include <ir/detail.hpp>", "samples/ may include"),
]


def problems(files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name in ("src", "include", "templates", "samples"):
            (root / name).mkdir()
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return layering.Checker(root, layering.read_layers(LAYERS)).run()


def with_spdx(files):
    return {name: SPDX + text for name, text in files.items()}


class SelfTest(unittest.TestCase):
    def test_good_tree_has_no_violation(self):
        self.assertEqual(problems(with_spdx(GOOD)), [])

    def test_each_violation_is_found_and_named(self):
        for name, text, message in BAD:
            with self.subTest(file=name, text=text):
                found = problems(with_spdx(GOOD | {name: text}))
                if message is None:
                    self.assertEqual(found, [])
                else:
                    self.assertEqual(len(found), 1, found)
                    self.assertIn(message, found[0])
                    self.assertTrue(found[0].startswith(name.rsplit("/", 1)[0]), found)

    def test_missing_spdx_line_is_found(self):
        found = problems(with_spdx(GOOD) | {"src/ir/ir.cpp": "int x;\n"})
        self.assertEqual(len(found), 1, found)
        self.assertIn("SPDX", found[0])


if __name__ == "__main__":
    unittest.main()
