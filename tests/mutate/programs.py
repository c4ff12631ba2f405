# SPDX-License-Identifier: Apache-2.0
"""The tests: Catch2 programs, and the scripts and programs that CTest knows by a command."""
import dataclasses
import re

# The tests that count as a layer's own, where that is not test_<layer>.
OWN = {'templates': 'test_gemm', 'worker': 'test_isolation', 'mpi': 'mpi: ranks tune together'}
# What these look at is no program, or not what a fault changes.
IGNORED_LABELS = {'format', 'layering', 'consumer', 'mutate'}
LIMIT = 1800  # seconds, of a program that was never timed


@dataclasses.dataclass(frozen=True)
class Failure:
    program: str
    case: str  # its name, or '' where the program died without naming one
    how: str  # 'fails', 'hangs', 'crashes' or, of a program of one case, 'is skipped'

    def __str__(self):
        return f'{self.program}: {self.case} {self.how}' if self.case else f'{self.program} {self.how}'


class Catch:
    """A program of many cases."""
    guess = 60  # seconds

    def __init__(self, copy, name, folder):
        self.copy, self.name, self.path, self.targets = copy, name, folder / name, [name]

    def run(self, limit, case=None):
        """The first failure, or None; and the seconds it took."""
        command = [str(self.path), '--abort', '--order', 'decl', '--reporter', 'xml']
        if case is None:
            commands = [command + ['--shard-count', str(self.copy.jobs), '--shard-index', str(i)] for i in range(self.copy.jobs)]
        else:
            commands = [command + [re.sub(r'([\\,\[\]"*~])', r'\\\1', case)]]
        ended = self.copy.run(commands, limit, (0, 4))
        if ended.code in (0, 4): return None, ended.seconds
        names = re.findall(r'<TestCase name="([^"]*)"', ended.output)
        how = 'hangs' if ended.hung else 'crashes' if ended.code < 0 else 'fails'
        return Failure(self.name, unescaped(names[-1]) if names else '', how), ended.seconds


class Plain:
    """A test of one command."""
    guess = 300

    def __init__(self, copy, name, command, properties):
        self.copy, self.name, self.command = copy, name, command
        self.allowed = (0, int(properties.get('SKIP_RETURN_CODE', 0)))
        self.limit = float(properties.get('TIMEOUT', LIMIT))
        self.added = dict(entry.split('=', 1) for entry in properties.get('ENVIRONMENT', '').split(';') if entry)
        prefix = f'{copy.build_folder}/'
        self.targets = [part[len(prefix):] for part in command if part.startswith(prefix)]

    def run(self, limit, case=None):
        ended = self.copy.run([self.command], min(limit, self.limit), self.allowed, self.added)
        how = 'hangs' if ended.hung else 'crashes' if ended.code < 0 else 'is skipped' if ended.code in self.allowed else 'fails'
        return (None if ended.code == 0 else Failure(self.name, '', how)), ended.seconds


def unescaped(text):
    for entity, character in (('&lt;', '<'), ('&gt;', '>'), ('&quot;', '"'), ('&amp;', '&')):
        text = text.replace(entity, character)
    return text


def find(copy):
    """All tests by name, from what CMake wrote: before anything is built, CTest itself does not know the commands."""
    found = {}
    for path in sorted(copy.build_folder.glob('tests/**/test_*_include.cmake')):
        name = re.fullmatch(r'(test_\w+)-\w+_include\.cmake', path.name)
        if name: found[name[1]] = Catch(copy, name[1], path.parent)
    for path in sorted(copy.build_folder.glob('**/CTestTestfile.cmake')):
        text = path.read_text()
        properties = {name: quoted_pairs(line) for name, line in
                      re.findall(r'^set_tests_properties\(\[=\[(.*?)]=] PROPERTIES (.*)\)$', text, re.MULTILINE)}
        for name, command in re.findall(r'^add_test\(\[=\[(.*?)]=] (.*)\)$', text, re.MULTILINE):
            known = properties.get(name, {})
            if not IGNORED_LABELS & set(known.get('LABELS', '').split(';')):
                found[name] = Plain(copy, name, re.findall(r'"([^"]*)"', command), known)
    return found


def quoted_pairs(text):
    return dict(re.findall(r'(\w+) "([^"]*)"', text))


def own(layer):
    return OWN.get(layer, f'test_{layer}')
