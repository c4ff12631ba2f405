// SPDX-License-Identifier: Apache-2.0
// What was never tried because a rule forbids it.
"use strict";

function space_section(view) {
  const {space} = view.result.data;
  if (space.configurations === 0) return null;
  const counts = [["admissible", space.admissible], ...space.inadmissible.toSorted((a, b) => b.count - a.count).map((one) => [one.rule, one.count])];
  const most = Math.max(...counts.map(([, count]) => count), 1);
  const row = ([name, count], i) => html("tr", {class: i === 0 ? "admissible" : null},
    html("td", {class: "wrap"}, name), html("td", {class: "number"}, number_text(count)),
    html("td", {class: "number"}, percent_text(count / space.configurations)),
    html("td", {class: "bar"}, html("div", {style: `width:${(100 * count / most).toFixed(2)}%`})));
  return section("space", "Admissible or not",
    html("p", {class: "quiet"}, `The space has ${count_text(space.configurations, "configuration")}. Configurations that break a rule are removed before anything is compiled; each counts for the first rule that it breaks.`),
    html("div", {class: "scroll"}, html("table", {class: "bars"}, html("tbody", {}, counts.map(row)))));
}
