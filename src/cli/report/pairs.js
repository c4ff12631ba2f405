// SPDX-License-Identifier: Apache-2.0
// The best few, timed in turns: was one faster, or is it a tie?
"use strict";

const kIntervalWidth = 220, kIntervalHeight = 18;

/** The interval of a ratio as a line, its median as a dot, and where both are alike. */
function interval_picture(one, [low, high]) {
  const x = linear_scale(low, high, 6, kIntervalWidth - 6);
  const y = kIntervalHeight / 2;
  return svg("svg", {class: "plot", style: `width:${kIntervalWidth}px`, viewBox: `0 0 ${kIntervalWidth} ${kIntervalHeight}`, role: "img", "aria-label": `from ${one.low} to ${one.high}`},
             svg("line", {class: "axis", x1: x(1), x2: x(1), y1: 0, y2: kIntervalHeight}),
             svg("line", {class: "series", x1: x(one.low), x2: x(one.high), y1: y, y2: y}),
             svg("path", {class: "dots", style: "opacity:1", "stroke-width": 7, d: `M${x(one.ratio)} ${y}h0`}));
}

const kVerdicts = {faster: (one) => `${percent_text(1 - one.ratio)} faster`, slower: (one) => `${percent_text(one.ratio - 1)} slower`, tie: () => "a tie"};

function pairs_section(view) {
  const {result} = view;
  const pairs = result.data.final;
  if (pairs.length === 0) return null;
  const range = [Math.min(0.998, ...pairs.map((one) => one.low)), Math.max(1.002, ...pairs.map((one) => one.high))];
  const link = (index) => html("button", {type: "button", class: "plain", onclick: () => view.show_row(result.candidates[index])}, result.candidates[index].name);
  const row = (one) => html("tr", {},
    html("td", {}, link(one.candidate)), html("td", {}, link(one.rival)),
    html("td", {class: "number"}, number_text(one.ratio, 4)),
    html("td", {class: "number"}, `${number_text(one.low, 4)} \u2013 ${number_text(one.high, 4)}`),
    html("td", {}, interval_picture(one, range)),
    html("td", {class: "number"}, number_text(one.rounds)),
    html("td", {class: `of-${one.verdict}`}, kVerdicts[one.verdict](one)));
  const head = ["candidate", "against", "ratio", "95 % interval", "against 1", "rounds", "verdict"];
  return section("finalists", "Finalists",
    html("p", {class: "quiet"}, "The ratio is the candidate\u2019s time over the other\u2019s, round by round. If its interval contains 1, the two cannot be told apart."),
    html("div", {class: "scroll"}, html("table", {class: "finalists"}, html("thead", {}, html("tr", {}, head.map((text, i) => html("th", {scope: "col", class: i === 2 || i === 3 || i === 5 ? "number" : null}, text)))), html("tbody", {}, pairs.map(row)))));
}
