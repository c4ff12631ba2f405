#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Derives specs/sass/encodings.json from machine code and its text.

    sass_learn.py --nvdisasm PATH -o specs/sass/encodings.json CUBIN|FOLDER...

The cubins are best made of PTX in which one instruction varies at a time: tests/bench/sass_corpus.cpp writes it. All
instructions with the same low 12 bits are looked at together. Of the places where chips keep the number of a register,
those are taken that hold, in every instruction, the number that the text has in one place, or that of a register that
texts leave out. Where no choice of places explains all instructions, they are divided by one more bit, or by chip.
"""
import argparse
import collections
import itertools
import json
import pathlib
import random
import sys

sys.dont_write_bytecode = True
import sass_samples

# Kind, first bit, bits; all bits set: the register that is always 0, or the predicate that is always true.
PLACES = ([('R', at, 8) for at in (16, 24, 32, 64, 40)] +
          [('UR', at, width) for at in (16, 24, 32, 64, 40, 48) for width in (6, 8)] +
          [('P', at, 3) for at in (81, 84, 87, 77, 68, 16, 24, 32, 64, 91)] +
          [('UP', at, 3) for at in (81, 84, 87, 77, 68, 16, 24, 32, 64, 91)] +
          [('B', at, width) for at in (16, 24) for width in (4, 5)] + [('SB', at, 3) for at in (44, 32, 24, 16)])
# Bits that tell encodings apart: not those of registers, guard, immediates and control codes.
SPLITS = list(range(72, 105))
MOST_KEPT = 60  # samples of one shape of text
DEEPEST = 7


def value(bits, place):
    kind, at, width = place
    return bits >> at & (1 << width) - 1


def nothing(place):
    return (1 << place[2]) - 1


def shown(sample, places):
    """The registers that these places give."""
    return tuple((place[0], v) for place in places if (v := value(sample.bits, place)) != nothing(place))


def distinct(places):
    return len({(p[0] in ('P', 'UP'), p[1]) for p in places}) == len(places)


def explained(samples, places):
    return sum(shown(s, places) == s.registers for s in samples)


def assign(samples):
    """Places, in the order of the text, that give the registers of as many samples as possible; and of how many."""
    places, good = from_longest(samples)
    while good < len(samples):  # the longest text has left out a register that others have
        tried = [places[:at] + [place] + places[at:] for place in PLACES for at in range(len(places) + 1)]
        better = max((t for t in tried if distinct(t)), key=lambda t: explained(samples, t), default=places)
        if explained(samples, better) <= good: break
        places, good = better, explained(samples, better)
    return places, good


def from_longest(samples):
    longest = max(samples, key=lambda s: len(s.registers))
    choices = []
    for kind, number in longest.registers:
        fit = []
        for place in PLACES:
            if place[0] != kind or value(longest.bits, place) != number: continue
            good = sum(value(s.bits, place) == nothing(place) or (kind, value(s.bits, place)) in s.registers
                       for s in samples)
            if good >= len(samples) * 0.5: fit.append((-good, PLACES.index(place), place))
        if not fit: return [], 0
        choices.append([place for _, _, place in sorted(fit)[:4]])
    best, most = [], -1
    for places in itertools.islice(itertools.product(*choices), 3000):
        if not distinct(places): continue
        good = explained(samples, places)
        if good > most: best, most = list(places), good
        if good == len(samples): break
    return best, max(most, 0)


def score(samples):
    """How many samples one row would explain; and the row."""
    name = collections.Counter(s.name for s in samples).most_common(1)[0][0]
    own = [s for s in samples if s.name == name]
    places, good = assign(own)
    return good, name, places


def halves(samples, split):
    kind, at = split
    test = (lambda s: s.bits >> at & 1) if kind == 'bit' else (lambda s: s.chip >= at)
    return [s for s in samples if not test(s)], [s for s in samples if test(s)]


def divide(samples, conditions, rows, depth=0):
    """Adds rows that explain these samples, which fulfil the conditions."""
    good, name, places = score(samples)
    if good < len(samples) and depth < DEEPEST:
        chips = sorted({s.chip for s in samples})[1:]
        best = None
        for split in [('bit', at) for at in SPLITS] + [('chip', chip) for chip in chips]:
            low, high = halves(samples, split)
            if not low or not high: continue
            gain = score(low)[0] + score(high)[0] - good
            if gain > 0 and (best is None or gain > best[0]): best = gain, split, low, high
            if best and best[0] + good == len(samples): break
        if best:
            _, split, low, high = best
            divide(low, conditions + [(split, 0)], rows, depth + 1)
            divide(high, conditions + [(split, 1)], rows, depth + 1)
            return
    rows.append((conditions, name, places, samples, good))


def guard_of(name, samples):
    """The kind of predicate that guards it; where none was seen to, that of other instructions of its unit."""
    kinds = collections.Counter(s.guard[0] for s in samples if s.guard[0])
    if kinds: return kinds.most_common(1)[0][0]
    return 'UP' if name.startswith('U') else 'P'


def reuses(samples):
    """Whether bits 122 to 125 are what they are in most instructions."""
    return all((s.bits >> 122 & 15).bit_count() == s.reuse for s in samples)


def text_of(key, row):
    conditions, name, places, samples, _ = row
    first, last, bits = 0, 999, []
    for (kind, at), high in conditions:
        if kind == 'chip':
            if high: first = max(first, at)
            else: last = min(last, at - 1)
        else:
            bits.append(f'{at}={high}')
    chips = '-' if (first, last) == (0, 999) else f'{first or ""}..{last if last < 999 else ""}'
    registers = ' '.join(f'{kind}{at}:{width}' for kind, at, width in places)
    return (f'{key:03x} {chips} {",".join(bits) or "-"} {name} {guard_of(name, samples)} '
            f'{"reuse" if reuses(samples) else "-"} {registers}').rstrip()


def kept(cubins, nvdisasm):
    """By the low 12 bits: some samples of each shape of text and each chip."""
    groups, seen, total = collections.defaultdict(list), collections.Counter(), 0
    for cubin in cubins:
        for sample in sass_samples.samples_of(cubin, nvdisasm):
            total += 1
            if not sample.known: continue
            shape = (sample.bits & 0xfff, sample.chip, sample.name, sample.modifiers, sample.guard[0],
                     sass_samples.REGISTER.sub(r'\1#', sample.operands)[:60])
            seen[shape] += 1
            if seen[shape] <= MOST_KEPT: groups[sample.bits & 0xfff].append(sample)
    return groups, total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--nvdisasm', required=True)
    parser.add_argument('-o', '--output', required=True)
    parser.add_argument('paths', nargs='+', type=pathlib.Path)
    arguments = parser.parse_args()
    cubins = [cubin for path in arguments.paths for cubin in (sorted(path.rglob('*.cubin')) if path.is_dir() else [path])]
    groups, total = kept(cubins, arguments.nvdisasm)
    random.seed(1)
    lines, good, all_kept = [], 0, 0
    for key in sorted(groups):
        samples = groups[key]
        if len(samples) > 1500: samples = random.sample(samples, 1500)
        rows = []
        divide(samples, [], rows)
        lines += [text_of(key, row) for row in rows]
        good += sum(row[4] for row in rows)
        all_kept += len(samples)
    document = {'about': 'Made by tests/bench/sass_learn.py; see README.md of this folder.',
                'encodings': ['opcode chips bits name guard reuse registers'] + lines}
    pathlib.Path(arguments.output).write_text(json.dumps(document, indent=1) + '\n')
    print(f'{len(cubins)} cubins, {total} instructions, {len(groups)} opcodes, {len(lines)} rows; '
          f'of {all_kept} samples {100 * good / all_kept:.2f} % are explained')


if __name__ == '__main__':
    main()
