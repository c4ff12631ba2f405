// SPDX-License-Identifier: Apache-2.0
// The winner's time beside those it is held against, as bars from zero.
"use strict";

function against_bars(result) {
  const {best, baselines, time, data} = result;
  if (!(best > 0) || baselines.length === 0) return null;
  const least = data.rates.least_us;
  const rows = [{name: "the winner", us: best, kind: "best"}, ...baselines.map((one) => ({name: one.name, us: one.time_us, kind: "other"})),
                ...(least > 0 ? [{name: "the chip\u2019s limits", us: least, kind: "limit"}] : [])].sort((a, b) => a.us - b.us);
  const most = Math.max(...rows.map((one) => one.us));
  const row = ({name, us, kind}) => html("tr", {class: kind},
    html("th", {scope: "row"}, name), html("td", {class: "number"}, time.whole(us)), html("td", {class: "number"}, times_text(us / best)),
    html("td", {class: "bar", "aria-hidden": "true"}, html("div", {style: `width:${(100 * us / most).toFixed(2)}%`})));
  return html("table", {class: "bars against"},
    html("thead", {}, html("tr", {}, html("th", {scope: "col"}, "compared with"), html("th", {scope: "col", class: "number"}, "time"), html("th", {scope: "col", class: "number"}, "to best"), html("td"))),
    html("tbody", {}, rows.map(row)));
}
