# SPDX-License-Identifier: Apache-2.0
"""What became of each fault: one JSON object a line. Explanations of those that change nothing are written by people."""
import json
import os

# A fault's outcome, in the order of the table.
OUTCOMES = {
    'own': "noticed by the layer's own tests",
    'others': 'by other tests only',
    'survived': 'by no test',
    'unasked': 'not by its own, others not asked',
    'equivalent': 'changes nothing, as explained',
    'refused': 'refused by the compiler, another drawn instead',
}
COUNTED = ('own', 'others', 'survived', 'unasked')


class Record:
    def __init__(self, path):
        self.path, self.entries = path, {}
        if not path.exists(): return
        for number, line in enumerate(path.read_text().splitlines(), 1):
            try:
                entry = json.loads(line)
                self.entries[entry['id']] = entry
                OUTCOMES[entry['outcome']]
            except (ValueError, KeyError, TypeError):
                raise ValueError(f'{path}:{number} is no entry of a record') from None

    def add(self, entry):
        self.entries[entry['id']] = entry
        self.save()

    def drop(self, id):
        del self.entries[id]
        self.save()

    def save(self):
        """As a whole, in order, so that two runs differ by what they found."""
        order = lambda entry: (entry['layer'], entry['file'], entry['line'], entry['column'], entry['id'])
        temporary = self.path.with_suffix('.new')
        temporary.write_text(''.join(json.dumps(entry) + '\n' for entry in sorted(self.entries.values(), key=order)))
        os.replace(temporary, self.path)

    def noticed(self, layer, program):
        """How many faults of a layer this program noticed after its own did not."""
        return sum(entry['layer'] == layer and entry.get('by', '').startswith(program) and entry['outcome'] == 'others'
                   for entry in self.entries.values())


class Explanations:
    """equivalent.json: objects of `file`, `was` (the line), `is` (the line with the fault) and `why` that changes nothing."""

    def __init__(self, path):
        self.rows = {}
        for row in json.loads(path.read_text()) if path.exists() else []:
            self.rows[row['file'], row['was'], row['is']] = row['why']

    def of(self, entry):
        return self.rows.get((entry['file'], entry['was'], entry['is']))


def share(part, whole):
    return f'{100 * part / whole:.1f} %' if whole else '-'


def table(entries):
    """By layer: how many faults were planted, who noticed them, and the two shares."""
    rows = [('layer', 'planted', 'own', 'others', 'survived', 'unasked', 'equivalent', 'own %', 'all %')]
    layers = sorted({entry['layer'] for entry in entries})
    for layer in [*layers, 'all']:
        here = [entry['outcome'] for entry in entries if layer in ('all', entry['layer'])]
        n = {outcome: here.count(outcome) for outcome in OUTCOMES}
        counted = sum(n[outcome] for outcome in COUNTED)
        rows.append((layer, counted + n['equivalent'], n['own'], n['others'], n['survived'], n['unasked'], n['equivalent'],
                     share(n['own'], counted), share(n['own'] + n['others'], counted)))
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    lines = ['  '.join(str(cell).ljust(w) if i == 0 else str(cell).rjust(w) for i, (cell, w) in enumerate(zip(row, widths)))
             for row in rows]
    refused = sum(entry['outcome'] == 'refused' for entry in entries)
    return '\n'.join([*lines, f'{refused} more did not compile and do not count; the shares leave out the equivalent ones'])


def unnoticed(entries):
    """One line for each fault that its layer's own tests did not notice."""
    lines = []
    for entry in entries:
        if entry['outcome'] in ('own', 'equivalent', 'refused'): continue
        by = f' ({entry["by"]})' if entry.get('by') else ''
        lines.append(f'{entry["file"]}:{entry["line"]}:{entry["column"]}: {entry["outcome"]}{by}\n'
                     f'  was: {entry["was"]}\n  is:  {entry["is"]}')
    return '\n'.join(lines)
