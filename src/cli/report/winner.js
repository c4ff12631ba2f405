// SPDX-License-Identifier: Apache-2.0
// The winner: configuration, resources, launches, PTX.
"use strict";

/** Copies text; also where the page is a file and the clipboard is not given to it. */
async function copy_text(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = html("textarea", {style: "position:fixed;opacity:0"});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const name = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = name; }, 1500);
}

function resource_pairs(resources, one) {
  if (!resources) return [];
  const spills = resources.spill_stores + resources.spill_loads;
  return [
    ["registers a thread", number_text(resources.registers)],
    ["static shared memory", bytes_text(resources.shared)],
    ["stack of a thread", bytes_text(resources.stack)],
    ["spilled", spills === 0 ? "nothing" : `${bytes_text(resources.spill_stores)} stored, ${bytes_text(resources.spill_loads)} loaded`],
    ...(is_number(one?.occupancy) ? [["occupancy", `${percent_text(one.occupancy, 0)}: ${count_text(one.per_sm, "block")} on an SM`]] : []),
  ];
}

function launch_pairs(launch) {
  const extent = (sizes) => sizes.map((size) => number_text(size)).join(" \u00d7 ");
  return [
    ["entry", html("code", {}, launch.entry)],
    ["grid", extent(launch.grid)],
    ["block", extent(launch.block)],
    ...(launch.cluster.some((size) => size > 1) ? [["cluster", extent(launch.cluster)]] : []),
    ["dynamic shared memory", bytes_text(launch.shared_bytes)],
  ];
}

function ptx_block(ptx) {
  const lines = ptx.split("\n").length;
  const button = html("button", {type: "button", onclick: () => copy_text(ptx, button)}, "Copy");
  return html("details", {id: "ptx"}, html("summary", {}, `PTX, ${count_text(lines, "line")}`),
              html("div", {class: "source"}, button, html("pre", {tabindex: 0}, ptx)));
}

/** Commands to try what the page says: they are copied whole. */
function commands(view, config) {
  const {data} = view.result;
  const sets = (settings) => Object.entries(settings).flatMap(([name, value]) => ["--set", `${name}=${value}`]);
  const given = [...sets(data.problem), ...sets(config)];
  const all = [["Run and verify this configuration", ["ptxloom", "run", data.template, ...given]],
               ["Write its PTX to a file", ["ptxloom", "emit", data.template, "--target", data.device.sm, ...given, "-o", `${data.template}.ptx`]],
               ["Search the same again", data.command]];
  const row = ([title, words]) => {
    const text = shell_text(words);
    const button = html("button", {type: "button", "aria-label": `Copy: ${title}`, onclick: () => copy_text(text, button)}, "Copy");
    // Lines break between options only.
    const options = text.split(/ (?=--?\w)/).map((one, i) => [i > 0 && " ", html("span", {}, one)]);
    return html("li", {}, html("span", {class: "title"}, title, button), html("code", {}, options));
  };
  return html("details", {id: "commands"}, html("summary", {}, "Commands: run it, write its PTX, search again"), html("ul", {class: "commands"}, all.map(row)));
}

function winner_section(view) {
  const {data, winner} = view.result;
  const config = winner?.config ?? data.record?.config;
  if (!config) return null;
  const launches = data.winner?.launches ?? [];
  const {record} = data;
  const made = record ? [["library", `ptxloom ${record.library}`], ["linker", `nvJitLink ${record.linker}`], ["its options", html("code", {}, record.flags)]] : [];
  return section("winner", winner ? `Winner ${winner.name}` : "Winner", html("div", {class: "columns"},
    html("div", {}, html("h3", {}, "Configuration"), pairs_list(Object.entries(config))),
    html("div", {}, html("h3", {}, "Resources"), pairs_list([...resource_pairs(record?.resources, winner), ...made])),
    launches.map((launch, i) => html("div", {}, html("h3", {}, launches.length > 1 ? `Launch ${i + 1}` : "Launch"), pairs_list(launch_pairs(launch))))),
    data.winner?.ptx && ptx_block(data.winner.ptx), commands(view, config));
}
