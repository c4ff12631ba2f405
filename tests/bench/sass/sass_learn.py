#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Derives specs/sass/encodings.json from machine code and the text that nvdisasm gives it.

    sass_learn.py --nvdisasm PATH [--keep FILE] -o specs/sass/encodings.json CUBIN|FOLDER...

The cubins are best made of PTX in which one instruction varies at a time: tests/bench/sass/sass_corpus.cpp writes it. Of each
instruction that they have, copies are made in which single bits differ. All instructions with the same low 12 bits are
then looked at together. Of the places where chips keep the number of a register, those are taken that hold, in every
instruction, the number that the text has in one place, or that of a register that texts leave out. Where no choice of
places explains all instructions, they are divided by one more bit, or by chip.
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

# Kind, first bit, bits; all bits set: the register that is always 0, or the predicate that is always true, if the kind
# has one.
PLACES = ([('R', at, 8) for at in (16, 24, 32, 64, 40)] +
          [('UR', at, width) for at in (24, 32, 64, 16, 40, 48) for width in (6, 8)] +
          [('P', at, 3) for at in (81, 84, 87, 77, 68, 16, 24, 32, 64, 91)] +
          [('UP', at, 3) for at in (81, 84, 87, 77, 68, 16, 24, 32, 64, 91)] +
          [('B', at, width) for at in (16, 24) for width in (4, 5)] + [('SB', at, 3) for at in range(16, 64)])
# Bits that tell encodings apart: not those of registers, guard, immediates and control codes.
SPLITS = [67] + list(range(72, 105))  # 67: whether the last predicate of PLOP3 is uniform
CHANGED = list(range(12, 40)) + list(range(64, 105))
REAL, FORM_COPIES, COPIES = 24, 8, 12  # of each shape of text: instructions, those with another form, those with a changed bit
MOST = 900             # samples of an opcode
REAL_WEIGHT = 8        # a real instruction counts as many changed ones
DEEPEST = 7
TRIED = 10             # bits of those that best tell what is explained from what is not
FORMS = 9              # the first of three bits of the opcode that say where its operands come from
OPCODE = (1 << FORMS) - 1
KEPT = 122             # the first of the bits that say which operands are kept
UNIFORM = 91           # most instructions with a uniform register have this bit


def look(sample):
    """What each place holds; None: a register that texts leave out."""
    sample.held = []
    for kind, at, width in PLACES:
        value = sample.bits >> at & (1 << width) - 1
        # Barriers and scoreboards have none that reads as zero.
        zero = value == (1 << width) - 1 and kind not in ('B', 'SB')
        sample.held.append(None if zero else (kind, value))


def shown(sample, places):
    held = sample.held
    return tuple(held[place] for place in places if held[place] is not None)


def distinct(places):
    """Whether no two places are the same bits; a predicate may lie in the bits of a register."""
    return len({(PLACES[p][0] in ('P', 'UP'), PLACES[p][1]) for p in places}) == len(places)


def weight(samples):
    return sum(s.weight for s in samples)


def explained(samples, places):
    return sum(s.weight for s in samples if shown(s, places) == s.registers)


def assign(samples):
    """Places, in the order of the text, that give the registers of as many samples as possible; and of how many."""
    kinds = collections.Counter()
    for sample in samples: kinds[tuple(kind for kind, _ in sample.registers)] += sample.weight
    usual = [kind for kind, _ in kinds.most_common(3)]
    if (longest := max(kinds, key=len)) not in usual: usual.append(longest)
    best = [], -1
    for kind in usual:
        alike = [s for s in samples if tuple(k for k, _ in s.registers) == kind]
        places = extended(samples, from_one(samples, max(alike, key=lambda s: (s.weight, len(set(s.registers))))))
        if places[1] > best[1]: best = places
        if best[1] == weight(samples): break
    return best


def extended(samples, places):
    """With the registers that the sample's text has left out, for which places were chosen first."""
    good, most = explained(samples, places), weight(samples)
    while good < most:
        kinds = {kind for s in samples if shown(s, places) != s.registers for kind, _ in s.registers}
        tried = [places[:at] + [place] + places[at:] for place in range(len(PLACES)) if PLACES[place][0] in kinds
                 for at in range(len(places) + 1)]
        better = max((t for t in tried if distinct(t)), key=lambda t: explained(samples, t), default=places)
        if explained(samples, better) <= good: break
        places, good = better, explained(samples, better)
    return places, good


