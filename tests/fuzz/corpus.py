# SPDX-License-Identifier: Apache-2.0
"""Writes what the fuzzer starts from: seeds and a dictionary.

usage: corpus.py FOLDER    makes FOLDER/seeds/*.ptx and FOLDER/words.dict

Seeds are tests/fuzz/seeds/*.ptx, which show the grammar around instructions, and kernels made of the instructions that
the CUDA headers use (tests/oracle/real_uses.jsonl), eight a kernel. The dictionary holds every word of specs/.
"""

import json
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
USES_A_KERNEL = 8


def kernel(uses):
    blocks = "".join("{ %s\n  %s }\n" % (use.get("d", ""), use["x"]) for use in uses)
    return (".version 9.0\n.target sm_100a\n.address_size 64\n"
            ".visible .entry k(.param .u64 p)\n{\n%sret;\n}\n" % blocks)


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
    with open(ROOT / "tests/oracle/real_uses.jsonl") as lines:
        uses = [use for use in map(json.loads, lines) if "x" in use]
    for start in range(0, len(uses), USES_A_KERNEL):
        (seeds / f"uses_{start}.ptx").write_text(kernel(uses[start:start + USES_A_KERNEL]))
    (folder / "words.dict").write_text("".join('"%s"\n' % word for word in spec_words()))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
