#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tunes with several ranks on this machine.

    mpi_test.py BUILD_FOLDER TUNE_RANK [unittest's arguments]

Exits 4, and says why, where there is no mpirun, or ptxloom was built without MPI.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from components import exit_without

BUILD, TUNE_RANK = pathlib.Path(sys.argv[1]), sys.argv[2]
TOOL = str(BUILD / "ptxloom")
GEMM = ["tune", "gemm", "--set", "m=16", "n=8", "k=32", "--device", "cpu"]


def mpirun(count):
    command = ["mpirun", "-n", str(count)]
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
    if "Open MPI" in version:
        command += ["--oversubscribe", "--bind-to", "none"] + (["--allow-run-as-root"] if os.getuid() == 0 else [])
    return command


def processes():
    """Of this user: {pid: environment}."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit():
                found[int(entry.name)] = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            pass
    return found


class Ranks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.records = self.folder / "records"
        self.environment = dict(os.environ, PTXLOOM_RECORDS=str(self.records),
                                PTXLOOM_CACHE_DIR=str(self.folder / "cache"))

    def run_ranks(self, count, command):
        return subprocess.run(mpirun(count) + command, capture_output=True, text=True, timeout=300,
                              env=self.environment)

    def lines(self):
        return [line for file in self.records.glob("*.jsonl") for line in file.read_text().splitlines()]

    def test_three_ranks_with_given_times_end_with_the_same_record(self):
        done = self.run_ranks(3, [TUNE_RANK, str(self.records), "10000"])
        self.assertEqual(done.returncode, 0, done.stderr)
        told = sorted((json.loads(line) for line in done.stdout.splitlines()), key=lambda one: one["rank"])
        self.assertEqual([one["rank"] for one in told], [0, 1, 2])
        for one in told:
            self.assertEqual(one["record"], told[0]["record"])
        self.assertEqual(told[0]["record"]["config"], {"x": "7", "y": "11"})
        self.assertAlmostEqual(told[0]["record"]["time_us"], 50)
        self.assertEqual(told[0]["record"]["evaluations"], 300)
        self.assertEqual(sum(told[0]["shares"]), 300)
        for share in told[0]["shares"]:
            self.assertGreater(share, 50)
        self.assertEqual([json.loads(line) for line in self.lines()], [told[0]["record"]])

    def tune_until_rank_1(self, came, environment=()):
        """Rank 0 waits for nobody: where rank 1 came too late, a longer search, until `came` holds of its device."""
        for evaluations in (40, 400, 4000):
            shutil.rmtree(self.records, ignore_errors=True)
            tune = [TOOL] + GEMM + ["--budget", f"{evaluations}evals", "--json"]
            done = self.run_ranks(1, tune + [":", "-n", "1", "env", *environment] + tune)
            self.assertEqual(done.returncode, 0, done.stderr)
            result = json.loads(done.stdout)  # one object: rank 0 alone speaks
            self.assertEqual(result["evaluations"], evaluations)
            self.assertEqual([one["rank"] for one in result["devices"]], [0, 1], done.stderr)
            if came(result["devices"][1]):
                break
        return result

    def test_two_ranks_share_one_device_in_turns(self):
        result = self.tune_until_rank_1(lambda device: device["evaluations"] > 2)
        self.assertEqual([one["left_out"] for one in result["devices"]], [None, None])
        self.assertEqual(result["devices"][0]["name"], result["devices"][1]["name"])
        self.assertGreater(result["devices"][1]["evaluations"], 2)
        self.assertEqual([json.loads(line) for line in self.lines()], [result["record"]])

    def test_a_rank_whose_worker_does_not_start_is_left_out_and_told_by_rank_0(self):
        result = self.tune_until_rank_1(lambda device: device["left_out"]["code"] != "rank-late",
                                        ["PTXLOOM_WORKER=/none"])
        self.assertIsNone(result["devices"][0]["left_out"])
        self.assertEqual(result["devices"][1]["left_out"]["code"], "no-worker")

    def test_what_is_wrong_for_all_is_said_once(self):
        done = self.run_ranks(2, [TOOL] + GEMM + ["--set", "tile_m=16", "warps_m=8"])
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stderr.count("no-configuration"), 1, done.stderr)

    def test_when_a_rank_is_killed_the_job_ends_and_says_so_and_what_was_found_is_kept(self):
        self.records.mkdir()
        run = subprocess.Popen(mpirun(2) + [TOOL] + GEMM + ["--budget", "120"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=self.environment)
        mark = b"PTXLOOM_RECORDS=" + str(self.records).encode()
        seen = ""
        while seen.count(" best ") < 60 or not any(" us  best " in line for line in seen.splitlines()):
            line = run.stderr.readline()
            self.assertTrue(line, seen)
            seen += line
        victims = [pid for pid, environment in processes().items()
                   if mark in environment and b"OMPI_COMM_WORLD_RANK=1" in environment
                   and pathlib.Path(f"/proc/{pid}/exe").resolve().name == "ptxloom"]
        if not victims:
            run.kill()
            self.skipTest("this MPI is not Open MPI, which tells ranks by their environment")
        os.kill(victims[0], signal.SIGKILL)
        begin = time.monotonic()
        out, err = run.communicate(timeout=60)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertNotEqual(run.returncode, 0)
        self.assertRegex(out + err, r"(?i)rank 1.*(killed|signal 9)|signal 9")
        kept = [json.loads(line) for line in self.lines()]
        self.assertEqual(len(kept), 1, err)
        self.assertGreaterEqual(kept[0]["evaluations"], 60)
        time.sleep(1)
        left = [pid for pid, environment in processes().items() if mark in environment]
        self.assertEqual(left, [])


def main():
    if shutil.which("mpirun") is None:
        return exit_without("mpi", "there is no mpirun (Debian: apt-get install openmpi-bin)")
    if not (BUILD / "libexec/ptxloom-mpi.so").exists():
        return exit_without("mpi", "ptxloom was built without MPI (Debian: apt-get install libopenmpi-dev)")
    return 0 if unittest.main(argv=sys.argv[:1] + sys.argv[3:], exit=False, verbosity=2).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
