// SPDX-License-Identifier: Apache-2.0
// What occupies each unit while the first warp of a scheduler makes one iteration.
"use strict";

const kLanes = {width: 1100, left: 90, row: 20, bottom: 22};

function timeline_figure(hottest, units, pointed) {
  const used = units.filter((unit) => hottest.events.some((one) => one.unit === unit.name));
  if (used.length === 0) return undefined;
  const {width, left, row, bottom} = kLanes;
  const end = Math.max(hottest.event_cycles, 1);
  const height = used.length * row + bottom;
  const x = linear_scale(0, end, left, width - 8);
  const parts = [];
  used.forEach((unit, i) => {
    parts.push(svg("text", {x: left - 8, y: i * row + 14, "text-anchor": "end"}, unit.name));
    parts.push(svg("line", {x1: left, x2: width - 8, y1: (i + 1) * row, y2: (i + 1) * row}));
  });
  for (const one of hottest.events) {
    if (one.begin >= end || one.end <= 0) continue;
    const lane = used.findIndex((unit) => unit.name === one.unit);
    const from = Math.max(one.begin, 0), to = Math.min(one.end, end);
    const box = svg("rect", {class: one.warp === 0 ? "first" : "other", "data-op": one.op, x: x(from), y: lane * row + 3,
                             width: Math.max(x(to) - x(from), 1), height: row - 6,
                             onmousemove: (event) => { pointed(one.op); show_tooltip(event.clientX, event.clientY, timeline_words(hottest, one)); },
                             onmouseleave: () => { pointed(undefined); hide_tooltip(); }});
    parts.push(box);
  }
  for (const tick of x.ticks(8)) parts.push(svg("text", {x: x(tick), y: height - 6, "text-anchor": "middle"}, number_text(tick)));
  return svg("svg", {class: "lanes", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Units over time"}, parts);
}

function timeline_words(hottest, one) {
  return html("div", {}, html("strong", {}, hottest.code[one.op].text),
              html("div", {class: "quiet"}, `${one.unit}, warp ${one.warp}, cycles ${number_text(one.begin)} to ${number_text(one.end)}`));
}
