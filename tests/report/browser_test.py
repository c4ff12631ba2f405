#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Uses the page of `tune --report` in a headless Chromium and holds what it shows against the results.

    browser_test.py WRITE_REPORT TUNE_JSON_SCHEMA [--keep FOLDER]

Exits 4 (skipped) where there is no Chromium; PTXLOOM_CHROMIUM names one. --keep leaves the pages, and screenshots
of them, in a folder to be looked at.
"""
import decimal
import html
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import sample_results as sample

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent / "support"))
from components import exit_without

BROWSERS = ["chromium", "chromium-browser", "google-chrome", "chrome", "chrome-headless-shell"]
# Errors are caught from the first line of the page on.
CATCH = """<script>const errors = [];
addEventListener("error", (event) => errors.push(String(event.message)));
addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => errors.push(`it loads ${event.blockedURI}`));
for (const kind of ["error", "warn"]) console[kind] = (...words) => errors.push(words.join(" "));
</script>"""


def find_browser():
    named = os.environ.get("PTXLOOM_CHROMIUM")
    return named or next(filter(None, map(shutil.which, BROWSERS)), None)


def run_browser(page, *options, profile):
    command = [find_browser(), "--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
               f"--user-data-dir={profile}", "--virtual-time-budget=20000", *options, page.as_uri()]
    if os.geteuid() == 0:
        command.insert(1, "--no-sandbox")
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=True).stdout


def disagreement(value, schema, where="$"):
    """Why a value is not what a schema says, or None; knows the words that docs/json uses."""
    types = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
    if "anyOf" in schema:
        return min((disagreement(value, one, where) or "" for one in schema["anyOf"]), key=len) or None
    if "const" in schema and value != schema["const"] or "enum" in schema and value not in schema["enum"]:
        return f"{where}: {value!r}"
    kind = schema.get("type")
    if kind == "null" and value is not None or kind in types and (
            not isinstance(value, types[kind]) or isinstance(value, bool) != (kind == "boolean")):
        return f"{where}: {value!r} is no {kind}"
    if isinstance(value, dict):
        known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        for name in schema.get("required", []):
            if name not in value:
                return f"{where}: lacks {name}"
        for name, member in value.items():
            if name not in known and more is False:
                return f"{where}: has {name}"
            rule = known.get(name, more)
            if isinstance(rule, dict) and (why := disagreement(member, rule, f"{where}.{name}")):
                return why
    if isinstance(value, list) and "items" in schema:
        return next(filter(None, (disagreement(v, schema["items"], f"{where}[{i}]") for i, v in enumerate(value))), None)
    return None


def shown(value):
    """A figure as the page writes it, in at least four digits; a time of 10,000 us and more is in ms.

    The page rounds as JavaScript does, the shortest decimal of the value and ties away from zero: 401.45 is 401.5."""
    value = value / 1000 if value >= 10000 else value
    digits = 0 if value >= 1000 else 1 if value >= 100 else 2 if value >= 10 else 3
    return f"{decimal.Decimal(repr(value)).quantize(decimal.Decimal(1).scaleb(-digits), decimal.ROUND_HALF_UP):,}"


class Report(unittest.TestCase):
    """Each test writes a page of made-up results, uses it, and looks at what it showed."""
    writer = schema = keep = None

    @classmethod
    def setUpClass(cls):
        cls.seed = random.SystemRandom().randrange(2**31)
        print(f"seed {cls.seed}")
        cls.folder = tempfile.TemporaryDirectory(prefix="ptxloom-report-")
        cls.schema = json.loads(pathlib.Path(cls.schema).read_text(encoding="utf-8"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def page(self, name, *results):
        folder = pathlib.Path(self.folder.name)
        files = []
        for i, one in enumerate(results):
            self.assertIsNone(disagreement(one, self.schema), name)
            files.append(folder / f"{name}{i}.json")
            files[-1].write_text(json.dumps(one, indent=1) + "\n", encoding="utf-8")
        return subprocess.run([self.writer, *files], capture_output=True, text=True, encoding="utf-8", check=True).stdout

    def use(self, name, *results, options=()):
        folder = pathlib.Path(self.folder.name)
        text = self.page(name, *results)
        page = folder / f"{name}.html"
        if self.keep:
            self.take_pictures(name, text)
        page.write_text(text.replace("<head>", f"<head>{CATCH}", 1).replace(
            "</body>", f"<script>{(HERE / 'observe.js').read_text(encoding='utf-8')}</script></body>"), encoding="utf-8")
        dom = run_browser(page, "--dump-dom", "--window-size=1400,1000", *options, profile=folder / "profile")
        observed = re.search(r'<pre id="observed">(.*?)</pre>', dom, re.S)
        self.assertIsNotNone(observed, f"{name}: the script of the test did not end")
        seen = json.loads(html.unescape(observed[1]))
        self.assertEqual(seen["errors"], [], name)
        if results:
            self.assertEqual(seen["results"], json.loads(json.dumps(results)), name)
            self.assertEqual(seen["alerts"], 0, name)
            self.assertFalse(seen["wide"], f"{name}: the page is wider than the window")
        return seen

    def take_pictures(self, name, text):
        folder = pathlib.Path(self.keep)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
        for kind, options in {"light": [], "dark": ["--blink-settings=preferredColorScheme=0"], "narrow": []}.items():
            size = "500,3000" if kind == "narrow" else "1400,3000"
            run_browser(folder.resolve() / f"{name}.html", f"--screenshot={folder.resolve()}/{name}-{kind}.png",
                        f"--window-size={size}", *options, profile=pathlib.Path(self.folder.name) / "profile")

    def numbers_by(self, result, key):
        """Numbers of candidates in the order of a key, those without one last."""
        order = sorted(range(len(result["candidates"])), key=lambda i: key(result["candidates"][i]))
        return [i + 1 for i in order]

    def test_hundreds_of_candidates(self):
        made = sample.result(count=437, seed=self.seed)
        seen = self.use("ordinary", made)
        candidates = made["candidates"]
        self.assertEqual(seen["heading"], ["gemm on NVIDIA H200"])
        by_time = self.numbers_by(made, lambda c: c.get("time_us", float("inf")))
        self.assertEqual(seen["rows"], by_time)
        slowest = self.numbers_by(made, lambda c: -c["time_us"] if "time_us" in c else 0)
        self.assertEqual(seen["by_time_again"], slowest)
        self.assertEqual(seen["by_tile_m"], sorted((c["config"]["tile_m"] for c in candidates), key=int)[:len(seen["by_tile_m"])])
        self.assertEqual(len(seen["by_tile_m"]), len(candidates))
        number = lambda holds: {i + 1 for i, c in enumerate(candidates) if holds(c)}
        self.assertEqual(set(seen["tile_m_128"]), number(lambda c: c["config"]["tile_m"] == "128" and c["config"]["stages"] == "4"))
        self.assertEqual(set(seen["registers"]), number(lambda c: c["resources"]["registers"] < 100))
        self.assertEqual(seen["nothing"], [])
        self.assertEqual(set(seen.get("wrong", [])), number(lambda c: c["state"] == "wrong"))
        self.assertIn(f"verified {len(number(lambda c: c['state'] == 'measured'))}", seen["states"])
        self.assertEqual(seen["ptx"], made["winner"]["ptx"])

    def test_figures_and_pictures(self):
        made = sample.result(count=300, seed=self.seed + 1)
        seen = self.use("pictures", made)
        best = made["winner"]["time_us"]
        self.assertIn(shown(best), seen["figures"][0])
        self.assertIn(shown(2 * 4096**3 / best * 1e-6), seen["figures"][1])
        self.assertIn(f"{2 * 4096**3 / best * 1e6 / 1.07e15:.0%}"[:-1], seen["figures"][1])
        self.assertIn("of the peak, 1,070 TFLOP/s", seen["figures"][1])
        self.assertIn(shown(8 * 4096**2 / best * 1e-3), seen["figures"][2])
        ratio = made["baselines"][0]["time_us"] / best
        self.assertIn(f"{ratio:.{2 if ratio < 10 else 1}f}\u00d7", seen["figures"][3])
        self.assertIn("0.91\u00d7", seen["figures"][4])
        self.assertIn("0.908 to 0.913 in 24 rounds", seen["figures"][4])
        times = {"the winner": best, "the chip\u2019s limits": 139.0, **{b["name"]: b["time_us"] for b in made["baselines"]}}
        self.assertEqual(seen["against"], sorted(times, key=times.get))
        varied = {n for n in sample.VALUES if len({c["config"][n] for c in made["candidates"]}) > 1}
        self.assertEqual(set(seen["parameters"]), varied)
        self.assertTrue({"registers", "shared memory", "threads", "occupancy", "spilled", "machine code"} <= set(seen["resources"]))
        self.assertTrue(seen["tooltip"].startswith(f"#{made['winner']['candidate'] + 1}, "), seen["tooltip"])
        self.assertEqual(seen["pointed"], 1 + len(seen["parameters"]) + len(seen["resources"]))
        self.assertTrue(seen["tooltip_hidden"])
        self.assertRegex(seen["walked_to"], r"^#\d+, ")
        self.assertTrue(seen["opened"] and seen["walked"] and seen["axis_differs"])
        self.assertRegex(seen["filter"], r"^[a-z_]+=\w+$")
        self.assertEqual(sorted(int(t.replace(",", "")) for t in seen["inadmissible"]),
                         sorted([made["space"]["admissible"]] + [r["count"] for r in made["space"]["inadmissible"]]))
        self.assertEqual([verdict == "a tie" for verdict in seen["pairs"]], [p["verdict"] == "tie" for p in made["final"]])
        self.assertEqual(len(seen["rankings"]), 1)
        self.assertIn("machine code 0.94 over", seen["rankings"][0])
        self.assertIn("the fastest as number 2", seen["rankings"][0])
        self.assertEqual(seen["gauges"], 4)

    def test_dark_and_light(self):
        made = sample.result(count=20, seed=self.seed + 2)
        light = self.use("light", made)["paper"]
        dark = self.use("dark", made, options=["--blink-settings=preferredColorScheme=0"])["paper"]
        self.assertEqual(light["auto"], light["light"])
        self.assertEqual(dark["auto"], dark["dark"])
        self.assertNotEqual(light["light"], light["dark"])
        for seen in light, dark:
            self.assertEqual(seen["auto"], seen["again"])
        self.assertEqual((light["light"], light["dark"]), (dark["light"], dark["dark"]))

    def test_five_thousand(self):
        made = sample.result(count=5000, seed=self.seed + 3)
        seen = self.use("many", made)
        self.assertEqual(sorted(seen["rows"]), list(range(1, 5001)))
        self.assertEqual(seen["by_tile_m"], sorted(seen["by_tile_m"], key=int))

    def test_one_candidate(self):
        seen = self.use("one", sample.result(count=1, seed=self.seed + 4, failing=0))
        self.assertEqual(seen["rows"], [1])
        self.assertEqual(seen["parameters"], [])

    def test_all_wrong_or_failed(self):
        made = sample.result(count=40, seed=self.seed + 5, failing=1)
        seen = self.use("wrong", made)
        self.assertEqual(seen["rows"], list(range(1, 41)))
        self.assertEqual(seen["figures"], [])
        self.assertTrue(any("no winner" in note for note in seen["notes"]))
        codes = {c["problem"]["code"] for c in made["candidates"]}
        self.assertEqual({summary.split(":")[0] for summary in seen["problems"] if ":" in summary}, codes)

    def test_record_of_another_process(self):
        made = sample.only_record(self.seed + 6)
        seen = self.use("record", made)
        self.assertIn(shown(made['record']['time_us']), seen["figures"][0])
        self.assertEqual(seen["sections"], ["Winner", "Device"])

    def test_interrupted_before_the_first(self):
        seen = self.use("nothing", sample.nothing_tried(self.seed + 7))
        self.assertTrue(any("interrupted" in note for note in seen["notes"]))

    def test_hostile_names(self):
        made = sample.hostile(self.seed + 8)
        seen = self.use("hostile", made)
        self.assertEqual(seen["heading"], [f"{sample.HOSTILE} on {sample.HOSTILE}"])
        self.assertEqual(seen["ptx"], made["winner"]["ptx"])
        self.assertTrue(any(sample.HOSTILE in note for note in seen["notes"]))
        self.assertTrue(any(note.startswith("Not compared with") for note in seen["notes"]))
        # A shell reads the commands as the words they are made of, whatever is in them.
        *of_winner, again = [shlex.split(command) for command in seen["commands"]]
        self.assertEqual(again, made["command"])
        config = made["candidates"][made["winner"]["candidate"]]["config"]
        for words in of_winner:
            self.assertEqual(words[:3], ["ptxloom", words[1], sample.HOSTILE])
            for name, value in {**made["problem"], **config}.items():
                self.assertIn(f"{name}={value}", words)

    def test_a_search_over_several_devices(self):
        made = sample.spread(self.seed + 11)
        seen = self.use("spread", made)
        self.assertEqual([row[:5] for row in seen["devices"]],
                         [["1", "GPU 3a:00 of node", "0", "20", "1.000"], ["2", "GPU 3b:00 of node", "0", "20", "0.995"],
                          ["3", "GPU 3c:00 of node", "1", "20", "1.012"], ["4", "GPU 3d:00 of node", "1", "0", "1.055"]])
        self.assertEqual([row[5].startswith("left out: GPU 3d:00 takes") for row in seen["devices"]], [False] * 3 + [True])
        self.assertTrue(any("1 of 4 devices did not take part" in note for note in seen["notes"]), seen["notes"])
        self.assertEqual(set(seen["device_name"]), {i + 1 for i, c in enumerate(made["candidates"]) if c["device"] == 1})
        self.assertEqual(set(seen["by_device"]), {"1", "2", "3"})
        self.assertEqual((seen["gauges"], seen["gauges_of_second"]), (4, 4))

    def test_one_device_needs_no_table(self):
        seen = self.use("alone", sample.result(count=9, seed=self.seed + 12))
        self.assertEqual(seen["devices"], [])
        self.assertIsNone(seen["by_device"])

    def test_two_devices(self):
        one, two = sample.result(count=30, seed=self.seed + 9), sample.result(count=17, seed=self.seed + 10)
        two["device"]["name"] = "NVIDIA L4"
        self.assertEqual(self.use("two", one, two)["other_rows"], "17 candidates")

    def test_not_over(self):
        self.assertEqual(self.use("not_over")["heading"], ["The search is not over"])


if __name__ == "__main__":
    if find_browser() is None:
        sys.exit(exit_without("chromium", "there is no Chromium; install one (Debian: apt-get install chromium), or name one "
                              "in PTXLOOM_CHROMIUM"))
    Report.writer, Report.schema = sys.argv[1:3]
    if sys.argv[3:4] == ["--keep"]:
        Report.keep = sys.argv[4]
    unittest.main(argv=sys.argv[:1], verbosity=2)
