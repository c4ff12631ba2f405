// SPDX-License-Identifier: Apache-2.0
// Operations a second against operations a byte: the roof is memory's slope and the peaks of the units.
"use strict";

const kRoof = {width: 1100, height: 340, left: 62, right: 320, top: 14, bottom: 36};

function tera_text(rate) {
  return is_number(rate) ? `${number_text(rate / 1e12, rate < 1e13 ? 2 : 0)}\u202fT/s` : kNone;
}

/** The ceilings that are drawn: the fastest of each kind and those of the unit of the work. */
function chosen_ceilings(roofline) {
  const peaks = roofline.ceilings.filter((one) => !one.measured);
  const own = peaks.filter((one) => one.unit !== "" && one.unit === roofline.unit);
  const cores = peaks.filter((one) => one.name.endsWith("of CUDA cores"));
  const tensor = peaks.filter((one) => one.name.includes("tensor"));
  const fastest = (list) => list.reduce((a, b) => (b.per_second > (a?.per_second ?? 0) ? b : a), undefined);
  const measured = fastest(roofline.ceilings.filter((one) => one.measured));
  const shown = [...own, cores.find((one) => one.name.startsWith("f32 ")), fastest(tensor), measured].filter(Boolean);
  return shown.filter((one, i) => shown.findIndex((other) => other.name === one.name) === i);
}

function roofline_figure(roofline, predicted) {
  const ceilings = chosen_ceilings(roofline);
  if (ceilings.length === 0 || !is_number(roofline.memory_per_second)) return undefined;
  const {width, height, left, right, top, bottom} = kRoof;
  const intensity = roofline.bytes > 0 && roofline.operations > 0 ? roofline.operations / roofline.bytes : undefined;
  const high = Math.max(...ceilings.map((one) => one.per_second), predicted ?? 0) * 1.6;
  const x = log_scale(0.25, Math.max(4096, (intensity ?? 0) * 2), left, width - right);
  const y = log_scale(high / 3e4, high, height - bottom, top);
  const parts = [];
  for (const tick of x.ticks(7)) parts.push(svg("text", {x: x(tick), y: height - bottom + 16, "text-anchor": "middle"}, number_text(tick, tick < 1 ? 2 : 0)));
  for (const tick of y.ticks(6)) parts.push(svg("text", {x: left - 6, y: y(tick) + 4, "text-anchor": "end"}, number_text(tick / 1e12, tick < 1e12 ? 1 : 0)));
  parts.push(svg("text", {x: (left + width - right) / 2, y: height - 3, "text-anchor": "middle"}, "operations a byte of device memory"));
  parts.push(svg("text", {x: left - 6, y: 10, "text-anchor": "end"}, "T/s"));
  parts.push(svg("path", {class: "axis", fill: "none", d: `M${left} ${top}V${height - bottom}H${width - right}`}));
  let label_y = -Infinity;
  for (const one of [...ceilings].sort((a, b) => b.per_second - a.per_second)) {
    const knee = Math.max(one.per_second / roofline.memory_per_second, 0.25);
    const at = y(one.per_second);
    parts.push(svg("path", {class: one.measured ? "roofline measured" : "roofline", d: `M${x(Math.min(knee, 4096))} ${at}H${width - right}`}));
    label_y = Math.max(at + 4, label_y + 13);
    parts.push(svg("text", {x: width - right + 6, y: label_y}, `${one.name} ${tera_text(one.per_second)}`));
  }
  const top_rate = Math.max(...ceilings.map((one) => one.per_second));
  parts.push(svg("path", {class: "roofline", d: `M${x(0.25)} ${Math.min(y(0.25 * roofline.memory_per_second), height - bottom)}L${x(top_rate / roofline.memory_per_second)} ${y(top_rate)}`}));
  if (intensity !== undefined && is_number(predicted)) {
    const reached = Math.min(predicted, intensity * roofline.memory_per_second);
    parts.push(svg("circle", {class: "kernel", cx: x(intensity), cy: y(reached), r: 6}));
    parts.push(svg("text", {class: "label strong", x: x(intensity) - 10, y: y(reached) + 18, "text-anchor": "end"}, `predicted at most ${tera_text(reached)}`));
  }
  return svg("svg", {class: "plot roof", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Roofline"}, parts);
}
