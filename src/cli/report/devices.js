// SPDX-License-Identifier: Apache-2.0
// Who shared the search: each device with its part of it, or why it had none. One alone needs no table.
"use strict";

function devices_table(data) {
  const {devices} = data;
  if (devices.length < 2 && !devices.some((one) => one.left_out)) return null;
  const ranks = devices.some((one) => one.rank > 0);
  const row = (one, i) => html("tr", {},
    html("td", {class: "number"}, String(i + 1)),
    html("td", {}, one.name),
    ranks && html("td", {class: "number"}, String(one.rank)),
    html("td", {class: "number"}, number_text(one.evaluations)),
    html("td", {class: "number"}, one.ratio > 0 ? number_text(one.ratio, 3) : kNone),
    html("td", {class: one.left_out ? "wrap of-failed" : null}, one.left_out ? `left out: ${one.left_out.message} (${one.left_out.code})` : "took part"));
  const head = [["#", true], ["device"], ranks && ["rank", true], ["candidates", true], ["common candidate, to the first", true], ["outcome"]].filter(Boolean);
  return html("div", {class: "scroll"}, html("table", {class: "devices"},
    html("thead", {}, html("tr", {}, head.map(([text, number]) => html("th", {scope: "col", class: number ? "number" : null}, text)))),
    html("tbody", {}, devices.map(row))));
}
