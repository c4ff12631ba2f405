#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks the specs on purpose, one place at a time, and counts what the tests notice without the golden counts.

A mutant is a file of specs with one form changed: a row or a value dropped, a value added, two cells swapped, a version
shifted, a target changed, an operand's type, count or flag changed. One that says the same of every line, target and
version as the form it came from (test_oracle --digest) is equivalent, and not counted. The others are to be noticed by
the lint of the reader, or by `test_oracle --form NAME --uses`: variants, neighbours, instructions of real code.

usage: mutate.py TEST_ORACLE [--count N] [--seed N] [--jobs N] [--only FORM,...] [--since PTX] [--missed FILE] [--toolkit V]

--since 9.1: the forms that `test_oracle --since 9.1 --list` names, those that need this PTX version or a later one.
"""
import argparse
import collections
import concurrent.futures
import copy
import functools
import json
import pathlib
import random
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSIONS = json.loads((ROOT / 'specs/targets.json').read_text())['ptx']
TARGETS = [row.split()[0] for row in json.loads((ROOT / 'specs/targets.json').read_text())['targets'][1:]]
CLASSES = {name: words.split() for name, words in json.loads((ROOT / 'specs/words.json').read_text())['classes'].items()}
TYPES = ['b8', 'b16', 'b32', 'b64', 'b128', 'pred']


def cells(row):
    return row.split()


def joined(row):
    return ' '.join(row)


class Mutator:
    """Changes one place of a form; each method gives a description, or None where there is no such place."""

    def __init__(self, form, rng):
        self.form, self.rng = form, rng

    def tables(self):
        return [t for t in self.form.get('tables', []) + self.form.get('lax', []) if len(t) > 1]

    def drop_row(self):
        table = self.pick([t for t in self.tables() if len(t) > 2])
        return table and 'row ' + joined(cells(table.pop(self.rng.randrange(1, len(table)))))

    def places(self, wanted):
        """(container, key, cell index, text) of every cell, set and modifier that `wanted` likes."""
        found = []
        for table in self.tables():
            for i in range(1, len(table)):
                for j, cell in enumerate(cells(table[i])):
                    if cells(table[0])[j] != 'need' and wanted(cell): found.append((table, i, j, cell))
        for field in ('mods', 'sets'):
            for key, cell in self.form.get(field, {}).items():
                if wanted(cell) and ':' not in cell.replace('::', ''): found.append((self.form[field], key, None, cell))
        return found

    def replace(self, place, text):
        container, key, index, old = place
        if index is None:
            container[key] = text
        else:
            row = cells(container[key])
            row[index] = text
            container[key] = joined(row)
        return f'{old} to {text}'

    def drop_value(self):
        place = self.pick(self.places(lambda cell: '|' in cell and not cell.startswith('!')))
        if not place: return None
        values = place[3].split('|')
        values.pop(self.rng.randrange(len(values)))
        return self.replace(place, '|'.join(values))

    def add_value(self):
        def others(cell):
            words = [v.strip('()?') for v in cell.split('|')]
            return [w for group in CLASSES.values() if set(group) & set(words) for w in group if w not in words]
        place = self.pick(self.places(lambda cell: cell[0] not in '!*=@' and others(cell)))
        return place and self.replace(place, place[3] + '|' + self.pick(others(place[3])))

    def swap_cells(self):
        table = self.pick([t for t in self.tables() if len(t) > 2])
        if not table: return None
        a, b = self.rng.sample(range(1, len(table)), 2)
        one, other = cells(table[a]), cells(table[b])
        columns = [j for j in range(min(len(one), len(other))) if one[j] != other[j]]
        if not columns: return None
        j = self.pick(columns)
        one[j], other[j] = other[j], one[j]
        table[a], table[b] = joined(one), joined(other)
        return f'{cells(table[0])[j]}: {other[j]} with {one[j]}'

    def needs(self):
        """(container, key, cell index, text) of every need."""
        found = [(self.form, 'need', None, self.form['need'])] if self.form.get('need') else []
        found += [(self.form['needs'], key, None, text) for key, text in self.form.get('needs', {}).items()]
        for table in self.tables():
            if 'need' not in cells(table[0]): continue
            j = cells(table[0]).index('need')
            found += [(table, i, j, cells(table[i])[j]) for i in range(1, len(table)) if len(cells(table[i])) > j]
        return [place for place in found if re.search(r'\d', place[3])]

    def shift_version(self):
        place = self.pick([p for p in self.needs() if re.search(r'(?:^|[:|])\d+\.\d', p[3])])
        if not place: return None
        match = self.pick(list(re.finditer(r'(?:(?<=[:|-])|^)\d+\.\d', place[3])))
        at = VERSIONS.index(match[0]) if match[0] in VERSIONS else 0
        to = VERSIONS[min(len(VERSIONS) - 1, max(0, at + self.pick([-1, 1])))]
        return self.replace(place, place[3][:match.start()] + to + place[3][match.end():])

    def change_target(self):
        place = self.pick([p for p in self.needs() if 'sm_' in p[3]])
        if not place: return None
        match = self.pick(list(re.finditer(r'sm_\d+[af]?', place[3])))
        at = TARGETS.index(match[0]) if match[0] in TARGETS else 0
        near = [t for t in TARGETS[max(0, at - 3):at + 4] if t != match[0]]
        return self.replace(place, place[3][:match.start()] + self.pick(near) + place[3][match.end():])

    def change_operand(self):
        name = self.pick(list(self.form.get('ops', {})))
        if not name: return None
        text = self.form['ops'][name]
        changes = []
        for match in re.finditer(r'\b(?:b|u|s|f)(?:8|16|32|64|128)\b|\bpred\b', text):
            for other in TYPES:
                if other != match[0]: changes.append(text[:match.start()] + other + text[match.end():])
        for match in re.finditer(r'\[(\d+)\]', text):
            changes.append(text[:match.start()] + f'[{int(match[1]) + 1}]' + text[match.end():])
        if '+' in text: changes.append(text.replace('+', ''))
        if text.endswith('_'): changes.append(text[:-1])
        if text.startswith('in '): changes.append('reg ' + text[3:])
        if text.startswith('reg '): changes.append('in ' + text[4:])
        if re.search(r' \?\w+$', text): changes.append(re.sub(r' \?\w+$', '', text))
        if re.match(r'(in|out|reg) [\w<>]+$', text): changes.append(text + '[2]')
        if not changes: return None
        self.form['ops'][name] = self.pick(changes)
        return f'{name}: {text} to {self.form["ops"][name]}'

    def pick(self, items):
        return self.rng.choice(items) if items else None


KINDS = ['drop_row', 'drop_value', 'add_value', 'swap_cells', 'shift_version', 'change_target', 'change_operand']


def own_sets(form, file):
    """The form with the sets and needs that it shares with its file, so that a mutant changes no other form."""
    form = copy.deepcopy(form)
    for field in ('needs', 'sets'):
        merged = {**file.get(field, {}), **form.get(field, {})}
        if field == 'sets':
            text, used = json.dumps({k: v for k, v in form.items() if k != 'sets'}), set()
            more = True
            while more:
                more = {k for k in merged if k not in used and re.search(rf'@{re.escape(k)}(?![\w?])', text)}
                used |= more
                text += ' '.join(merged[k] for k in more)
            merged = {k: v for k, v in merged.items() if k in used}
        if merged: form[field] = merged
    for field in ('need', 'test'):
        if field in file and field not in form: form[field] = file[field]
    return form


def run(program, folder, form, *more):
    return subprocess.run([*program, '--specs', folder, '--form', form, '--jobs', '1', '--show', '1', '--until-first', *more],
                          capture_output=True, text=True)


@functools.cache
def is_clean(program, form, seed):
    """Whether the form as it stands passes: else what a mutant of it fails says nothing."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, 'a.json').write_text(json.dumps({'forms': [json.loads(form)]}))
        return run(program, folder, json.loads(form)['form'], '--uses', '--seed', str(seed)).returncode == 0


