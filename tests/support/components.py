# SPDX-License-Identifier: Apache-2.0
"""PTXLOOM_REQUIRE in tests written in Python; see components.hpp."""
import os
import pathlib
import sys

SKIPPED = 4  # the exit code that CTest counts as skipped


def exit_without(component, why):
    """The exit code of a test without this component: of a failure where PTXLOOM_REQUIRE names it."""
    known = (pathlib.Path(__file__).parent / "components.txt").read_text().split()
    required = [name for name in os.environ.get("PTXLOOM_REQUIRE", "").split(",") if name]
    for name in [component] + required:
        if name not in known:
            print(f"PTXLOOM_REQUIRE: there is no component '{name}'; there are {' '.join(known)}", file=sys.stderr)
            return 1
    if component in required:
        print(f"PTXLOOM_REQUIRE names {component}, but {why}", file=sys.stderr)
        return 1
    print(f"skipped: {why}")
    return SKIPPED
