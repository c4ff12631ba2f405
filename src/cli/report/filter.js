// SPDX-License-Identifier: Apache-2.0
// Which candidates the table shows: words that must all hold, and states.
"use strict";

/** A condition of a word: NAME=VALUE is exact, NAME<NUMBER and NAME>NUMBER compare, any other is looked for in the text. */
function word_condition(word, columns) {
  const compared = /^([^<>=]+)([<>]=?)(-?[0-9.]+)$/.exec(word);
  if (compared) {
    const column = columns.find((one) => one.key === compared[1] || one.title === compared[1]);
    const limit = Number(compared[3]);
    const tests = {"<": (x) => x < limit, ">": (x) => x > limit, "<=": (x) => x <= limit, ">=": (x) => x >= limit};
    const value = (one) => Number(column ? column.shown?.(one) ?? column.value(one) : one.config[compared[1]]);
    return (one) => tests[compared[2]](value(one));
  }
  const at = word.indexOf("=");
  if (at > 0) {
    return (one) => Object.entries(one.config).some(([name, value]) => `${name}=${value}`.toLowerCase() === word);
  }
  return (one) => one.words.includes(word);
}

class Filter {
  #text = "";
  #states = new Set();

  constructor(result, columns, changed) {
    for (const one of result.candidates)
      one.words = `${one.name} ${config_text(one.config)} ${one.state} ${one.message ?? ""} ${one.device_name ?? ""}`.toLowerCase();
    this.columns = columns;
    this.changed = changed;
    this.input = html("input", {
      type: "search", placeholder: "Filter: tile_m=128 registers<200 time-limit", "aria-label": "Filter the candidates", spellcheck: "false",
      oninput: () => this.set(this.input.value),
    });
    this.node = html("div", {class: "filter"}, this.input, this.#state_buttons(result));
  }

  set(text) {
    this.#text = text;
    if (this.input.value !== text) this.input.value = text;
    this.changed();
  }

  /** Adds a word, in place of one of the same parameter. */
  add(word) {
    const name = `${word.split("=")[0]}=`;
    const words = this.#text.split(/\s+/).filter((one) => one !== "" && !one.startsWith(name));
    this.set([...words, word].join(" "));
  }

  /** Lets all pass, without saying so. */
  clear() {
    this.#text = this.input.value = "";
    this.#states.clear();
    for (const button of this.node.querySelectorAll("button")) button.setAttribute("aria-pressed", "false");
  }

  apply(candidates) {
    const words = this.#text.toLowerCase().split(/\s+/).filter((one) => one !== "");
    const conditions = words.map((word) => word_condition(word, this.columns));
    if (this.#states.size > 0) conditions.push((one) => this.#states.has(one.state));
    return candidates.filter((one) => conditions.every((holds) => holds(one)));
  }

  #state_buttons(result) {
    const counts = new Map();
    for (const one of result.candidates) counts.set(one.state, (counts.get(one.state) ?? 0) + 1);
    if (counts.size < 2) return null;
    return html("div", {class: "states", role: "group", "aria-label": "States"}, [...counts].sort((a, b) => b[1] - a[1]).map(([state, count]) => {
      const button = html("button", {type: "button", "aria-pressed": "false", onclick: () => {
        if (!this.#states.delete(state)) this.#states.add(state);
        button.setAttribute("aria-pressed", String(this.#states.has(state)));
        this.changed();
      }}, `${state} ${number_text(count)}`);
      return button;
    }));
  }
}
