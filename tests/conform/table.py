#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/results/conformance-*.md, from what `ptxloom conform --json` wrote.

usage: table.py FILE...    several files are one run in parts; an opcode counts in the first that has it
"""
import collections
import json
import sys


def read(files):
    variants = []
    for name in files:
        known = {(variant["form"], variant["opcode"]) for variant in variants}
        with open(name) as file:
            variants += [v for v in json.load(file)["variants"] if (v["form"], v["opcode"]) not in known]
    return variants


def print_profiles(tried):
    """By what the operands were made of; matrix products apart, which have profiles of their own."""
    counts = collections.defaultdict(lambda: [0, 0, 0])
    for variant in tried:
        product = any(p["profile"] == "window-edge" for p in variant["profiles"])
        for profile in variant["profiles"]:
            count = counts[product, profile["profile"]]
            count[0] += 1
            count[1] += profile["elements"]
            count[2] += profile["differing"]
    print("\n| operands | of | kernels | elements | differing elements |\n|---|---|---|---|---|")
    for (product, name), (kernels, elements, differing) in sorted(counts.items(), key=lambda item: item[0][0]):
        print(f"| {name} | {'products' if product else 'others'} | {kernels:,} | {elements:,} | {differing:,} |")


def main(files):
    by_form = collections.defaultdict(list)
    skipped = collections.defaultdict(collections.Counter)
    for variant in read(files):
        if variant["state"] == "skipped":
            skipped[variant["note"]][variant["form"]] += 1
        else:
            by_form[variant["form"]].append(variant)
    tried = [v for variants in by_form.values() for v in variants]
    state = collections.Counter(v["state"] for v in tried)
    print(f"{len(tried):,} kernels of {len(by_form)} forms, {sum(v['elements'] for v in tried):,} elements: "
          f"{state['agrees']:,} kernels agree in every bit, {state['differs']:,} differ, "
          f"{state['failed']:,} could not be run. Fewest operand sets of a kernel: "
          f"{min(v['operand_sets'] for v in tried)}, fewest elements: {min(v['elements'] for v in tried):,}.\n")
    print("| form | kernels | operand sets each | elements | differing elements |\n|---|---|---|---|---|")
    for form, variants in sorted(by_form.items()):
        sets = sorted({v["operand_sets"] for v in variants})
        several = f"{sets[0]} to {sets[-1]}" if len(sets) > 1 else str(sets[0])
        print(f"| {form} | {len(variants):,} | {several} | {sum(v['elements'] for v in variants):,} "
              f"| {sum(v['differing'] for v in variants):,} |")
    print_profiles(tried)
    print("\nNot tried, variants by reason:\n")
    for reason, forms in sorted(skipped.items(), key=lambda item: -item[1].total()):
        print(f"- {forms.total():,}: {reason} ({', '.join(f'{form} {count:,}' for form, count in sorted(forms.items()))})")
    different = [v for v in tried if v["state"] in ("differs", "failed")]
    if different:
        print("\nNot alike:\n")
    for variant in different:
        print(f"- {variant['opcode']}: {variant['state']}, {variant['differing']:,} of {variant['elements']:,}: {variant['note']}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
