# SPDX-License-Identifier: Apache-2.0
"""A copy of the working tree, and what is built of it. Faults are planted there, never in the tree itself."""
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess

import processes

# Optimised a little: less takes longer to run, more takes longer to compile. An `&&` beside `||` is a fault that people
# plant, though not without parentheses; what ccache has is the same with that warning or without.
QUIET = '-Wno-parentheses'
FLAGS = ['-D', f'CMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG {QUIET}', '-D', 'CMAKE_UNITY_BUILD=OFF']
CCACHE = {'CCACHE_IGNOREOPTIONS': QUIET}
BUILD_LIMIT = 3600  # seconds; the whole project takes less on two cores


class Stop(Exception):
    """Ends the run with this exit code and one line of explanation."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def git(root, *arguments):
    ended = subprocess.run(['git', '-C', root, *arguments], capture_output=True)
    if ended.returncode != 0: raise Stop(2, f'git {arguments[0]}: {ended.stderr.decode().strip()}')
    return ended.stdout.decode()


def revision(root):
    return git(root, 'rev-parse', '--short=10', 'HEAD').strip() + ('+' if git(root, 'status', '--porcelain') else '')


class Copy:
    def __init__(self, root, scratch, jobs):
        self.root, self.tree, self.temporary, self.jobs = root, scratch / 'tree', scratch / 'tmp', jobs
        self.build_folder = self.tree / 'build'
        scratch.mkdir(parents=True, exist_ok=True)
        self.lock = open(scratch / 'lock', 'w')
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Stop(2, f'another run is at work in {scratch}: wait for it') from None

    def update(self):
        """Makes the copy what the working tree is; returns a digest of all that programs and their tests are made of. A file
        that is the same keeps its time, so that it is not compiled again."""
        digest = hashlib.sha256()
        names = set(git(self.root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard').split('\0')) - {''}
        names = {name for name in names if (self.root / name).is_file()}
        for folder, folders, files in os.walk(self.tree):
            if pathlib.Path(folder) == self.tree and 'build' in folders: folders.remove('build')
            for file in files:
                path = pathlib.Path(folder, file)
                if str(path.relative_to(self.tree)) not in names: path.unlink()
        for name in sorted(names):
            path, content = self.tree / name, (self.root / name).read_bytes()
            if not name.startswith(('docs/', 'tests/mutate/')): digest.update(f'{name} {len(content)}\n'.encode() + content)
            if path.is_file() and path.read_bytes() == content: continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            shutil.copymode(self.root / name, path)
        return digest.hexdigest()

    def configure(self):
        if (self.build_folder / 'build.ninja').exists(): return
        headers = ['-D', f'PTXLOOM_CUDA_INCLUDE={os.environ["CUDA_HOME"]}/include'] if 'CUDA_HOME' in os.environ else []
        ended = processes.run([['cmake', '--preset', 'release', *FLAGS, *headers]], self.tree, BUILD_LIMIT)
        if ended.code != 0: raise Stop(3, f'configuring the copy failed:\n{ended.output}')

    def read(self, file):
        return (self.tree / file).read_text()

    def write(self, file, text):
        (self.tree / file).write_text(text)

    def build(self, targets, planted=True):
        """'built', 'same' where nothing was to be done, 'refused' by the compiler, or 'failed': a program that is built on
        the way, as that which compiles specs/, failed. With a fault planted, nothing goes into ccache."""
        environment = dict(os.environ, **CCACHE, **({'CCACHE_READONLY': '1'} if planted else {}))
        ended = processes.run([['ninja', '-C', 'build', f'-j{self.jobs}', *targets]], self.tree, BUILD_LIMIT, environment)
        if ended.code == 0: return 'same' if 'no work to do' in ended.output else 'built'
        if not planted: raise Stop(1, f'the sources do not build as they are:\n{ended.output[-4000:]}')
        outputs = re.findall(r'^FAILED: (?:\[[^]]*\] )?(\S+)', ended.output, re.MULTILINE)
        compiled = outputs and all(output.endswith('.o') and '/generated/' not in output for output in outputs)
        return 'refused' if compiled and not ended.hung else 'failed'

    def environment(self):
        """Of a test: a fault in what deletes or overwrites files finds an empty home."""
        shutil.rmtree(self.temporary, ignore_errors=True)
        home = self.temporary / 'home'
        home.mkdir(parents=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith('XDG_')}
        return dict(kept, HOME=str(home), TMPDIR=str(self.temporary))

    def run(self, commands, limit, allowed, added={}):
        return processes.run(commands, self.tree, limit, dict(self.environment(), **added), allowed)
