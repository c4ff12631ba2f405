# SPDX-License-Identifier: Apache-2.0
"""Instructions of cubins with the text that nvdisasm gives them."""
import pathlib
import re
import subprocess

LINE = re.compile(r'^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;?\s*/\* 0x([0-9a-f]{16}) \*/\s*$')
SECOND = re.compile(r'^\s*/\* 0x([0-9a-f]{16}) \*/\s*$')
SECTION = re.compile(r'^\t\.section\t\.text\.(.*?),"')
TEXT = re.compile(r'^(?:@(!?)(U?P)(\d|T)\s+)?([A-Z][A-Z0-9_]*)((?:\.[A-Za-z0-9_]+)*)\s*(.*)$')
REGISTER = re.compile(r'(?<![A-Za-z0-9_$.])(UR|UP|R|P|B|SB)(\d+)(?![A-Za-z0-9_])')


class Sample:
    """One instruction: its 128 bits, its chip and its text in parts."""

    def __init__(self, section, offset, bits, chip, text):
        self.section, self.offset, self.bits, self.chip, self.text = section, offset, bits, chip, text
        found = TEXT.match(text)
        self.known = found is not None
        if not found: return
        negated, kind, number, self.name, self.modifiers, self.operands = found.groups()
        self.guard = (kind or '', 7 if number in (None, 'T') else int(number), bool(negated))
        # Strings such as a symbol's name are no operands.
        plain = re.sub(r"`\([^)]*\)", '', self.operands)
        self.registers = tuple((k, int(n)) for k, n in REGISTER.findall(plain))
        self.reuse = plain.count('.reuse')


def chip_of(cubin):
    """As src/sass/cubin_view.cpp has it."""
    data = pathlib.Path(cubin).read_bytes()
    flags = int.from_bytes(data[0x30:0x34], 'little')
    return (flags >> 8 if data[8] >= 8 else flags) & 0xff


def samples_of(cubin, nvdisasm):
    """All instructions of a cubin, in the order of nvdisasm's text."""
    ended = subprocess.run([nvdisasm, '-c', '-hex', str(cubin)], capture_output=True, text=True)
    if ended.returncode != 0: return
    chip, section, first = chip_of(cubin), '', None
    for line in ended.stdout.splitlines():
        if found := LINE.match(line):
            first = found
        elif first and (found := SECOND.match(line)):
            bits = int(found[1], 16) << 64 | int(first[3], 16)
            yield Sample(section, int(first[1], 16), bits, chip, first[2])
            first = None
        elif found := SECTION.match(line):
            section = found[1]
