#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows where mutate.py plants faults and where not, how it judges, what it keeps, and what it answers to bad input."""
import contextlib
import io
import json
import pathlib
import signal
import sys
import tempfile
import unittest

import checkout
import faults
import judge
import mutate
import processes
import programs
import record

# A line, and what stands at each of its places with all that may replace it.
PLANTED = [
    ('if (a < b) x = 1;', [('<', ['<=', '>=']), ('1', ['2', '0'])]),
    ('if (a < b) return;', [('a < b', ['!(a < b)']), ('<', ['<=', '>='])]),
    ('if (int i = f(); i) continue;', [('i', ['!(i)'])]),
    ('if (auto* p = f()) return;', []),
    ('while (!done && n-- != 0u) ++i;', [('!', ['']), ('&&', ['||']), ('--', ['++']), ('!=', ['==']), ('0u', ['1u']),
                                         ('++', ['--'])]),
    ('x = -y - 0x1F;', [('-', ['']), ('-', ['+']), ('0x1F', ['0x20', '0x1e'])]),
    ("x += 1'000ull;", [('+=', ['-=']), ("1'000ull", ['1001ull', '999ull'])]),
    ('x = y << 3 | z;', [('<<', ['>>']), ('3', ['4', '2']), ('|', ['&'])]),
    ('bool b = true;', [('true', ['false'])]),
    ('x = a * *b;', [('*', ['/', '+'])]),
    ('x = 0.5 + 1e-3;', [('+', ['-'])]),
    ('return f(a[i], -1);', [('-', ['']), ('1', ['2', '0'])]),
    ('std::array<int, 4> a = f<3>(1);', [('1', ['2', '0'])]),
    ('std::vector<std::vector<int>> v(2);', [('2', ['3', '1'])]),
    ('static_assert(sizeof(T) == 4);', []),
    ('template <typename T, int N = 4>', []),
    ('virtual int f() const = 0;', []),
    ('bool operator<(const A& a) const noexcept(true);', []),
    ('void f(T&& a, const T* b, T& c);', []),
    ('[[nodiscard, gnu::aligned(8)]] int f();', []),
    ('names.reserve(n + 1);', []),
    ('// a < b', []),
    ('/* a < b */ f("a < b", \'<\', R"x(1 < 2)")x");', []),
    ('#if A < 2', []),
    ('#define F(a) \\\n  (a < 1)', []),
]

SOURCE = 'int f(int a) {\n  if (a < 2) return a;\n  return a + 1;\n}\n'


def choices(text):
    return [(place.before, list(place.options)) for place in faults.places('f.cpp', text)]


class Faults(unittest.TestCase):
    def test_places(self):
        for text, expected in PLANTED:
            with self.subTest(text):
                self.assertEqual(choices(text), expected)

    def test_each_fault_changes_its_place_alone(self):
        for place in faults.places('f.cpp', SOURCE):
            for after in place.options:
                mutant, line = faults.planted(SOURCE, place, after)
                self.assertEqual(mutant, SOURCE[:place.start] + after + SOURCE[place.start + len(place.before):])
                self.assertIn(line, mutant)
                self.assertNotEqual(line, place.was)

    def test_ids_outlive_a_change_elsewhere(self):
        ids = [place.id for place in faults.places('f.cpp', SOURCE)]
        self.assertEqual(len(set(ids)), len(ids))
        self.assertEqual([place.id for place in faults.places('f.cpp', '// new\n\n' + SOURCE)], ids)
        self.assertEqual([place.line for place in faults.places('f.cpp', '\n' + SOURCE)], [3, 3, 3, 4, 4])

    def test_equal_lines_have_ids_of_their_own(self):
        ids = [place.id for place in faults.places('f.cpp', SOURCE + SOURCE)]
        self.assertEqual(len(set(ids)), len(ids))

    def test_the_seed_decides(self):
        place = faults.places('f.cpp', SOURCE)[1]
        self.assertEqual({place.fault(seed) for seed in range(64)}, set(place.options))
        self.assertEqual(place.fault(7), place.fault(7))


class FakeCopy:
    """A tree of one file, of which every program is built."""

    def __init__(self, outcomes=()):
        self.text, self.outcomes = 'sound', dict(outcomes)

    def read(self, file): return self.text
    def write(self, file, text): self.text = text
    def build(self, targets, planted=True): return self.outcomes.get(targets[0], 'built') if self.text != 'sound' else 'built'