def judge(program, form, mutant, seed):
    """'equivalent', 'missed', 'unclean', or who noticed: 'lint', 'uses', 'variants', 'neighbours'."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        pathlib.Path(one, 'a.json').write_text(json.dumps({'forms': [form]}))
        pathlib.Path(other, 'a.json').write_text(json.dumps({'forms': [mutant]}))
        before, after = run(program, one, form['form'], '--digest'), run(program, other, form['form'], '--digest')
        if before.returncode != 0: raise RuntimeError(f'{form["form"]}: {before.stderr}')
        if after.returncode != 0: return 'lint'
        if before.stdout == after.stdout: return 'equivalent'
        if not is_clean(program, json.dumps(form), seed): return 'unclean'
        out = run(program, other, form['form'], '--uses', '--seed', str(seed)).stdout
        for line in out.split('\n'):
            found = re.match(r'(\S+) +\d+ cases +([1-9]\d*) disagreements', line)
            if found and found[1].endswith('.txt'): return 'uses'
            if 'specs accept' in line or 'specs refuse' in line: return 'variants'
            if 'neighbour ' in line: return 'neighbours'
        return 'missed'


def chosen(options):
    """The names of the forms to change; none: all."""
    if not options.since: return options.only.split(',') if options.only else []
    listed = subprocess.run([options.program, '--since', options.since, '--list'], capture_output=True, text=True, check=True)
    return listed.stdout.split()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('program')
    parser.add_argument('--count', type=int, default=300)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--only', default='')
    parser.add_argument('--since')
    parser.add_argument('--missed', type=pathlib.Path)
    parser.add_argument('--toolkit', default='newest', help='whose ptxas judges: a release of CUDA that is in build/toolkits')
    options = parser.parse_args()
    rng = random.Random(options.seed)
    only = chosen(options)
    forms = [own_sets(form, file) for path in sorted((ROOT / 'specs/insn').glob('*.json'))
             for file in [json.loads(path.read_text())] for form in file['forms'] if not only or form['form'] in only]
    work = []
    while len(work) < options.count:
        form, kind = rng.choice(forms), rng.choice(KINDS)
        mutant = copy.deepcopy(form)
        what = getattr(Mutator(mutant, rng), kind)()
        if what: work.append((kind, form, mutant, what))
    results, missed = collections.defaultdict(collections.Counter), []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = {pool.submit(judge, (options.program, '--toolkit', options.toolkit), form, mutant, options.seed): (kind, form, what)
                   for kind, form, mutant, what in work}
        for future in concurrent.futures.as_completed(futures):
            (kind, form, what), verdict = futures[future], future.result()
            results[kind][verdict] += 1
            if verdict == 'missed': missed.append(f'{form["form"]}: {kind}: {what}')
            print(f'{verdict:11} {form["form"]}: {kind}: {what}', flush=True)
    columns = ['lint', 'variants', 'neighbours', 'uses', 'missed', 'equivalent']
    print('| mutation | ' + ' | '.join(columns) + ' | noticed |\n|' + '---|' * (len(columns) + 2))
    total = collections.Counter()
    for kind in KINDS: total += results[kind]
    for kind, counts in [*((k, results[k]) for k in KINDS), ('all', total)]:
        real = sum(counts[c] for c in columns) - counts['equivalent']
        noticed = f'{100 * (real - counts["missed"]) / real:.0f} %' if real else '-'
        print(f'| {kind.replace("_", " ")} | ' + ' | '.join(str(counts[c]) for c in columns) + f' | {noticed} |')
    if options.missed: options.missed.write_text('\n'.join(missed) + '\n')


main()
