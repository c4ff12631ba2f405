// SPDX-License-Identifier: Apache-2.0
// Best so far, over time or over evaluations, with every candidate behind it.
"use strict";

const kProgressAxes = {
  seconds: {title: "seconds", of_candidate: (one) => one.at, of_best: (one) => one.at_s, end: (data) => data.seconds},
  evaluations: {title: "evaluations", of_candidate: (one) => one.index + 1, of_best: (one) => one.evaluations, end: (data) => data.candidates.length},
};

function best_path(best, axis, end, x, y) {
  let path = "";
  for (const step of best) {
    const px = x(axis.of_best(step)).toFixed(1), py = y(step.time_us).toFixed(1);
    path += path === "" ? `M${px} ${py}` : `H${px}V${py}`;
  }
  return `${path}H${x(end).toFixed(1)}`;
}

const kLabelHeight = 14, kLabelRoom = 240;

/** Times to hold the candidates against: {us, name, kind}. The chip's limits only where they are near. */
function reference_lines(result) {
  const {rates} = result.data;
  const lines = result.baselines.map((one) => ({us: one.time_us, name: one.name, kind: "baseline"}));
  if (rates.least_us > result.best / 4) lines.push({us: rates.least_us, name: "the chip\u2019s limits", kind: "baseline"});
  if (result.winner) lines.push({us: result.best, name: "best", kind: "strong"});
  return lines;
}

/** Names of lines at their right ends, outside or upon them, moved apart where they would lie on one another. */
function add_labels(plot, result, lines, y, width) {
  const outside = width - plot.right >= kLabelRoom;
  const x = plot.right + (outside ? 8 : 0), room = outside ? kLabelRoom - 8 : plot.right - plot.left;
  let below = Infinity;
  for (const line of lines.toSorted((a, b) => a.us - b.us)) {
    below = Math.min(y(line.us) + (outside ? 4 : -4), below - kLabelHeight);
    const time = result.time.whole(line.us);
    plot.add(svg("text", {class: line.kind === "strong" ? "label strong" : "label", x, y: below, "text-anchor": outside ? "start" : "end"},
                 `${shortened(line.name, room - (time.length + 1) * kCharacter)} ${time}`));
  }
}

function draw_progress(view, axis, width) {
  const {result} = view;
  const {data} = result;
  const end = Math.max(axis.end(data), axis.title === "evaluations" ? 2 : 0.1);
  const lane = result.problems.length > 0 ? 18 : 0;
  const plot = new Plot(view, {width, height: 340, margin: {top: 12 + lane, right: width > 800 ? kLabelRoom : 8, bottom: 40, left: 54},
                               label: `The time of each candidate and the best so far over ${axis.title}`});
  const lines = reference_lines(result);
  const x = linear_scale(axis.title === "seconds" ? 0 : 1, end, plot.left, plot.right);
  const y = time_scale(view, lines.map((one) => one.us), plot.bottom - 6, plot.top);
  plot.y_axis(y, time_tick(view), 7);
  plot.x_axis(x, (tick) => number_text(tick, tick % 1 === 0 ? 0 : 1), width / 90);
  plot.add(svg("text", {x: plot.right, y: plot.bottom + 34, "text-anchor": "end"}, axis.title),
           svg("text", {x: plot.left - 6, y: plot.bottom + 4, "text-anchor": "end"}, result.time.unit));
  for (const {us, kind} of lines)
    if (kind === "baseline") plot.add(svg("line", {class: "baseline", x1: plot.left, x2: plot.right, y1: y(us), y2: y(us)}));
  if (data.best.length > 0) plot.add(svg("path", {class: "best", d: best_path(data.best, axis, end, x, y)}));
  plot.dots([
    ...result.verified.map((one) => ({x: x(axis.of_candidate(one)), y: y(one.time), candidate: one})),
    ...result.problems.map((one) => ({x: x(axis.of_candidate(one)), y: 9, candidate: one})),
  ]);
  add_labels(plot, result, lines, y, width);
  return plot;
}

function progress_legend(result) {
  const has = (kind) => result.problems.some((one) => one.kind === kind);
  const entry = (kind, sign, text) => html("span", {}, html("i", {class: kind}, sign), text);
  return html("div", {class: "legend"}, entry("mark", "\u25cf", "verified"), entry("best", "\u25c6", "winner"), entry("best", "\u2015", "best so far"),
              has("wrong") && entry("wrong", "\u00d7", "wrong"), has("failed") && entry("failed", "|", "failed"));
}

function progress_section(view) {
  if (view.result.verified.length === 0) return null;
  let axis = kProgressAxes.seconds;
  const figure = plot_figure(view, null, (width) => draw_progress(view, axis, width));
  const pick = choice("The axis across", [["seconds", "over time"], ["evaluations", "over evaluations"]], "seconds", (key) => {
    axis = kProgressAxes[key];
    figure.redraw();
  });
  return section("progress", "Best so far",
                 edge_text(view) && html("p", {class: "quiet"}, edge_text(view).trim()),
                 html("figcaption", {}, progress_legend(view.result), pick), figure);
}
