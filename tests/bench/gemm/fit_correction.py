#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learns what the cost model misses (templates/gemm/choice/correction.json) from measurements.

  fit_correction.py FEATURES [-o FILE] [--folds N]
    FEATURES  what `choice_data features` has printed for measured configurations
    -o        writes the correction
    --folds   first tells how good the choices are for problems that the trees did not see (6; 0: not)

A choice is the configuration, of those measured and predicted to be near the fastest, with the least corrected time; its
rate is relative to the fastest one measured. The trees are LightGBM's: gradient boosting of the squared error of the
logarithm of measured over predicted time, less the mean of the problem, since only the order within a problem counts.
Means and errors are weighted by the cube of a configuration's rate. A time that differs by more than 1.8 from what others
of its problem lead to expect was disturbed, and is left out. It needs numpy and lightgbm.
"""
import argparse
import json
import random

import lightgbm
import numpy as np

NEAR = 1.5  # kNear of ranking.hpp
DISTURBED = 0.6  # of the logarithm
LEAF_UNIT = 1e-4
TREES = {
    "n_estimators": 250,
    "learning_rate": 0.08,
    "num_leaves": 63,
    "min_child_samples": 20,
    "subsample": 0.8,
    "subsample_freq": 1,
    "colsample_bytree": 0.5,
    "reg_lambda": 5,
    "random_state": 1,
    "n_jobs": 2,
    "verbose": -1,
}


class Problem:
    def __init__(self, line):
        us, predicted = np.array(line["us"], float), np.array(line["predicted"], float)
        miss = np.log(us / predicted)
        good = np.abs(miss - np.median(miss)) < DISTURBED
        self.us, self.predicted = us[good], predicted[good]
        self.miss = miss[good] - np.average(miss[good], weights=self.weights())
        self.rows = np.array(line["rows"], float)[good]
        self.unit = line["unit"]

    def says_much(self):
        """Whether a choice among what was measured tells something."""
        return len(self.us) > 4

    def weights(self):
        return (self.us.min() / self.us) ** 3

    def rate(self, times):
        near = np.where(self.predicted <= NEAR * self.predicted.min(), times, np.inf)
        return self.us.min() / self.us[np.argmin(near)]


def fit(problems):
    return lightgbm.LGBMRegressor(**TREES).fit(
        np.concatenate([p.rows for p in problems]),
        np.concatenate([p.miss for p in problems]),
        sample_weight=np.concatenate([p.weights() for p in problems]),
    )


def report(name, rates):
    rates = np.array(rates)
    print(
        f"{name}: {np.exp(np.log(rates).mean()):.3f} of the best (geometric mean), at least 0.9 in "
        f"{(rates >= 0.9).sum()} of {len(rates)}, worst {rates.min():.2f}"
    )


def cross_validate(problems, folds):
    order = problems[:]
    random.Random(1).shuffle(order)
    rates = []
    for fold in range(folds):
        trees = fit([p for i, p in enumerate(order) if i % folds != fold])
        rates += [p.rate(p.predicted * np.exp(trees.predict(p.rows))) for p in order[fold::folds] if p.says_much()]
    report("cost model", [p.rate(p.predicted) for p in problems if p.says_much()])
    report("corrected, for problems not seen", rates)


def flatten(node, out):
    """Appends a tree to a list of numbers, as correction.cpp describes it."""
    if "leaf_value" in node:
        out += [-1, round(node["leaf_value"] / LEAF_UNIT)]
        return
    out += [node["split_feature"], shortest(node["threshold"])]
    flatten(node["left_child"], out)
    flatten(node["right_child"], out)


def shortest(threshold):
    number = float(f"{threshold:.5g}")
    return int(number) if number.is_integer() else number


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("features")
    parser.add_argument("-o", "--output")
    parser.add_argument("--folds", type=int, default=6)
    arguments = parser.parse_args()
    lines = [json.loads(line) for line in open(arguments.features)]
    problems = [p for p in map(Problem, lines) if len(p.us) > 1]
    print(f"{sum(len(p.us) for p in problems)} times of {len(problems)} problems")
    if arguments.folds:
        cross_validate(problems, arguments.folds)
    if not arguments.output:
        return
    trees = []
    for tree in fit(problems).booster_.dump_model()["tree_info"]:
        trees.append([])
        flatten(tree["tree_structure"], trees[-1])
    with open(arguments.output, "w") as out:
        head = {"units": sorted({p.unit for p in problems}), "features": lines[0]["names"]}
        out.write("{\n" + "".join(f' "{key}": {json.dumps(value)},\n' for key, value in head.items()))
        out.write(' "trees": [\n  ' + ",\n  ".join(json.dumps(t, separators=(",", ":")) for t in trees) + "\n ]\n}\n")


if __name__ == "__main__":
    main()
