// SPDX-License-Identifier: Apache-2.0
// Every candidate in a table that sorts and filters. Rows open; arrow keys walk, Enter opens.
"use strict";

const kRowsAtOnce = 50;  // more come on demand, so that what follows is near and sorting thousands is quick

/** {key, title, unit, value(candidate), text(candidate), number}; `shown` is the value in the unit where it differs. */
function figure_columns(result) {
  const number = (key, title, unit, digits = 0) => ({
    key, title, unit, number: true, value: (one) => one[key], text: (one) => number_text(one[key], digits)});
  const kib = (one) => one.shared / 1024;
  const slower = (one) => one.time / result.best;
  const percent = (key) => (one) => 100 * one[key];
  return [
    {key: "number", title: "#", number: true, value: (one) => one.index + 1, text: (one) => String(one.index + 1)},
    {key: "state", title: "state", value: (one) => one.state, text: (one) => one.state},
    {key: "time", title: "time", unit: result.time.unit, number: true, value: (one) => one.time, text: (one) => result.time.text(one.time),
     shown: (one) => one.time * result.time.scale},
    {key: "slower", title: "to best", unit: "\u00d7", number: true, value: slower, text: (one) => number_text(slower(one), 2)},
    {key: "spread", title: "spread", unit: "%", number: true, value: (one) => one.spread, text: (one) => number_text(100 * one.spread, 1), shown: percent("spread")},
    ...result.rates.slice(0, 1).map((rate) => ({key: "rate", title: "rate", unit: rate.unit, number: true, value: (one) => (one.time > 0 ? 1 / one.time : undefined), text: (one) => rate.text(one.time)})),
    number("registers", "regs", "a thread"),
    {key: "shared", title: "shared", unit: "KiB", number: true, value: (one) => one.shared, text: (one) => (is_number(one.shared) ? number_text(kib(one), 1) : kNone), shown: kib},
    number("threads", "threads", "a block"),
    {key: "occupancy", title: "occup.", unit: "%", number: true, value: (one) => one.occupancy, text: (one) => number_text(100 * one.occupancy), shown: percent("occupancy")},
    number("spills", "spilled", "B"),
    number("device", "device"),
  ].filter((column) => result.candidates.some((one) => !is_missing(column.value(one))));
}

/** A parameter's values, by size where all of them are numbers. */
function setting_column({name, values}, i) {
  const numbers = values.every((value) => value !== "" && Number.isFinite(Number(value)));
  return {key: name, title: name, number: numbers, first: i === 0,
          value: (one) => (numbers ? Number(one.config[name]) : one.config[name]), text: (one) => one.config[name] ?? kNone};
}

function is_missing(value) {
  return value === undefined || Number.isNaN(value);
}

/** Smaller first; what has no value comes last either way. */
function compare_by(column, direction) {
  return (a, b) => {
    const x = column.value(a), y = column.value(b);
    if (is_missing(x) || is_missing(y)) return is_missing(x) - is_missing(y) || a.index - b.index;
    return (x < y ? -1 : x > y ? 1 : 0) * direction || a.index - b.index;
  };
}

class CandidateTable {
  #direction = 1;
  #limit = kRowsAtOnce;
  #rows = new Map();

