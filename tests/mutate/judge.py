# SPDX-License-Identifier: Apache-2.0
"""Plants a fault in the copy and asks the tests: the layer's own first, then all others that are made of its code."""
import json

import programs


class Judge:
    def __init__(self, copy, tests, record, digest, times_file, say):
        self.copy, self.tests, self.record, self.say = copy, tests, record, say
        self.digest, self.times_file = digest, times_file
        self.times = {}  # seconds of each program that passes without a fault
        if times_file.exists():
            stored = json.loads(times_file.read_text())
            if stored['digest'] == digest: self.times = stored['seconds']
        self.unsound = set()  # programs that fail without one

    def untested(self, layer):
        """Why the layer's own tests say nothing here, or ''."""
        name = programs.own(layer)
        if name not in self.tests: return f'{name}, which tests {layer}, cannot be built on this machine'
        return '' if self.sound(self.tests[name]) else f'{name}, which tests {layer}, does not pass without a fault'

    def sound(self, program):
        """Whether the program passes without a fault. Asked once."""
        if program.name in self.times: return True
        if program.name in self.unsound: return False
        self.say(f'{program.name} without a fault')
        self.copy.build(program.targets, planted=False)
        failure, seconds = program.run(programs.LIMIT)
        if failure:
            self.say(f'{failure}, without a fault: it is not asked')
            self.unsound.add(program.name)
            return False
        self.times[program.name] = seconds
        self.times_file.write_text(json.dumps({'digest': self.digest, 'seconds': self.times}))
        return True

    def limit(self, program):
        """Ten times what it takes, and half a minute: nothing that is merely slow on a busy machine hangs."""
        return min(30 + 10 * self.times[program.name], programs.LIMIT) if program.name in self.times else programs.LIMIT

    def failure(self, program):
        """What the program says of the fault that is planted: a failure that is there twice."""
        limit = self.limit(program)
        found, _ = program.run(limit)
        if found is None or found.how == 'hangs': return found
        again, _ = program.run(limit, found.case or None)
        return found if again else program.run(limit)[0]

    def judge(self, layer, file, mutant, only_own):
        """(outcome, by whom) of the fault that makes `mutant` of the file, which is of a layer that is not untested()."""
        own, original = self.tests[programs.own(layer)], self.copy.read(file)
        try:
            self.copy.write(file, mutant)
            built = self.copy.build(own.targets)
            if built == 'refused': return 'refused', ''
            if built == 'failed': return 'own', 'the build'
            if built == 'built' and (found := self.failure(own)): return 'own', str(found)
            return ('unasked', '') if only_own else self.ask_others(layer, own, file, original, mutant)
        finally:
            self.copy.write(file, original)

    def ask_others(self, layer, own, file, original, mutant):
        for program in sorted((p for p in self.tests.values() if p is not own), key=lambda p: self.cost(layer, p)):
            if program.name in self.unsound: continue
            built = self.copy.build(program.targets)
            if built == 'refused': return 'refused', ''
            if built == 'failed': return 'others', 'the build'
            if built == 'same': continue
            self.say(f'  asks {program.name}')
            if (found := self.failure(program)) is None: continue
            self.copy.write(file, original)
            if self.sound(program): return 'others', str(found)
            self.copy.write(file, mutant)
        return 'survived', ''

    def cost(self, layer, program):
        """Seconds for a fault that it notices, going by the record. What was never timed is taken to be slow."""
        return self.times.get(program.name, program.guess) / (0.5 + self.record.noticed(layer, program.name)), program.name
