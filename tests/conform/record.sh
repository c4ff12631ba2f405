#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares every form with the GPU, several processes at a time, and prints the tables of
# docs/results/conformance-*.md.
#
# usage: record.sh FOLDER [JOBS] [OPTION OF ptxloom conform...]
#   FOLDER   gets what each process says: PART.json and PART.err
#   JOBS     processes at a time; one a core by default
# PTXLOOM names the tool; by default it is the one in PATH.
set -eu
[ $# -ge 1 ] || { sed -n '3,/^# PTXLOOM/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
FOLDER=$1
jobs=${2:-$(nproc)}
shift
[ $# -eq 0 ] || shift
PTXLOOM=${PTXLOOM:-ptxloom}
export FOLDER PTXLOOM
mkdir -p "$FOLDER"
rm -f "$FOLDER"/*.json "$FOLDER"/*.err

# wgmma has most of the kernels: a part for each width, the widest first.
parts() {
  for n in $(seq 256 -8 8); do
    for kind in wgmma.mma_async wgmma.mma_async.sp; do echo "$kind.sync.aligned.m64n${n}k"; done
  done
  "$PTXLOOM" list --json | python3 -c '
import json, sys
names = dict.fromkeys(form["form"] for form in json.load(sys.stdin)["forms"])
print(*[name for name in names if name != "wgmma.mma_async"], sep="\n")'
}

# Exit code 1: a difference, which the tables show. 2: this GPU lacks the form. Any other ends the run.
parts > "$FOLDER/parts"
xargs -P "$jobs" -I PART sh -c '
code=0
"$PTXLOOM" conform PART --json "$@" > "$FOLDER/PART.json" 2> "$FOLDER/PART.err" || code=$?
if [ $code -eq 2 ]; then rm "$FOLDER/PART.json"; fi
if [ $code -gt 2 ]; then cat "$FOLDER/PART.err" >&2; exit 255; fi' sh "$@" < "$FOLDER/parts"
python3 "$(dirname "$0")/table.py" "$FOLDER"/*.json
