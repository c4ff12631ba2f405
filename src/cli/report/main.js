// SPDX-License-Identifier: Apache-2.0
// Puts the page together: the bar above, and the sections of the result that is looked at.
"use strict";

/** Follows the system, or is light, or dark. */
function theme_button() {
  const modes = ["auto", "light", "dark"];
  const stored = () => { try { return localStorage.getItem("ptxloom-theme") ?? "auto"; } catch { return "auto"; } };
  const apply = (mode) => {
    if (mode === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = mode;
    button.textContent = `Theme: ${mode}`;
    try { localStorage.setItem("ptxloom-theme", mode); } catch { /* a page that may store nothing forgets it */ }
  };
  let mode = stored();
  const button = html("button", {type: "button", id: "theme", onclick: () => apply(mode = modes[(modes.indexOf(mode) + 1) % modes.length])});
  apply(modes.includes(mode) ? mode : "auto");
  return button;
}

/** The result as `tune --json` gave it, as a file. */
function save_button(result) {
  return html("button", {type: "button", onclick: () => {
    const address = URL.createObjectURL(new Blob([`${result.text.trim()}\n`], {type: "application/json"}));
    html("a", {href: address, download: `tune-${result.data.template}-${result.data.device.sm}.json`.replace(/[^\w.-]+/g, "_")}).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }}, "Save JSON");
}

/** What the sections share. The table of candidates puts its own functions in the place of the empty ones. */
function make_view(result) {
  return {result, focus: new Focus(), show_row: () => {}, add_filter: () => {}};
}

function show_result(results, result) {
  hide_tooltip();
  const view = make_view(result);
  const sections = [winner_section, progress_section, parameters_section, resources_section, candidates_section,
                    pairs_section, problems_section, space_section, device_section].map((make) => make(view)).filter(Boolean);
  const links = sections.map((one) => html("a", {href: `#${one.id}`}, sentence_case(one.id)));
  const devices = results.length > 1 && html("div", {class: "choice", role: "group", "aria-label": "Device"}, results.map((one) => html("button", {
    type: "button", "aria-pressed": String(one === result), onclick: () => show_result(results, one)}, one.data.device.name)));
  document.getElementById("bar").replaceChildren(html("strong", {}, "ptxloom tune"), html("nav", {"aria-label": "Sections"}, links),
                                                 html("div", {class: "right"}, devices, save_button(result), theme_button()));
  document.getElementById("report").replaceChildren(...headline(view).flat().filter(Boolean), ...sections);
  // Drawn now, not in the next frame; what is folded away has no width yet and is drawn when it is opened.
  for (const figure of document.querySelectorAll("#report figure")) figure.redraw?.();
  document.title = `${result.data.template} on ${result.data.device.name} \u2013 ptxloom tune`;
}

const results = [...document.querySelectorAll("script.result")].map((element) => read_result(element.textContent));
if (results.length > 0) show_result(results, results[0]);
else document.getElementById("report").append(html("h1", {}, "The search is not over"), html("p", {}, "There is no result yet: the search is running, or it ended before it found anything."));