def from_one(samples, one):
    """Places that give the registers of one sample, and of most others with them."""
    choices = []
    for register in one.registers:
        fit = []
        for place in range(len(PLACES)):
            if one.held[place] != register: continue
            good = sum(s.weight for s in samples if s.held[place] is None or s.held[place] in s.registers)
            fit.append((-good, place))
        if not fit: return []
        choices.append([place for _, place in sorted(fit)[:3]])
    best, most, all_weight = [], -1, weight(samples)
    for places in itertools.islice(itertools.product(*choices), 100):
        if not distinct(places): continue
        good = explained(samples, places)
        if good > most: best, most = list(places), good
        if good == all_weight: break
    return best


def best_row(samples):
    """How many samples one row would explain, and the row: its name, its places."""
    names = collections.Counter()
    for sample in samples: names[sample.name] += sample.weight
    name = names.most_common(1)[0][0]
    places, good = assign([s for s in samples if s.name == name])
    return good, name, places


def is_high(sample, split):
    kind, at = split
    return sample.bits >> at & 1 if kind == 'bit' else sample.chip >= at


def telling(samples, name, places):
    """Splits, those first whose high half has most of what the row explains, or least."""
    well = [s.weight * (s.name == name and shown(s, places) == s.registers) for s in samples]
    bad = [0 if w else s.weight for s, w in zip(samples, well)]
    found = []
    for split in [('bit', at) for at in SPLITS] + [('chip', chip) for chip in sorted({s.chip for s in samples})[1:]]:
        high = [bool(is_high(s, split)) for s in samples]
        if all(high) or not any(high): continue
        shares = [sum(w for h, w in zip(high, weights) if h) / max(1, sum(weights)) for weights in (well, bad)]
        found.append((-abs(shares[0] - shares[1]), split))
    return [split for _, split in sorted(found)[:TRIED]]


def divide(samples, conditions, rows, depth=0):
    """Adds rows that explain these samples, which fulfil the conditions."""
    good, name, places = best_row(samples)
    if good < weight(samples) and depth < DEEPEST:
        best = None
        for split in telling(samples, name, places):
            halves = [[s for s in samples if bool(is_high(s, split)) == half] for half in (False, True)]
            gain = sum(best_row(half)[0] for half in halves) - good
            if gain > 0 and (best is None or gain > best[0]): best = gain, split, halves
            if best and best[0] + good == weight(samples): break
        if best:
            for half in (0, 1): divide(best[2][half], conditions + [(best[1], half)], rows, depth + 1)
            return
    rows.append((conditions, name, places, samples, good))


def guard_of(name, samples):
    """The kind of predicate that guards it; where none was seen to, that of other instructions of its unit."""
    kinds = collections.Counter(s.guard for s in samples if s.guard)
    if kinds: return kinds.most_common(1)[0][0]
    return 'UP' if name.startswith('U') else 'P'


def reuses(samples):
    """Whether bits 122 to 125 are what they are in most instructions."""
    real = [s for s in samples if s.weight > 1] or samples
    return sum((s.bits >> KEPT & 15).bit_count() == s.reuse for s in real) > len(real) * 0.9


def keepers(real, chip, nvdisasm):
    """By opcode, whether the text shows one of the bits 122 to 125, set in copies, at any operand."""
    copies = [s.bits & ~(15 << KEPT) | 1 << KEPT + at for s in real for at in range(4)]
    marked = collections.defaultdict(bool)
    for copy in sass_samples.samples_of(copies, chip, nvdisasm): marked[copy.bits & 0xfff] |= copy.reuse > 0
    return marked


def with_marks(line, marked):
    """The row of an opcode, with the column `reuse` as its instructions show it."""
    key, chips, bits, name, guard, _, *registers = line.split(' ')
    return ' '.join([key, chips, bits, name, guard, 'reuse' if marked[int(key, 16)] else '-', *registers])


def text_of(key, row):
    conditions, name, places, samples, _ = row
    first, last, bits = 0, 999, []
    for (kind, at), high in conditions:
        if kind == 'bit': bits.append(f'{at}={high}')
        elif high: first = max(first, at)
        else: last = min(last, at - 1)
    chips = '-' if (first, last) == (0, 999) else f'{first or ""}..{last if last < 999 else ""}'
    registers = ' '.join(f'{kind}{at}:{width}' for kind, at, width in (PLACES[p] for p in places))
    return (f'{key:03x} {chips} {",".join(bits) or "-"} {name} {guard_of(name, samples)} '
            f'{"reuse" if reuses(samples) else "-"} {registers}').rstrip()


def shape_of(sample):
    return (sample.bits & 0xfff, sample.chip, sample.name, sample.modifiers, sample.guard,
            sass_samples.REGISTER.sub(r'\1#', sample.operands)[:60])


