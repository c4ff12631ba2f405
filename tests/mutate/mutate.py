#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants small faults in the C++ sources, one at a time, and counts what the tests notice.

usage: mutate.py [LAYER] [N] [--seed S] [--own] [--again] [--report] [--record FILE]

N (20) faults are drawn of the places in src/LAYER or templates/, or of all layers. In a copy of the working tree, in
build/mutate, each is compiled into the layer's test program, which is run; if it passes, into all other tests, which are
run, too, until one fails. A fault that does not compile is replaced by another. Seed and sources determine the draw, and
what the record has is not tried again, so a run that was stopped goes on where it was.

  --seed S       0 to 2^64 - 1; by default 1
  --own          ask the layer's own tests only
  --again        try those of the record again that the layer's own tests did not notice; those whose line is gone leave it
  --report       only print what the record has
  --record FILE  by default tests/mutate/record.jsonl

A list of the faults that the layer's own tests did not notice, then a table, go to stdout; progress goes to stderr.
This is about the C++ sources; tests/oracle/mutate.py does the like with specs/.
"""
import argparse
import os
import pathlib
import signal
import sys
import time

import checkout
import faults
import judge
import programs
import record
from checkout import Stop

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Stop(2, message)


def layers(root):
    return sorted(path.name for path in (root / 'src').iterdir() if path.is_dir()) + ['templates']


def places(root, chosen):
    """All places of these layers by id, each with its layer. What is compiled only where CUDA is absent is left out."""
    found = {}
    for layer in chosen:
        folder = root / ('templates' if layer == 'templates' else f'src/{layer}')
        for path in sorted([*folder.rglob('*.cpp'), *folder.rglob('*.hpp')]):
            if 'absent' in path.parts: continue
            name = str(path.relative_to(root))
            for place in faults.places(name, path.read_text()): found[place.id] = (layer, place)
    return found


def arguments(root, given):
    parser = Parser(prog='mutate', add_help=False, allow_abbrev=False)
    parser.add_argument('what', nargs='*')
    parser.add_argument('--seed', default='1')
    for name in ('--own', '--again', '--report', '--help'): parser.add_argument(name, action='store_true')
    parser.add_argument('--record', type=pathlib.Path, default=HERE / 'record.jsonl')
    options = parser.parse_args(given)
    options.layer, options.count = None, None
    words = list(options.what)
    if words and not words[0].lstrip('+-').isdigit():
        options.layer = words.pop(0)
        if options.layer not in layers(root):
            raise Stop(2, f"no layer is named '{options.layer}'; these are: {', '.join(layers(root))}")
    if words: options.count = whole(words.pop(0), 'N', 1, 10**6)
    if words: raise Stop(2, f"what is '{words[0]}'? A layer, then a number of faults, is all")
    options.seed = whole(options.seed, '--seed', 0, 2**64 - 1)
    if not options.record.parent.is_dir(): raise Stop(2, f'--record: there is no folder {options.record.parent}')
    if options.again and options.count: raise Stop(2, '--again takes no number: it tries all that were not noticed')
    return options


def whole(text, name, least, most):
    if not (text.isascii() and text.lstrip('-').isdigit() and least <= int(text[:30]) <= most):
        raise Stop(2, f"{name} is a whole number from {least} to {most}, not '{text[:40]}'")
    return int(text)


def entry_of(root, layer, place, after, seed):
    _, line = faults.planted((root / place.file).read_text(), place, after)
    return {'id': faults.rank(place.id, after)[:12], 'place': place.id, 'seed': seed, 'layer': layer, 'file': place.file,
            'line': place.line, 'column': place.column, 'before': place.before, 'after': after, 'was': place.was, 'is': line}


class Run:
    def __init__(self, options, root=ROOT):
        self.options, self.root = options, root
        try:
            self.record = record.Record(options.record)
            self.explanations = record.Explanations(HERE / 'equivalent.json')
        except (ValueError, KeyError, OSError) as error:
            raise Stop(2, str(error)) from None
        self.places = places(root, [options.layer] if options.layer else layers(root))
        self.drawn = []  # ids of the record's entries
        self.judge = None

    def draw(self):
        """Entries in the order of the draw. Another seed is another order and other replacements."""
        seed = self.options.seed
        for id in sorted(self.places, key=lambda id: faults.rank(seed, id)):
            layer, place = self.places[id]
            yield entry_of(self.root, layer, place, place.fault(seed), seed)

    def plant(self):
        count = self.options.count or 20
        if not self.places: raise Stop(2, f'{self.options.layer} has no C++ sources to plant a fault in')
        if count > len(self.places): raise Stop(2, f'there are {len(self.places)} places for a fault, fewer than {count}')
        draw, missing = self.draw(), count
        while missing > 0:
            batch = [entry for entry, _ in zip(draw, range(missing))]
            if not batch: return
            # By layer, for its tests to be built once; what the compiler refuses is made up for in the next round.
            for entry in sorted(batch, key=lambda entry: entry['layer']):
                if entry['id'] not in self.record.entries: self.try_one(entry, f'{count - missing + 1}/{count}')
                if entry['id'] not in self.record.entries: continue
                self.drawn.append(entry['id'])
                missing -= self.record.entries[entry['id']]['outcome'] != 'refused'

    def plant_again(self):
        wanted = [entry for entry in self.record.entries.values()
                  if entry['outcome'] in ('others', 'survived', 'unasked') and self.options.layer in (None, entry['layer'])]
        for number, old in enumerate(wanted, 1):
            if old['place'] not in self.places:
                say(f'{old["file"]}: the line is gone, and the fault with it: {old["was"]}')
                self.record.drop(old['id'])
                continue
            layer, place = self.places[old['place']]
            self.try_one(entry_of(self.root, layer, place, old['after'], old['seed']), f'{number}/{len(wanted)}')
            self.drawn.append(old['id'])

    def try_one(self, entry, which):
        self.judge = self.judge or self.prepare()
        if why := self.judge.untested(entry['layer']):
            if self.options.layer: raise Stop(3, why)
            return say(f'{which} {entry["file"]}: {why}; another is drawn')
        start, place = time.monotonic(), self.places[entry['place']][1]
        say(f'{which} {entry["file"]}:{entry["line"]}:{entry["column"]}  {entry["is"]}')
        mutant, _ = faults.planted((self.root / place.file).read_text(), place, entry['after'])
        explanation = self.explanations.of(entry)
        outcome, by = self.judge.judge(entry['layer'], place.file, mutant, self.options.own or explanation is not None)
        if explanation and outcome == 'unasked':
            outcome = 'equivalent'
        elif explanation:
            say(f'  it is explained to change nothing ({explanation}), which is wrong')
        if by: entry['by'] = by
        if outcome == 'equivalent': entry['explanation'] = explanation
        entry.update(outcome=outcome, revision=self.revision, seconds=round(time.monotonic() - start, 1))
        self.record.add(entry)
        say(f'  {record.OUTCOMES[outcome]}{": " + by if by else ""} ({entry["seconds"]:.0f} s)')

    def prepare(self):
        scratch = self.root / 'build/mutate'
        jobs = int(os.environ.get('PTXLOOM_JOBS') or os.cpu_count() or 1)
        copy = checkout.Copy(self.root, scratch, jobs)
        self.revision = checkout.revision(self.root)
        say(f'copying the working tree to {copy.tree} and configuring it')
        digest = copy.update()
        copy.configure()
        return judge.Judge(copy, programs.find(copy), self.record, digest, scratch / 'seconds.json', say)

    def report(self):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # who reads no further wants no more
        entries = list(self.record.entries.values()) if self.options.report else [
            self.record.entries[id] for id in self.drawn if id in self.record.entries]
        entries = [entry for entry in entries if self.options.layer in (None, entry['layer'])]
        if listing := record.unnoticed(entries): print(listing + '\n')
        print(record.table(entries), flush=True)


def say(message):
    print(message, file=sys.stderr, flush=True)


def interrupted(*_):
    raise KeyboardInterrupt


def main(given):
    try:
        options = arguments(ROOT, given)
        if options.help:
            print(__doc__.strip())
            return 0
        run = Run(options)
        signal.signal(signal.SIGTERM, interrupted)
        try:
            if not options.report: run.plant_again() if options.again else run.plant()
        except KeyboardInterrupt:
            say(f'stopped; what was found is in {options.record}, and the same command goes on from there')
            run.report()
            return 130
        run.report()
        return 0
    except Stop as stop:
        say(f'mutate: {stop}')
        return stop.code


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
