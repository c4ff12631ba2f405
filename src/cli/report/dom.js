// SPDX-License-Identifier: Apache-2.0
// Elements of the page. Text goes in as text, never as markup, so names and messages may hold anything.
"use strict";

function fill_element(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== undefined && child !== null && child !== false) element.append(child);
  }
  return element;
}

/** An element of HTML: attributes, listeners as onclick and the like, children (nodes or text; lists are joined). */
function html(tag, attributes = {}, ...children) {
  return fill_element(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
function svg(tag, attributes = {}, ...children) {
  return fill_element(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** A part of the page with a heading, and a name to link to. */
function section(id, title, ...children) {
  return html("section", {id, "aria-labelledby": `${id}-title`}, html("h2", {id: `${id}-title`}, title), children);
}

/** {name: value} as a list of names and values. */
function pairs_list(pairs, kind = "pairs") {
  const rows = pairs.map(([name, value]) => [html("dt", {}, name), html("dd", {}, value)]);
  return html("dl", {class: kind}, kind === "settings" ? rows.map((row) => html("div", {}, row)) : rows);
}

/** Buttons of which one is pressed; `chosen(key)` is called for another. */
function choice(label, options, first, chosen) {
  const buttons = options.map(([key, text]) => html("button", {
    type: "button", "aria-pressed": String(key === first),
    onclick: (event) => {
      for (const button of buttons) button.setAttribute("aria-pressed", String(button === event.currentTarget));
      chosen(key);
    },
  }, text));
  return html("div", {class: "choice", role: "group", "aria-label": label}, buttons);
}
