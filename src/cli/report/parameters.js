// SPDX-License-Identifier: Apache-2.0
// Time against each parameter: a strip of dots for each of its values. Parameters that matter most come first.
"use strict";

const kCharacter = 6.6;  // pixels of a character of a label, about

/** The best time of each value, and how much the least good value costs over the best one. */
function parameter_effect(result, {name, values}) {
  const strips = values.map((value) => {
    const candidates = result.verified.filter((one) => one.config[name] === value);
    return {value, candidates, best: Math.min(...candidates.map((one) => one.time))};
  });
  const bests = strips.map((one) => one.best).filter(Number.isFinite);
  return {name, strips, cost: bests.length > 0 ? Math.max(...bests) / Math.min(...bests) - 1 : 0};
}

/** Where a candidate's dot lies across its strip: by its number, so that it does not jump about. */
function jitter(index) {
  return (index * 0.6180339887) % 1 - 0.5;
}

function shortened(text, room) {
  const fits = Math.max(1, Math.floor(room / kCharacter));
  return text.length <= fits ? text : `${text.slice(0, Math.max(1, fits - 1))}\u2026`;
}

function strip_label(view, name, strip, x, plot, room) {
  const {result} = view;
  const facts = strip.candidates.length === 0 ? "no verified candidate"
    : `${count_text(strip.candidates.length, "candidate")}, the best ${result.time.whole(strip.best)}`;
  const explain = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    show_tooltip(box.right - 10, box.top, html("strong", {}, `${name}=${strip.value}`),
                 html("div", {class: "quiet"}, facts), html("div", {class: "quiet"}, "Click: only these in the table"));
    event.stopPropagation();
  };
  const choose = () => view.add_filter(`${name}=${strip.value}`);
  return svg("g", {role: "button", tabindex: 0, "aria-label": `${name}=${strip.value}: ${facts}`,
                   onclick: choose, onpointermove: explain, onfocus: explain, onblur: hide_tooltip,
                   onkeydown: (event) => { if (event.key === "Enter") choose(); }},
             svg("rect", {x: x - room / 2, y: plot.bottom + 1, width: room, height: 22, fill: "transparent"}),
             svg("text", {x, y: plot.bottom + 16, "text-anchor": "middle",
                          class: result.winner?.config[name] === strip.value ? "strong" : ""}, shortened(strip.value, room)));
}

function draw_parameter(view, effect, width) {
  const plot = new Plot(view, {width, height: 200, margin: {top: 18, right: 6, bottom: 22, left: 44},
                               label: `Time by ${effect.name}`});
  const y = time_scale(view, [], plot.bottom - 8, plot.top + 4);
  const room = (plot.right - plot.left) / effect.strips.length;
  const points = [];
  plot.y_axis(y, time_tick(view), 5, view.result.time.unit);
  const spread = Math.min(room * 0.72, 46);
  effect.strips.forEach((strip, i) => {
    const x = plot.left + (i + 0.5) * room;
    for (const one of strip.candidates) points.push({x: x + jitter(one.index) * spread, y: y(one.time), candidate: one});
  });
  plot.add(svg("line", {class: "axis", x1: plot.left, x2: plot.right, y1: plot.bottom + 0.5, y2: plot.bottom + 0.5}));
  plot.dots(points);
  effect.strips.forEach((strip, i) => {
    const x = plot.left + (i + 0.5) * room;
    if (Number.isFinite(strip.best))
      plot.add(svg("line", {class: "least", x1: x - spread / 2, x2: x + spread / 2, y1: y(strip.best), y2: y(strip.best)}));
    plot.add(strip_label(view, effect.name, strip, x, plot, room));
  });
  return plot;
}

function parameter_figure(view, effect) {
  const characters = effect.strips.reduce((sum, strip) => sum + Math.min(14, strip.value.length) + 1.5, 0);
  const caption = html("figcaption", {}, html("b", {}, effect.name),
                       html("span", {class: "quiet"}, effect.cost >= 0.0005 ? `costs up to ${percent_text(effect.cost, effect.cost < 0.1 ? 1 : 0)}` : "makes no difference"));
  const figure = plot_figure(view, caption, (width) => draw_parameter(view, effect, width));
  figure.classList.toggle("wide", characters * kCharacter > 300 || effect.strips.length > 9);
  return figure;
}

function parameters_section(view) {
  const {result} = view;
  if (result.verified.length < 2 || result.varied.length === 0) return null;
  const effects = result.varied.map((one) => parameter_effect(result, one)).sort((a, b) => b.cost - a.cost);
  const same = result.same.map(({name, values}) => `${name}=${values[0]}`).join(", ");
  return section("parameters", "Time by parameter",
    html("p", {class: "quiet"}, `Each dot is a verified candidate, in ${result.time.unit}; a bar is the best of its value, the diamond the winner. `,
         "The cost of a parameter is the best time with its worst value over the best time of all. Those that matter most come first.",
         edge_text(view), same && ` The same in all: ${same}.`),
    html("div", {class: "multiples"}, effects.map((effect) => parameter_figure(view, effect))));
}
