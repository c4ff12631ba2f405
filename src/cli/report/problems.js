// SPDX-License-Identifier: Apache-2.0
// What was wrong or failed, and why; by code, wrong results first, for they are bugs.
"use strict";

const kProblemsOpen = 5;  // a longer list is folded

function problem_table(view, group) {
  const some_saved = group.some((one) => one.saved);
  const row = (one) => html("tr", {},
    html("td", {}, html("button", {type: "button", class: "plain", onclick: () => view.show_row(one)}, one.name)),
    html("td", {class: "wrap"}, one.message),
    html("td", {class: "wrap code"}, config_text(one.config)),
    some_saved && html("td", {class: "wrap code"}, one.saved ?? kNone));
  const head = ["#", "why", "configuration", some_saved && "what reproduces it"].filter(Boolean);
  return html("div", {class: "scroll"}, html("table", {}, html("thead", {}, html("tr", {}, head.map((text) => html("th", {scope: "col"}, text)))),
                                             html("tbody", {}, group.map(row))));
}

function problem_group(view, [code, group]) {
  const of_seed = group[0].kind === "wrong" ? `, data from seed ${view.result.data.seed}` : "";
  const title = `${code}: ${count_text(group.length, "candidate")}${of_seed}`;
  return html("details", {open: group.length <= kProblemsOpen || group[0].kind === "wrong"}, html("summary", {}, html("b", {}, title)), problem_table(view, group));
}

function restarts_list(view) {
  const {restarts} = view.result.data;
  if (restarts.length === 0) return null;
  const name = (one) => view.result.candidates[one.candidate]?.name ?? kNone;
  return html("details", {}, html("summary", {}, html("b", {}, `the worker was restarted ${count_text(restarts.length, "time")}`)),
    html("ul", {}, restarts.map((one) => html("li", {}, `after ${number_text(one.at_s, 1)} s, by ${name(one)}: ${one.why}`))));
}

function problems_section(view) {
  const groups = new Map();
  for (const one of view.result.problems) groups.set(one.state, [...(groups.get(one.state) ?? []), one]);
  const restarts = restarts_list(view);
  if (groups.size === 0 && !restarts) return null;
  const sorted = [...groups].sort(([, a], [, b]) => (b[0].kind === "wrong") - (a[0].kind === "wrong") || b.length - a.length);
  return section("problems", "Wrong and failed", sorted.map((group) => problem_group(view, group)), restarts);
}