  constructor(view) {
    this.view = view;
    const {result} = view;
    this.columns = [...figure_columns(result), ...result.varied.map(setting_column)];
    this.sorted_by = this.columns.find((one) => one.key === (result.verified.length > 0 ? "time" : "number"));
    this.filter = new Filter(result, this.columns, () => { this.#limit = kRowsAtOnce; this.fill(); });
    this.body = html("tbody", {onkeydown: (event) => this.#key(event)});
    this.count = html("p", {class: "quiet small", role: "status"});
    this.more = html("button", {type: "button", onclick: () => { this.#limit = Infinity; this.fill(); }});
    this.heads = new Map(this.columns.map((column) => [column, this.#head(column)]));
    this.node = [this.filter.node, this.count,
                 html("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Candidates"}, html("table", {class: "candidates"}, html("thead", {}, html("tr", {}, [...this.heads.values()])), this.body)),
                 html("p", {}, this.more)];
    view.focus.listen((candidate) => this.#point_at(candidate));
    this.fill();
  }

  fill() {
    const found = this.filter.apply(this.view.result.candidates).sort(compare_by(this.sorted_by, this.#direction));
    const shown = found.slice(0, this.#limit);
    this.#rows = new Map(shown.map((one) => [one, this.#row(one)]));
    this.body.replaceChildren(...this.#rows.values());
    this.body.firstElementChild?.setAttribute("tabindex", 0);
    const all = this.view.result.candidates.length;
    this.count.textContent = found.length === all ? count_text(all, "candidate") : `${number_text(found.length)} of ${count_text(all, "candidate")}`;
    this.more.hidden = shown.length === found.length;
    this.more.textContent = `Show all ${number_text(found.length)}; these are the first ${number_text(shown.length)}`;
    for (const [column, head] of this.heads) {
      if (column !== this.sorted_by) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", this.#direction > 0 ? "ascending" : "descending");
    }
  }

  /** Scrolls to a candidate's row and opens it, whatever the filter hid. */
  show(candidate) {
    if (!this.#rows.has(candidate)) {
      this.filter.clear();
      this.#limit = Infinity;
      this.fill();
    }
    const row = this.#rows.get(candidate);
    if (!row.classList.contains("open")) this.#toggle(candidate, row);
    row.scrollIntoView({block: "center"});
    row.focus({preventScroll: true});
  }

  #head(column) {
    const sort = () => {
      this.#direction = column === this.sorted_by ? -this.#direction : 1;
      this.sorted_by = column;
      this.fill();
    };
    const kinds = [column.number && "number", column.first && "first"].filter(Boolean).join(" ");
    return html("th", {scope: "col", class: kinds || null},
                html("button", {type: "button", class: "plain", onclick: sort}, column.title),
                column.unit && html("span", {class: "unit"}, column.unit));
  }

  #row(one) {
    const cell = (column) => html("td", {class: [column.number && "number", column.first && "first", column.key === "state" && `of-${one.kind}`].filter(Boolean).join(" ") || null}, column.text(one));
    const row = html("tr", {tabindex: -1, class: one.winner ? "winner" : null,
                            onclick: () => this.#toggle(one, row),
                            onpointerenter: () => this.view.focus.set(one), onpointerleave: () => this.view.focus.set(null),
                            onfocus: () => this.view.focus.set(one)}, this.columns.map(cell));
    return row;
  }

  #toggle(one, row) {
    if (row.classList.toggle("open")) row.after(this.#details(one));
    else row.nextElementSibling.remove();
  }

  #details(one) {
    const {result} = this.view;
    const facts = [
      ["configuration", html("code", {}, config_text(one.config))],
      one.message && [one.state, one.message],
      one.saved && ["what reproduces it", html("code", {}, one.saved)],
      one.device_name && ["device", `${one.device_name} (${one.device})`],
      is_number(one.predicted) && ["predicted", result.time.whole(one.predicted)],
      is_number(one.code) && ["predicted from machine code", result.time.whole(one.code)],
      is_number(one.samples) && ["samples", number_text(one.samples)],
      is_number(one.blocks) && ["blocks", `${number_text(one.blocks)} in the grid${is_number(one.per_sm) ? `, ${one.per_sm} at once on an SM` : ""}`],
      ["done", `${number_text(one.at, 2)} s after the search began, linked in ${number_text(one.link_ms, 1)} ms`],
    ].filter(Boolean);
    return html("tr", {class: "more"}, html("td", {colspan: this.columns.length}, pairs_list(facts)));
  }

  #point_at(candidate) {
    for (const row of this.body.querySelectorAll("tr.pointed")) row.classList.remove("pointed");
    if (candidate) this.#rows.get(candidate)?.classList.add("pointed");
  }

  #key(event) {
    const rows = [...this.#rows];
    const at = rows.findIndex(([, row]) => row === event.target);
    if (at < 0) return;
    if (event.key === "Enter") this.#toggle(...rows[at]);
    else if (event.key === "ArrowDown") rows[Math.min(at + 1, rows.length - 1)][1].focus();
    else if (event.key === "ArrowUp") rows[Math.max(at - 1, 0)][1].focus();
    else return;
    event.preventDefault();
  }
}

function candidates_section(view) {
  const {result} = view;
  if (result.candidates.length === 0) return null;
  const table = new CandidateTable(view);
  view.show_row = (candidate) => table.show(candidate);
  view.add_filter = (word) => {
    table.filter.add(word);
    document.getElementById("candidates").scrollIntoView();
    table.filter.input.focus({preventScroll: true});
  };
  return section("candidates", "Candidates", table.node);
}
