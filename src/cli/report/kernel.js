// SPDX-License-Identifier: Apache-2.0
// Puts the page of `report` together.
"use strict";

const kStallNames = {issued: "issues", stall_count: "stall count", scoreboard: "scoreboard", unit_busy: "unit busy",
                     register_banks: "register banks", barrier: "barrier", not_selected: "another warp was chosen", other: "something else"};

function hex(offset) {
  return offset.toString(16).padStart(4, "0");
}

/** Rows of {name, what, share, text, limit} as bars. */
function bar_table(rows) {
  return html("table", {class: "bars kernel"}, html("tbody", {}, rows.map((one) => html("tr", {class: one.limit ? "limit" : ""},
    html("th", {scope: "row"}, one.name), html("td", {class: "bar"}, html("div", {style: `width:${Math.max(0, Math.min(1, one.share)) * 100}%`})),
    html("td", {class: "number"}, one.text), html("td", {class: "quiet"}, one.what ?? "")))));
}

function resources_list(report, kernel) {
  const {resources, occupancy} = kernel;
  const launched = occupancy === null ? [] : [
    ["warps on an SM", occupancy.blocks === 0 ? `none: a thread block does not fit (${occupancy.limit})` : `${occupancy.warps} of ${occupancy.most_warps}; ${occupancy.limit === "given" ? "as given" : `limit: ${occupancy.limit}`}`],
    ["thread blocks on an SM", `${occupancy.blocks} of ${occupancy.block_warps} warps`],
  ];
  return pairs_list([
    ["registers of a thread", number_text(resources.registers)],
    ["shared memory of a thread block", `${bytes_text(resources.static_shared)} static, ${bytes_text(resources.dynamic_shared)} dynamic`],
    ["local memory of a thread", bytes_text(resources.local)],
    ...launched,
    ["instructions", number_text(kernel.instructions)],
  ]);
}

function mix_bars(report, mix) {
  const total = mix.reduce((sum, one) => sum + one.count, 0);
  return bar_table(mix.map((one) => ({name: one.unit, share: one.count / mix[0].count, text: `${one.count} (${percent_text(one.count / total, 0)})`,
                                      what: report.units.find((unit) => unit.name === one.unit)?.what})));
}

function bound_bars(loop) {
  return bar_table(loop.bounds.map((one) => ({name: one.name, share: one.busy, limit: one.name === loop.bound,
                                             text: `${number_text(one.cycles, 1)} cycles`, what: `${one.what}${one.assumed ? " (assumed)" : ""}`})));
}

function stall_bars(stalls) {
  const total = Object.values(stalls).reduce((sum, cycles) => sum + cycles, 0) || 1;
  const rows = Object.keys(kStallNames).map((name) => [name, stalls[name] ?? 0]).filter(([, cycles]) => cycles >= 0.001 * total);
  return bar_table(rows.map(([name, cycles]) => ({name: kStallNames[name], share: cycles / total, text: `${number_text(cycles, 1)} cycles (${percent_text(cycles / total, 0)})`})));
}

/** What Nsight Compute measured, of the whole kernel. */
function measured_part(kernel) {
  if (!kernel.measured) return null;
  return html("div", {class: "measured"}, html("h3", {}, "Its time for each instruction, measured"), stall_bars(kernel.measured.stalls),
              html("p", {class: "quiet small"}, `By Nsight Compute, of the whole kernel; launches: ${number_text(kernel.measured.launches)}.`));
}

function code_table(hottest) {
  return html("div", {class: "scroll"}, html("table", {class: "code"}, html("tbody", {}, hottest.code.map((one, i) => html("tr", {"data-op": i},
    html("td", {class: "quiet"}, hex(one.offset)), html("td", {class: "quiet"}, one.control), html("td", {}, one.text),
    html("td", {class: "number"}, one.waited >= 0.5 ? `waited for ${number_text(one.waited)}` : ""), html("td", {class: "ptx"}, one.ptx))))));
}

/** Marks an instruction in the timeline and in the code. */
function point_in(element) {
  return (op) => {
    for (const one of element.querySelectorAll("[data-op]")) one.classList.toggle("pointed", op !== undefined && one.dataset.op === String(op));
  };
}

function loop_row(loop, kernel, i) {
  return html("tr", {class: kernel.hottest?.loop === i ? "winner" : ""},
    html("td", {}, `${hex(loop.first)} to ${hex(loop.last)}`), html("td", {class: "number"}, number_text(loop.instructions)),
    html("td", {class: "number"}, is_number(loop.cycles) ? number_text(loop.cycles, 1) : "no prediction"), html("td", {}, is_number(loop.cycles) ? loop.bound : kNone),
    html("td", {class: "number"}, number_text(loop.alone, 1)), html("td", {class: "number"}, number_text(loop.path, 1)),
    html("td", {class: "number"}, loop.tensor_busy > 0 ? percent_text(loop.tensor_busy, 0) : kNone));
}