def some_of_each_shape(samples, most):
    kept = collections.defaultdict(list)
    for sample in random.sample(samples, len(samples)):
        if len(kept[shape_of(sample)]) < most: kept[shape_of(sample)].append(sample)
    return [sample for some in kept.values() for sample in some]


def changed(samples):
    """Copies in which a bit or two differ."""
    copies = []
    for sample in samples:
        for bit in random.sample(CHANGED, 4):
            copies.append(sample.bits ^ 1 << bit ^ (1 << random.choice(CHANGED) if random.random() < 0.3 else 0))
    return copies


def other_forms(samples, known):
    """Copies with other opcodes and with operands from other places: registers, uniform registers, immediates."""
    some, copies = collections.defaultdict(list), []
    for sample in random.sample(samples, len(samples)):
        if len(some[sample.bits & OPCODE]) < 8: some[sample.bits & OPCODE].append(sample.bits)
    for opcode in range(OPCODE + 1):
        bodies = some[opcode] or [sample.bits for sample in random.sample(samples, min(len(samples), 8))]
        for form in range(8):
            key = form << FORMS | opcode
            if key not in known: copies += [bits & ~0xfff | key for body in bodies for bits in (body, body ^ 1 << UNIFORM)]
    return copies


def gather(cubins, nvdisasm, known):
    """Samples by the low 12 bits, which opcodes of known rows can keep operands, and how many instructions there are."""
    words, marked, total = collections.defaultdict(dict), {}, 0
    for cubin in cubins:
        chip, code = sass_samples.code_of(cubin)
        total += len(code)
        words[chip].update(dict.fromkeys(code))
    groups = collections.defaultdict(list)
    for chip in sorted(words):
        real = some_of_each_shape(sass_samples.samples_of(words[chip], chip, nvdisasm), REAL)
        forms = some_of_each_shape(sass_samples.samples_of(other_forms(real, known), chip, nvdisasm), FORM_COPIES)
        fresh = [s for s in real + forms if s.bits & 0xfff not in known]
        copies = some_of_each_shape(sass_samples.samples_of(changed(fresh), chip, nvdisasm), COPIES)
        for sample in real + forms + copies:
            if sample.bits & 0xfff in known: continue
            sample.weight = 1
            look(sample)
            groups[sample.bits & 0xfff].append(sample)
        for sample in real: sample.weight = REAL_WEIGHT
        seen = keepers([s for s in real if s.bits & 0xfff in known], chip, nvdisasm)
        for key, shows in seen.items(): marked[key] = shows or marked.get(key, False)
        print(f'chip {chip}: {len(words[chip])} different instructions, {len(real)} of them and '
              f'{len(forms) + len(copies)} changed ones are kept', flush=True)
    return groups, marked, total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--nvdisasm', required=True)
    parser.add_argument('-o', '--output', required=True)
    parser.add_argument('--keep', type=pathlib.Path, help='a file made before: of its opcodes only the column reuse is looked at again')
    parser.add_argument('paths', nargs='+', type=pathlib.Path)
    arguments = parser.parse_args()
    random.seed(1)
    cubins = [cubin for path in arguments.paths for cubin in (sorted(path.rglob('*.cubin')) if path.is_dir() else [path])]
    lines = json.loads(arguments.keep.read_text())['encodings'][1:] if arguments.keep else []
    groups, marked, total = gather(cubins, arguments.nvdisasm, {int(line[:3], 16) for line in lines})
    lines = [with_marks(line, marked) if int(line[:3], 16) in marked else line for line in lines]
    good, all_kept = 0, 0
    for key in sorted(groups):
        samples = groups[key]
        if len(samples) > MOST:  # instructions of real code first
            real = [s for s in samples if s.weight > 1]
            other = [s for s in samples if s.weight == 1]
            real = random.sample(real, min(len(real), MOST * 2 // 3))
            samples = real + random.sample(other, min(len(other), MOST - len(real)))
        rows = []
        divide(samples, [], rows)
        lines += [text_of(key, row) for row in rows]
        good += sum(row[4] for row in rows)
        all_kept += weight(samples)
    document = {'about': 'Made by tests/bench/sass/sass_learn.py; README.md of this folder explains the columns.',
                'encodings': ['opcode chips bits name guard reuse registers'] + sorted(lines, key=lambda l: l[:3])}
    pathlib.Path(arguments.output).write_text(json.dumps(document, indent=1) + '\n')
    print(f'{len(cubins)} cubins, {total} instructions, {len(groups)} opcodes, {len(lines)} rows; '
          f'{100 * good / all_kept:.2f} % of the samples by weight are explained')


if __name__ == '__main__':
    main()
