// SPDX-License-Identifier: Apache-2.0
// The device while it measured: clocks, temperature, power, and when it was held back.
"use strict";

const kGauges = [
  {key: "clock_mhz", title: "SM clock", unit: "MHz"},
  {key: "memory_clock_mhz", title: "memory clock", unit: "MHz"},
  {key: "power_w", title: "power", unit: "W"},
  {key: "temperature_c", title: "temperature", unit: "\u00b0C"},
];

/** Spans of samples of which something holds, from one to the next. */
function spans_of(health, end, holds) {
  const spans = [];
  health.forEach((one, i) => {
    if (!holds(one)) return;
    const until = health[i + 1]?.at_s ?? end;
    if (spans.at(-1)?.[1] === one.at_s) spans.at(-1)[1] = until;
    else spans.push([one.at_s, until]);
  });
  return spans;
}

function draw_gauge(view, health, gauge, width) {
  const {seconds} = view.result.data;
  const values = health.map((one) => one[gauge.key]);
  const low = Math.min(...values), high = Math.max(...values);
  const room = Math.max((high - low) * 0.1, high * 0.005, 1);
  const plot = new Plot(view, {width, height: 130, margin: {top: 6, right: 8, bottom: 22, left: 48}, label: `${gauge.title} over time, from ${low} to ${high} ${gauge.unit}`});
  const end = Math.max(seconds, health.at(-1).at_s);
  const x = linear_scale(0, end || 1, plot.left, plot.right), y = linear_scale(low - room, high + room, plot.bottom, plot.top);
  for (const [kind, holds] of [["capped", (one) => one.power_capped], ["throttled", (one) => one.throttled]]) {
    for (const [from, until] of spans_of(health, end, holds))
      plot.add(svg("rect", {class: kind, x: x(from), y: plot.top, width: Math.max(1.5, x(until) - x(from)), height: plot.bottom - plot.top}));
  }
  plot.y_axis(y, (tick) => number_text(tick), 3);
  plot.x_axis(x, (tick) => number_text(tick, tick % 1 === 0 ? 0 : 1), width / 80);
  const line = health.map((one, i) => `${i === 0 ? "M" : "L"}${x(one.at_s).toFixed(1)} ${y(one[gauge.key]).toFixed(1)}`).join("");
  plot.add(svg("path", {class: health.length > 1 ? "series" : "dots measured", "stroke-width": health.length > 1 ? 1.5 : 7, d: health.length > 1 ? line : `${line}h0`}));
  return plot;
}

function gauge_figure(view, health, gauge) {
  const values = health.map((one) => one[gauge.key]);
  const low = Math.min(...values), high = Math.max(...values);
  const range = low === high ? number_text(low) : `${number_text(low)} \u2013 ${number_text(high)}`;
  return plot_figure(view, html("figcaption", {}, html("b", {}, gauge.title), html("span", {class: "quiet"}, `${range} ${gauge.unit}`)), (width) => draw_gauge(view, health, gauge, width));
}

/** The gauges of one device; where several were looked at, of that which is chosen. */
function gauges(view) {
  const {health} = view.result.data;
  const looked_at = [...new Set(health.map((one) => one.device))].sort((a, b) => a - b);
  const place = html("div", {class: "multiples"});
  const show = (device) => {
    const figures = kGauges.map((gauge) => gauge_figure(view, health.filter((one) => one.device === device), gauge));
    place.replaceChildren(...figures);
    for (const figure of figures) figure.redraw();
  };
  show(looked_at[0]);
  return [looked_at.length > 1 && choice("Clocks of", looked_at.map((one) => [one, `device ${one + 1}`]), looked_at[0], show), place];
}

function device_section(view) {
  const {data} = view.result;
  const {health, device} = data;
  const about = `${device.name}, ${device.sm}, ${count_text(device.sms, "multiprocessor")}, memory at ${number_text(device.memory_mhz)} MHz.`;
  if (health.length === 0) return section("device", "Device", html("p", {class: "quiet"}, about, " Clocks, power and temperature were not recorded."), devices_table(data));
  const capped = health.filter((one) => one.power_capped).length;
  const throttled = health.filter((one) => one.throttled).length;
  const held = `${count_text(health.length, "sample")}: ${number_text(capped)} at the power limit (shaded), ${number_text(throttled)} throttled by heat or hardware${throttled > 0 ? " (shaded in magenta)" : ""}.`;
  return section("device", "Device", html("p", {class: "quiet"}, `${about} ${held} Horizontal axis: seconds.`), devices_table(data), gauges(view));
}
