// SPDX-License-Identifier: Apache-2.0
// From values to pixels, and the round values between.
"use strict";

function linear_scale(low, high, from, to) {
  const span = high - low || 1;
  const scale = (value) => from + (value - low) / span * (to - from);
  scale.ticks = (count) => linear_ticks(low, high, count);
  return scale;
}

function log_scale(low, high, from, to) {
  const line = linear_scale(Math.log(low), Math.log(high), from, to);
  const scale = (value) => line(Math.log(value));
  scale.ticks = (count) => log_ticks(low, high, count);
  return scale;
}

function linear_ticks(low, high, count) {
  const rough = (high - low || 1) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) ticks.push(i * step + 0);  // no -0
  return ticks;
}

/** 1, 2, 5 and the like of each power of ten; of a narrow range evenly spaced values. */
function log_ticks(low, high, count) {
  for (const factors of [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7], [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]].reverse()) {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power) {
      for (const factor of factors) {
        const tick = factor * 10 ** power;
        if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
      }
    }
    if (ticks.length <= count) return ticks.length >= 2 ? ticks : linear_ticks(low, high, count);
  }
  return [low, high];
}
