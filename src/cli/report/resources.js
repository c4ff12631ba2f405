// SPDX-License-Identifier: Apache-2.0
// Time against what a candidate takes of the chip.
"use strict";

/** {key, title, of, scale, log}: a figure of a candidate, and what it is multiplied by to be shown. */
function resource_kinds(result) {
  return [
    {key: "registers", title: "registers", of: "a thread"},
    {key: "shared", title: "shared memory", of: "KiB a block", scale: 1 / 1024},
    {key: "threads", title: "threads", of: "a block", log: true},
    {key: "occupancy", title: "occupancy", of: "% of an SM\u2019s threads", scale: 100},
    {key: "blocks", title: "blocks", of: "of the grid", log: true},
    {key: "spills", title: "spilled", of: "bytes a thread, stored and loaded"},
    {key: "predicted", title: "prediction", of: `${result.time.unit}, by the model, before it was measured`, scale: result.time.scale, log: true},
    {key: "code", title: "machine code", of: `${result.time.unit}, predicted by the issue model`, scale: result.time.scale, log: true},
  ];
}

function draw_resource(view, resource, candidates, width) {
  const plot = new Plot(view, {width, height: 210, margin: {top: 18, right: 14, bottom: 26, left: 44},
                               label: `Time by ${resource.title} ${resource.of}`});
  const value = (one) => one[resource.key] * (resource.scale ?? 1);
  const values = candidates.map(value);
  const low = Math.min(...values), high = Math.max(...values);
  const x = (resource.log ? log_scale : linear_scale)(low, high, plot.left + 8, plot.right - 4);
  const y = time_scale(view, [], plot.bottom - 8, plot.top + 4);
  plot.y_axis(y, time_tick(view), 5, view.result.time.unit);
  plot.x_axis(x, (tick) => number_text(tick, tick % 1 === 0 ? 0 : 1), width / 65);
  plot.dots(candidates.map((one) => ({x: x(value(one)), y: y(one.time), candidate: one})));
  return plot;
}

function resource_figure(view, resource) {
  const candidates = view.result.verified.filter((one) => is_number(one[resource.key]));
  if (new Set(candidates.map((one) => one[resource.key])).size < 2) return null;
  const caption = html("figcaption", {}, html("b", {}, resource.title), html("span", {class: "quiet"}, resource.of));
  return plot_figure(view, caption, (width) => draw_resource(view, resource, candidates, width));
}

function resources_section(view) {
  const figures = resource_kinds(view.result).map((resource) => resource_figure(view, resource)).filter(Boolean);
  if (figures.length === 0) return null;
  return section("resources", "Time by resource",
    html("p", {class: "quiet"}, `Verified candidates, in ${view.result.time.unit}; the diamond is the winner.`),
    html("div", {class: "multiples"}, figures));
}
