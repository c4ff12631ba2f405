#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Uses the page of `report` in a headless Chromium and holds what it shows against its data.

    kernel_browser_test.py WRITE_REPORT REPORT_JSON_SCHEMA [--keep FOLDER]

Exits 4 (skipped) where there is no Chromium; see browser_test.py, whose functions it uses.
"""
import html
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

from browser_test import CATCH, disagreement, exit_without, find_browser, run_browser

HOSTILE = "</script><img src=x onerror=alert(1)>&amp;<!-- \u2028 \"'`"
UNITS = ["fma_heavy", "alu", "tensor", "shared", "issue"]

OBSERVE = """<script>
(async () => {
  const texts = (query, root = document) => [...root.querySelectorAll(query)].map((one) => one.textContent);
  const seen = {errors, heading: texts("h1"), kernels: texts("h2"), notes: texts(".notes li"), figures: texts(".figure.best .value"),
                loops: texts("table.candidates tbody tr td:first-child"), hottest: texts("table.candidates tr.winner td:first-child"),
                limits: texts(".bars tr.limit th"), assumed: texts(".bars td").filter((text) => text.endsWith("(assumed)")), code: texts("table.code tbody tr td:nth-child(3)"), boxes: document.querySelectorAll("svg.lanes rect").length,
                roofs: document.querySelectorAll("svg.roof").length, title: document.title,
                wide: document.documentElement.scrollWidth > innerWidth,
                spills: [...document.querySelectorAll(".columns > div")].some((one) => one.scrollWidth > one.clientWidth), paragraphs: texts("section > p"),
                about: texts("#report > p")[0], measured: texts(".measured tr").map((text) => text.replace(/\\s/g, ""))};
  const box = document.querySelector("svg.lanes rect");
  if (box) {
    box.dispatchEvent(new MouseEvent("mousemove", {bubbles: true, clientX: 50, clientY: 50}));
    seen.tooltip = document.querySelector("#tooltip strong").textContent;
    seen.pointed = texts("table.code tr.pointed td:nth-child(3)");
    box.dispatchEvent(new MouseEvent("mouseleave", {bubbles: true}));
    seen.left = [document.getElementById("tooltip").hidden, texts("table.code tr.pointed").length];
  }
  document.body.append(Object.assign(document.createElement("pre"), {id: "observed", textContent: JSON.stringify(seen)}));
})();
</script></body>"""


def hex4(offset):
    return f"{offset:04x}"


def mix(draw):
    return [{"unit": unit, "count": draw.randrange(1, 90)} for unit in draw.sample(UNITS, 3)]


def loop(draw, first):
    bounds = sorted(({"name": unit, "what": f"what {unit} is", "warp_cycles": 1.5, "cycles": draw.uniform(5, 500), "busy": draw.random(),
                      "assumed": unit == "shared"}
                     for unit in UNITS), key=lambda one: -one["cycles"])
    stalls = ["issued", "stall_count", "scoreboard", "unit_busy", "register_banks", "barrier", "not_selected"]
    return {"first": first, "last": first + 320, "depth": 1, "inner": True, "instructions": 21, "warps": 8, "other": 0, "unknown": 0, "mix": mix(draw),
            "cycles": bounds[0]["cycles"] * 1.1, "bound": bounds[0]["name"], "bounds": bounds, "alone": draw.uniform(5, 90),
            "path": draw.uniform(0, 5), "chain": [], "operations": 1024, "copied_bytes": 0.0, "unknown_copies": 0, "shared_bytes": 512.0, "tensor_busy": draw.random(),
            "stalls": {name: draw.uniform(0, 50) for name in stalls}}


def kernel(draw, name, loops, text="FFMA R{}, R1, R2, R3"):
    code = [{"offset": 16 * i, "control": "[----:B------:R-:W-:-:S04]", "text": text.format(i), "ptx": "fma.rn.f32 a, b, c, d;",
             "waited": draw.uniform(0, 9)} for i in range(21)]
    events = [{"op": draw.randrange(21), "unit": draw.choice(UNITS[:4]), "warp": draw.randrange(0, 8, 4), "begin": begin, "end": begin + 2.5}
              for begin in range(0, 80, 4)]
    hottest = {"loop": loops - 1, "operations_per_second": 4.2e14, "code": code, "events": events, "event_cycles": 90.0}
    return {"name": name, "kernel": True, "instructions": 400, "mix": mix(draw),
            "occupancy": {"warps": 8, "most_warps": 64, "blocks": 1, "block_warps": 8, "limit": "registers"},
            "loops": [loop(draw, 0x100 * (i + 1)) for i in range(loops)], "waiting": 0,
            "resources": {"registers": 168, "static_shared": 1024, "dynamic_shared": 200000, "local": 0, "barriers": 1, "parameters": 64},
            "measured": None, "hottest": hottest if loops else None}


def report(draw, functions, title="gemm m=512", **more):
    ceilings = [{"name": "f32 of CUDA cores", "unit": "f32", "measured": False, "per_second": 6.7e13},
                {"name": "bf16 of tensor cores, f32 accumulation", "unit": "f16", "measured": False, "per_second": 9.9e14},
                {"name": "mma.sync.m16n8k16", "unit": "", "measured": True, "per_second": 6.5e14}]
    return {"schema": 1, "file": "gemm", "target": "sm_90a", "nvdisasm": "13.2", "assumed": False, "functions": functions, "title": title,
            "problem": {"m": "512"}, "config": {"tile_m": "128"},
            "gpu": {"name": "H200_SXM", "sms": 132, "clock_mhz": 1980, "mma_clock_mhz": 1830, "memory_gb_per_second": 4917},
            "unmeasured": "ncu was not found",
            "roofline": {"operations": 1e12, "bytes": 1e9, "unit": "f16", "memory_per_second": 4.9e12, "ceilings": ceilings},
            "units": [{"name": unit, "what": f"what {unit} is", "of_sm": False} for unit in UNITS], **more}


class KernelPage(unittest.TestCase):
    writer = schema = keep = None

    @classmethod
    def setUpClass(cls):
        cls.seed = random.SystemRandom().randrange(2**31)
        print(f"seed {cls.seed}")
        cls.draw = random.Random(cls.seed)
        cls.folder = tempfile.TemporaryDirectory(prefix="ptxloom-kernel-")
        cls.schema = json.loads(pathlib.Path(cls.schema).read_text(encoding="utf-8"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def use(self, name, made):
        self.assertIsNone(disagreement(made, self.schema), name)
        folder = pathlib.Path(self.folder.name)
        data, page = folder / f"{name}.json", folder / f"{name}.html"
        data.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
        text = subprocess.run([self.writer, "--kernel", data], capture_output=True, text=True, encoding="utf-8", check=True).stdout
        if self.keep:
            kept = pathlib.Path(self.keep)
            kept.mkdir(parents=True, exist_ok=True)
            (kept / f"{name}.html").write_text(text, encoding="utf-8")
            run_browser(kept.resolve() / f"{name}.html", f"--screenshot={kept.resolve()}/{name}.png", "--window-size=1400,2600",
                        profile=folder / "profile")
        page.write_text(text.replace("<head>", f"<head>{CATCH}", 1).replace("</body>", OBSERVE), encoding="utf-8")
        for width in (390, 1280):
            dom = run_browser(page, "--dump-dom", f"--window-size={width},1000", profile=folder / "profile")
            observed = re.search(r'<pre id="observed">(.*?)</pre>', dom, re.S)
            self.assertIsNotNone(observed, f"{name}: the script of the test did not end")
            seen = json.loads(html.unescape(observed[1]))
            self.assertEqual(seen["errors"], [], name)
            self.assertFalse(seen["wide"], f"{name}: the page is wider than the window of {width}")
            self.assertFalse(seen["spills"], f"{name}: a column is wider than its place in a window of {width}")
        return seen

    def test_two_kernels(self):
        first, second = kernel(self.draw, "first", 3), kernel(self.draw, "second", 1)
        seen = self.use("two", report(self.draw, [first, second]))
        self.assertEqual(seen["heading"], ["gemm m=512"])
        self.assertEqual(seen["kernels"], ["first", "second"])
        loops = first["loops"] + second["loops"]
        self.assertEqual(seen["loops"], [f"{hex4(one['first'])} to {hex4(one['last'])}" for one in loops])
        self.assertEqual(seen["hottest"], [seen["loops"][2], seen["loops"][3]])
        self.assertEqual(seen["figures"], [loops[2]["bound"], loops[3]["bound"]])
        self.assertEqual(seen["limits"], [loops[2]["bound"], loops[3]["bound"]])
        self.assertEqual(seen["assumed"], ["what shared is (assumed)"] * 2)
        self.assertEqual(seen["code"], [one["text"] for made in (first, second) for one in made["hottest"]["code"]])
        self.assertEqual((seen["boxes"], seen["roofs"]), (40, 2))
        pointed = first["hottest"]["code"][first["hottest"]["events"][0]["op"]]["text"]
        self.assertEqual((seen["tooltip"], seen["pointed"]), (pointed, [pointed]))
        self.assertEqual(seen["left"], [True, 0])
        self.assertEqual(seen["notes"], [])
        self.assertEqual(seen["measured"], [])
        self.assertIn("nothing was measured, since ncu was not found", seen["about"])

    def test_measured_stalls(self):
        with_loop, straight = kernel(self.draw, "with_loop", 1), kernel(self.draw, "straight", 0)
        with_loop["measured"] = {"launches": 3, "stalls": {"issued": 1.5, "scoreboard": 10.5, "other": 3.0}}
        straight["measured"] = {"launches": 1, "stalls": {"issued": 1.25, "barrier": 3.75}}
        seen = self.use("measured", report(self.draw, [with_loop, straight], unmeasured=""))
        self.assertEqual(seen["measured"], ["issues1.5cycles(10%)", "scoreboard10.5cycles(70%)", "somethingelse3.0cycles(20%)",
                                            "issues1.3cycles(25%)", "barrier3.8cycles(75%)"])
        self.assertNotIn("nothing was measured", seen["about"])

    def test_nothing_to_predict(self):
        waiting = kernel(self.draw, "waiting", 1)
        waiting["loops"][0]["cycles"] = None
        made = report(self.draw, [kernel(self.draw, "straight", 0), waiting], assumed=True, nvdisasm="", gpu=None,
                      roofline={"operations": None, "bytes": None, "unit": "", "memory_per_second": None, "ceilings": []})
        seen = self.use("nothing", made)
        self.assertEqual((seen["boxes"], seen["roofs"], len(seen["notes"])), (0, 0, 2))
        self.assertIn("no loop", seen["paragraphs"][0])
        self.assertIn("no prediction", seen["paragraphs"][1])
        self.assertEqual(self.use("empty", report(self.draw, []))["kernels"], [])

    def test_functions_and_blocks_that_do_not_fit(self):
        large, called = kernel(self.draw, "large", 1), kernel(self.draw, "called", 0)
        large["loops"][0].update({"cycles": None, "bounds": []})
        large["occupancy"].update({"blocks": 0, "warps": 0, "limit": "shared memory"})
        called.update({"kernel": False, "occupancy": None})
        seen = self.use("functions", report(self.draw, [large, called]))
        self.assertIn("does not fit", seen["paragraphs"][0])
        self.assertIn("This function has no loop", seen["paragraphs"][1])

    def test_hostile_text(self):
        made = report(self.draw, [kernel(self.draw, HOSTILE, 1, HOSTILE.replace("{", "").replace("}", ""))], title=HOSTILE)
        seen = self.use("hostile", made)
        self.assertEqual((seen["heading"], seen["kernels"]), ([HOSTILE], [HOSTILE]))
        self.assertEqual(set(seen["code"]), {HOSTILE})


if __name__ == "__main__":
    if find_browser() is None:
        sys.exit(exit_without("chromium", "there is no Chromium; install one (Debian: apt-get install chromium), or name one "
                              "in PTXLOOM_CHROMIUM"))
    KernelPage.writer, KernelPage.schema = sys.argv[1:3]
    if sys.argv[3:4] == ["--keep"]:
        KernelPage.keep = sys.argv[4]
    unittest.main(argv=sys.argv[:1], verbosity=2)
