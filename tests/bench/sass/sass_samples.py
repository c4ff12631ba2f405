# SPDX-License-Identifier: Apache-2.0
"""Instructions of cubins, and the text that nvdisasm gives them."""
import pathlib
import re
import struct
import subprocess
import tempfile

LINE = re.compile(r'^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;?\s*/\* 0x[0-9a-f]{16} \*/\s*$')
ILLEGAL = re.compile(r'at address (0x[0-9a-f]+)')
TEXT = re.compile(r'^(?:@(!?)(U?P)(\d|T)\s+)?([A-Z][A-Z0-9_]*)((?:\.[A-Za-z0-9_]+)*)\s*(.*)$')
REGISTER = re.compile(r'(?<![A-Za-z0-9_$.])(UR|UP|R|P|B|SB)(\d+)(?![A-Za-z0-9_])')


class Sample:
    """One instruction: its 128 bits, its chip and its text in parts."""

    def __init__(self, bits, chip, text):
        self.bits, self.chip, self.text = bits, chip, text
        found = TEXT.match(text)
        self.known = found is not None
        if not found: return
        negated, kind, number, self.name, self.modifiers, operands = found.groups()
        self.guard = kind or ''
        # Strings such as a symbol's name are no operands.
        self.operands = re.sub(r"`\([^)]*\)", '', operands)
        self.registers = tuple((k, int(n)) for k, n in REGISTER.findall(self.operands))
        self.reuse = self.operands.count('.reuse')


def code_of(cubin):
    """The chip, and all instructions as numbers; the places in the file are those of src/sass/cubin/cubin_view.cpp."""
    data = pathlib.Path(cubin).read_bytes()
    flags, = struct.unpack_from('<I', data, 0x30)
    table, = struct.unpack_from('<Q', data, 0x28)
    count, names = struct.unpack_from('<HH', data, 0x3c)
    sections = [struct.unpack_from('<IIQQQQIIQQ', data, table + 64 * i) for i in range(count)]
    words = []
    for name, kind, _, _, offset, size, *_ in sections:
        at = sections[names][4] + name
        if kind != 1 or data[at:at + 6] != b'.text.': continue
        words += [int.from_bytes(data[i:i + 16], 'little') for i in range(offset, offset + size - 15, 16)]
    return (flags >> 8 if data[8] >= 8 else flags) & 0xff, words


def samples_of(words, chip, nvdisasm):
    """Samples of those words that the chip has; a duplicate counts once."""
    words = list(dict.fromkeys(words))
    if not words: return []
    name = f'SM{chip}' + ('a' if chip >= 90 else '')
    with tempfile.NamedTemporaryFile(suffix='.bin') as file:
        while words:
            file.seek(0)
            file.truncate()
            file.write(b''.join(word.to_bytes(16, 'little') for word in words))
            file.flush()
            ended = subprocess.run([nvdisasm, '-hex', '-b', name, file.name], capture_output=True, text=True)
            illegal = {int(at, 16) // 16 for at in ILLEGAL.findall(ended.stderr + ended.stdout)}
            if not illegal: break
            words = [word for i, word in enumerate(words) if i not in illegal]
        if ended.returncode != 0: raise RuntimeError(ended.stderr[:500])
    samples = []
    for line in ended.stdout.splitlines():
        if found := LINE.match(line):
            sample = Sample(words[int(found[1], 16) // 16], chip, found[2])
            if sample.known: samples.append(sample)
    return samples