function loops_table(kernel) {
  const titles = [["loop"], ["instructions", 1], ["cycles", 1], ["limit"], ["one warp alone", 1], ["dependences", 1], ["tensor cores busy", 1]];
  return html("div", {class: "scroll"}, html("table", {class: "candidates"},
    html("thead", {}, html("tr", {}, titles.map(([title, number]) => html("th", {class: number ? "number" : "", scope: "col"}, title)))),
    html("tbody", {}, kernel.loops.map((loop, i) => loop_row(loop, kernel, i)))));
}

function headline_of(kernel) {
  const hottest = kernel.hottest;
  if (!hottest) return html("p", {}, `${kernel.kernel ? "This kernel" : "This function"} has no loop: there is nothing to predict.`);
  const loop = kernel.loops[hottest.loop];
  if (kernel.occupancy?.blocks === 0) return html("p", {}, "A thread block does not fit on an SM, so there is no prediction.");
  if (!is_number(loop.cycles)) return html("p", {}, "The warps of its hottest loop wait for something outside of it, so there is no prediction.");
  const figure = (value, label, best) => html("div", {class: best ? "figure best" : "figure"}, html("div", {class: "value"}, value), html("div", {class: "label"}, label));
  return html("div", {class: "figures"}, figure(loop.bound, "limits the hottest loop", true),
    figure(number_text(loop.cycles, 1), "cycles an iteration of all warps of an SM"),
    figure(is_number(hottest.operations_per_second) ? tera_text(hottest.operations_per_second) : kNone, "operations, if all warps are in this loop"),
    loop.tensor_busy > 0 && figure(percent_text(loop.tensor_busy, 0), "of the time tensor cores are busy"));
}

function kernel_section(report, kernel, i) {
  const hottest = kernel.hottest;
  const loop = hottest && kernel.loops[hottest.loop];
  const predicted = loop && is_number(loop.cycles);
  const made = section(`kernel-${i}`, kernel.name, headline_of(kernel));
  made.append(html("div", {class: "columns halves"}, html("div", {}, html("h3", {}, "Resources"), resources_list(report, kernel)),
                   html("div", {}, html("h3", {}, "Instructions by unit"), mix_bars(report, kernel.mix))));
  if (kernel.loops.length > 0) made.append(html("h3", {}, "Loops"), loops_table(kernel));
  if (!predicted) {
    made.append(...[measured_part(kernel)].filter(Boolean));
    return made;
  }
  const roof = roofline_figure(report.roofline, hottest.operations_per_second);
  if (roof) made.append(html("h3", {}, `Roofline${report.gpu ? ` of ${report.gpu.name}` : ""}`), html("div", {class: "scroll"}, roof));
  made.append(html("div", {class: "columns halves"}, html("div", {}, html("h3", {}, "What limits the hottest loop"), bound_bars(loop)),
                   html("div", {}, html("h3", {}, "A warp's time in it, predicted"), stall_bars(loop.stalls), measured_part(kernel))));
  const lanes = timeline_figure(hottest, report.units, point_in(made));
  if (lanes) made.append(html("h3", {}, "Units in one iteration"), html("p", {class: "quiet small"}, "Cycles from left to right. Blue: the first warp of a scheduler; grey: its other warps, unless they have too many instructions to show. Units of the SM show this scheduler's part."), html("div", {class: "scroll"}, lanes));
  made.append(html("h3", {}, "Its machine code"), code_table(hottest));
  return made;
}

function show_report(report) {
  const shown = report.functions.length === 0 ? [html("p", {}, "The file has no code.")] : report.functions.map((kernel, i) => kernel_section(report, kernel, i));
  const words = Object.entries(report.config ?? {}).map(([name, value]) => [name, value]);
  document.getElementById("report").replaceChildren(
    html("h1", {}, report.title), html("p", {class: "quiet"}, `${report.target}${report.gpu ? `, ${report.gpu.name}` : ""}. Predicted from the machine code${report.unmeasured ? `; nothing was measured, since ${report.unmeasured}` : ""}.`),
    ...(words.length > 0 ? [pairs_list(words, "settings")] : []),
    ...(report.assumed ? [html("ul", {class: "notes info"}, html("li", {}, "The issue model was measured on sm_90 only. What is marked as assumed rests on figures of sm_90 that nobody has published for this chip; latencies of loads and of other results behind scoreboards are among them."))] : []),
    ...(report.nvdisasm === "" ? [html("ul", {class: "notes info"}, html("li", {}, "Without nvdisasm the text of instructions is ptxloom's own, and has no operands but registers."))] : []), ...shown);
  document.title = `${report.title} \u2013 ptxloom report`;
}

for (const element of document.querySelectorAll("script.result")) show_report(JSON.parse(element.textContent));
