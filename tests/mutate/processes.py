# SPDX-License-Identifier: Apache-2.0
"""Runs programs that may do anything, a fault being planted in them: bounded in time, memory and what they write."""
import dataclasses
import os
import resource
import signal
import subprocess
import tempfile
import time

MEMORY = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') // 4
WRITTEN = 2 << 30  # bytes of one file


@dataclasses.dataclass(frozen=True)
class Ended:
    code: int  # of the first that failed, else of the first; negative: a signal
    output: str  # of that one
    hung: bool
    seconds: float


def bound():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (WRITTEN, WRITTEN))


def end(process):
    """And all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run(commands, folder, limit, environment=None, allowed=(0,)):
    """Runs the commands side by side until one ends with a code that is not allowed, or all have ended."""
    start, running = time.monotonic(), []
    seconds = lambda: time.monotonic() - start
    try:
        for command in commands:
            output = tempfile.TemporaryFile()
            running.append((subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                             stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=bound), output))
        left = list(running)
        while left:
            for process, output in left:
                code = process.poll()
                if code is None: continue
                if code not in allowed: return Ended(code, text(output), False, seconds())
                left.remove((process, output))
                break
            else:
                if seconds() > limit: return Ended(-signal.SIGKILL, text(left[0][1]), True, seconds())
                time.sleep(0.02)
        return Ended(running[0][0].returncode, text(running[0][1]), False, seconds())
    finally:
        for process, output in running:
            end(process)
            output.close()


def text(output):
    output.seek(0)
    return output.read().decode(errors='replace')