class FakeProgram:
    """Its runs with a fault fail as `failures` says, one after the other; those without as `always`."""
    guess = 60

    def __init__(self, copy, name, failures=(), always=False):
        self.copy, self.name, self.targets, self.failures, self.always = copy, name, [name], list(failures), always
        self.asked = 0

    def run(self, limit, case=None):
        failure = programs.Failure(self.name, 'a case', 'fails')
        if self.copy.text == 'sound': return (failure if self.always else None), 1.0
        self.asked += 1
        return (failure if self.failures and self.failures.pop(0) else None), 1.0


class Judge(unittest.TestCase):
    def verdict(self, own=(), other=(), outcomes=(), always=False, only_own=False):
        with tempfile.TemporaryDirectory() as folder:
            copy = FakeCopy(outcomes)
            self.own, self.other = FakeProgram(copy, 'test_ir', own), FakeProgram(copy, 'test_text', other, always)
            judging = judge.Judge(copy, {p.name: p for p in (self.own, self.other)}, record.Record(pathlib.Path(folder, 'r')),
                                  'digest', pathlib.Path(folder, 'seconds'), lambda message: None)
            self.assertEqual(judging.untested('ir'), '')
            outcome = judging.judge('ir', 'f.cpp', 'mutant', only_own)
            self.assertEqual(copy.text, 'sound')
            return outcome

    def test_own_tests_notice(self):
        self.assertEqual(self.verdict(own=[True, True], other=[True, True]), ('own', 'test_ir: a case fails'))
        self.assertEqual(self.other.asked, 0)

    def test_a_layer_without_sound_tests(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = FakeCopy()
            judging = judge.Judge(copy, {'test_ir': FakeProgram(copy, 'test_ir', always=True)}, None, 'digest',
                                  pathlib.Path(folder, 'seconds'), lambda message: None)
            self.assertIn('test_ir', judging.untested('ir'))
            self.assertIn('test_text', judging.untested('text'))

    def test_others_notice(self):
        self.assertEqual(self.verdict(other=[True, True]), ('others', 'test_text: a case fails'))

    def test_nobody_notices(self):
        self.assertEqual(self.verdict(), ('survived', ''))
        self.assertEqual(self.other.asked, 1)

    def test_others_are_not_asked(self):
        self.assertEqual(self.verdict(other=[True, True], only_own=True), ('unasked', ''))

    def test_a_failure_that_does_not_come_again_does_not_count(self):
        self.assertEqual(self.verdict(own=[True, False, False]), ('survived', ''))

    def test_a_test_that_fails_anyway_does_not_count(self):
        self.assertEqual(self.verdict(other=[True, True], always=True), ('survived', ''))

    def test_the_compiler_and_the_build(self):
        self.assertEqual(self.verdict(outcomes={'test_ir': 'refused'}), ('refused', ''))
        self.assertEqual(self.verdict(outcomes={'test_ir': 'failed'}), ('own', 'the build'))
        self.assertEqual(self.verdict(outcomes={'test_text': 'failed'}), ('others', 'the build'))

    def test_a_program_without_that_code_is_not_run(self):
        self.assertEqual(self.verdict(other=[True, True], outcomes={'test_text': 'same'}), ('survived', ''))
        self.assertEqual(self.other.asked, 0)


class Processes(unittest.TestCase):
    def run_python(self, *scripts, limit=60):
        return processes.run([[sys.executable, '-c', script] for script in scripts], '.', limit)

    def test_ends(self):
        self.assertEqual(self.run_python('pass', 'pass').code, 0)
        failed = self.run_python('import time; time.sleep(60)', 'print("no"); exit(3)')
        self.assertEqual((failed.code, failed.output.strip(), failed.hung), (3, 'no', False))
        self.assertLess(failed.seconds, 30)
        self.assertEqual(self.run_python('import os; os.abort()').code, -signal.SIGABRT)

    def test_hangs(self):
        self.assertTrue(self.run_python('while True: pass', limit=0.5).hung)

    def test_memory_is_bounded(self):
        self.assertNotEqual(self.run_python(f'bytearray({processes.MEMORY + 2**20})').code, 0)


class Programs(unittest.TestCase):
    def test_found_before_anything_is_built(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = checkout.Copy(pathlib.Path(folder), pathlib.Path(folder, 'mutate'), 1)
            tests = copy.build_folder / 'tests'
            tests.mkdir(parents=True)
            (tests / 'test_base-b12d07c_include.cmake').touch()
            (tests / 'CTestTestfile.cmake').write_text(
                f'add_test([=[a b]=] "python" "-B" "{tests}/program" "1")\n'
                'set_tests_properties([=[a b]=] PROPERTIES  LABELS "mpi" SKIP_RETURN_CODE "4" TIMEOUT "600")\n'
                'add_test([=[format]=] "dev" "format")\nset_tests_properties([=[format]=] PROPERTIES  LABELS "format")\n')
            found = programs.find(copy)
            self.assertEqual(set(found), {'test_base', 'a b'})
            plain = found['a b']
            self.assertEqual((plain.command, plain.targets, plain.allowed, plain.limit),
                             (['python', '-B', f'{tests}/program', '1'], ['tests/program'], (0, 4), 600))
            copy.lock.close()

    def test_every_layer_has_tests(self):
        folders = {path.name for path in (mutate.ROOT / 'tests').iterdir()}
        for layer in mutate.layers(mutate.ROOT):
            if not mutate.places(mutate.ROOT, [layer]): continue
            self.assertIn(programs.own(layer).removeprefix('test_').split(':')[0], folders)


class Records(unittest.TestCase):
    def entry(self, id, outcome, layer='ir'):
        return {'id': id, 'layer': layer, 'file': 'f', 'line': 1, 'column': 1, 'was': 'a', 'is': 'b', 'outcome': outcome}

    def test_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, 'r.jsonl')
            kept = record.Record(path)
            for id, outcome in (('2', 'own'), ('1', 'survived'), ('2', 'others')): kept.add(self.entry(id, outcome))
            self.assertEqual([json.loads(line)['id'] for line in path.read_text().splitlines()], ['1', '2'])
            self.assertEqual(record.Record(path).entries, kept.entries)
            path.write_text(path.read_text() + 'garbage\n')
            with self.assertRaisesRegex(ValueError, 'r.jsonl:3 '): record.Record(path)

    def test_shares(self):
        outcomes = ['own'] * 6 + ['others'] * 2 + ['survived'] * 2 + ['equivalent', 'refused']
        text = record.table([self.entry(str(i), outcome) for i, outcome in enumerate(outcomes)])
        self.assertEqual(text.splitlines()[1].split(), 'ir 11 6 2 2 0 1 60.0 % 80.0 %'.split())
        self.assertIn('1 more did not compile', text)

    def test_explanations_are_of_faults_that_can_be_planted(self):
        """Not of their line: others change it without knowing."""
        for row in json.loads((mutate.HERE / 'equivalent.json').read_text()):
            self.assertEqual(set(row), {'file', 'was', 'is', 'why'})
            self.assertNotEqual(row['was'], row['is'])
            self.assertGreater(len(row['why']), 20, row)

    def test_the_record_can_be_read(self):
        for entry in record.Record(mutate.HERE / 'record.jsonl').entries.values():
            self.assertIn(entry['layer'], mutate.layers(mutate.ROOT))
            self.assertEqual('explanation' in entry, entry['outcome'] == 'equivalent')


class Arguments(unittest.TestCase):
    def refused(self, *given):
        with contextlib.redirect_stderr(io.StringIO()) as output: code = mutate.main(list(given))
        self.assertEqual((code, output.getvalue().count('\n')), (2, 1), given)
        return output.getvalue()

    def test_bad_input(self):
        self.assertIn('these are: api, base', self.refused('bases'))
        for number in ('0', '-5', 'x', '1.5', '1e3', '9' * 50): self.assertIn('N is a whole number', self.refused('base', number))
        self.assertIn('places for a fault', self.refused('base', '100000'))
        for seed in ('-1', 'x', '', str(2**64)): self.assertIn('--seed', self.refused(f'--seed={seed}'))
        self.assertIn('--seed', self.refused('--seed'))
        self.assertIn("'4'", self.refused('base', '3', '4'))
        self.assertIn('--many', self.refused('--many'))
        self.assertIn('no folder', self.refused('--record', '/nowhere/r.jsonl', '--report'))
        self.assertIn('--again', self.refused('--again', '3'))

    def test_the_draw_is_that_of_its_seed(self):
        with tempfile.TemporaryDirectory() as folder:
            draws = []
            for seed in ('1', '1', '2'):
                options = mutate.arguments(mutate.ROOT, ['target', '--seed', seed, '--record', f'{folder}/r'])
                draws.append([entry['place'] for entry, _ in zip(mutate.Run(options).draw(), range(20))])
            self.assertEqual(draws[0], draws[1])
            self.assertNotEqual(draws[0], draws[2])


if __name__ == '__main__':
    unittest.main()
