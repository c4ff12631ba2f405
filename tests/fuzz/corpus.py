# SPDX-License-Identifier: Apache-2.0
"""Writes what the fuzzer starts from: seeds and a dictionary.

usage: corpus.py FOLDER    makes FOLDER/seeds/*.ptx and FOLDER/words.dict

Seeds are tests/fuzz/seeds/*.ptx, which show the grammar around instructions, and kernels made of the instructions that
the CUDA headers use (tests/oracle/real_uses.txt), eight a kernel. The dictionary holds every word of specs/.
"""

import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
USES_A_KERNEL = 8
REGISTERS = [("b32", "r"), ("b64", "rd"), ("b16", "rs"), ("b128", "rq"), ("f32", "f"), ("f64", "fd"), ("pred", "p")]


def kernel(lines):
    registers = "".join(".reg .%s %%%s<600>;\n" % pair for pair in REGISTERS)
    return (".version 9.0\n.target sm_100a\n.address_size 64\n"
            ".visible .entry k(.param .u64 p)\n{\n%s%sret;\n}\n" % (registers, "".join(lines)))


def uses():
    for path in sorted((ROOT / "tests/oracle").glob("*_uses.txt")):
        with open(path) as lines:
            yield from (line for line in lines if not line.startswith(("#", "targets ", "verdict ")))


def spec_words():
    words = set()
    for path in [*ROOT.glob("specs/insn/*.json"), ROOT / "specs/words.json", ROOT / "specs/types.json"]:
        words.update(re.findall(r"[A-Za-z_][A-Za-z0-9_:]*", path.read_text()))
    return sorted(word for word in words if len(word) < 24)


def main(folder):
    seeds = folder / "seeds"
    shutil.rmtree(seeds, ignore_errors=True)
    seeds.mkdir(parents=True)
    for path in sorted((ROOT / "tests/fuzz/seeds").glob("*.ptx")):
        shutil.copy(path, seeds)
    lines = list(uses())
    for start in range(0, len(lines), USES_A_KERNEL):
        (seeds / f"uses_{start}.ptx").write_text(kernel(lines[start:start + USES_A_KERNEL]))
    (folder / "words.dict").write_text("".join('"%s"\n' % word for word in spec_words()))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
