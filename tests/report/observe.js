// SPDX-License-Identifier: Apache-2.0
// Added to a page by browser_test.py: uses it as a person does, and leaves what was seen in the element "observed".
"use strict";

const all = (query, root = document) => [...root.querySelectorAll(query)];
const texts = (query, root) => all(query, root).map((one) => one.textContent);
const paper = () => getComputedStyle(document.body).backgroundColor;

function column(title) {
  const at = all("table.candidates thead th").findIndex((one) => one.querySelector("button").textContent === title);
  return at < 0 ? null : all("table.candidates tbody tr:not(.more)").map((row) => row.children[at].textContent);
}

function press(text, root = document) {
  const button = all("button", root).find((one) => one.textContent.startsWith(text));
  button?.click();
  return Boolean(button);
}

function filtered(words) {
  const input = document.querySelector(".filter input");
  input.value = words;
  input.dispatchEvent(new Event("input"));
  press("Show all");
  return column("#").map(Number);
}

function use_table(seen) {
  if (!document.querySelector("table.candidates")) return;
  press("Show all");
  seen.rows = column("#").map(Number);
  press("time", document.querySelector("table.candidates thead"));
  seen.by_time_again = column("#").map(Number);
  press("tile_m", document.querySelector("table.candidates thead"));
  seen.by_tile_m = column("tile_m");
  seen.tile_m_128 = filtered("tile_m=128 stages=4");
  seen.registers = filtered("registers<100");
  seen.by_device = column("device");
  seen.device_name = filtered("3b:00");
  seen.nothing = filtered("no such word");
  filtered("");
  seen.states = texts(".filter .states button");
  if (press("wrong-result", document.querySelector(".filter"))) {
    press("Show all");
    seen.wrong = column("#").map(Number);
    press("wrong-result", document.querySelector(".filter"));
  }
  const row = document.querySelector("table.candidates tbody tr");
  row.focus();
  row.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
  seen.details = document.querySelector("tr.more code")?.textContent;
  row.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowDown", bubbles: true}));
  seen.walked = document.activeElement.rowIndex > row.rowIndex;
}

function use_pictures(seen) {
  seen.parameters = texts("#parameters figcaption b");
  seen.resources = texts("#resources figcaption b");
  const picture = document.querySelector("#progress svg.plot[tabindex]");
  if (!picture) return;  // nothing was timed
  picture.scrollIntoView();
  const winner = picture.querySelector(".winner").getBoundingClientRect();
  picture.dispatchEvent(new PointerEvent("pointermove", {clientX: winner.x + winner.width / 2, clientY: winner.y + winner.height / 2, bubbles: true}));
  seen.tooltip = document.getElementById("tooltip").textContent;
  seen.pointed = all("svg.plot .pointed[visibility=visible]").length;
  picture.dispatchEvent(new PointerEvent("pointerleave"));
  seen.tooltip_hidden = document.getElementById("tooltip").hidden;
  picture.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
  seen.walked_to = document.querySelector("#tooltip strong").textContent;
  picture.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
  seen.opened = all("table.candidates tr.open").length > 0;
  const before = picture.querySelector(".best")?.getAttribute("d");
  press("over evaluations");
  seen.axis_differs = document.querySelector("#progress svg.plot .best")?.getAttribute("d") !== before;
  const value = document.querySelector("#parameters [role=button]");
  value?.dispatchEvent(new MouseEvent("click", {bubbles: true}));
  seen.filter = document.querySelector(".filter input").value;
}

function use_page() {
  const seen = {title: document.title, heading: texts("h1"), sections: texts("h2"), figures: texts(".figure"), notes: texts(".notes li"),
                alerts: all("main script, main img").length, wide: document.documentElement.scrollWidth > innerWidth};
  seen.results = all("script.result").map((one) => JSON.parse(one.textContent));
  seen.ptx = document.querySelector("#ptx pre")?.textContent;
  seen.inadmissible = texts("#space td:nth-child(2)");
  seen.commands = texts("#commands code");
  seen.against = texts(".against tbody th");
  seen.pairs = texts("#finalists tbody tr td:last-child");
  seen.rankings = texts("#rankings");
  seen.problems = texts("#problems details > summary");
  seen.gauges = all("#device svg.plot").length;
  seen.devices = all("table.devices tbody tr").map((row) => texts("td", row));
  if (press("device 2", document.querySelector("#device"))) seen.gauges_of_second = all("#device svg.plot").length;
  seen.paper = {auto: paper()};
  for (const mode of ["light", "dark", "auto"]) {
    document.getElementById("theme").click();
    seen.paper[mode === "auto" ? "again" : mode] = paper();
  }
  use_table(seen);
  use_pictures(seen);
  const devices = all("[aria-label=Device] button");
  devices.at(-1)?.click();
  seen.other_rows = devices.length > 0 ? document.querySelector("#candidates [role=status]").textContent : null;
  return seen;
}

addEventListener("load", () => {
  let seen = {};
  try {
    seen = document.getElementById("theme") ? use_page() : {heading: texts("h1")};
  } catch (error) {
    errors.push(`observe: ${error.stack}`);
  }
  const place = document.createElement("pre");
  place.id = "observed";
  place.textContent = JSON.stringify({...seen, errors});
  document.body.append(place);
});
