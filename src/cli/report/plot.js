// SPDX-License-Identifier: Apache-2.0
// A picture of candidates as dots on axes. All dots of a kind are one path, so thousands cost little; what is
// pointed at is found by its distance. Arrow keys walk from dot to dot, Enter goes to the candidate's row.
"use strict";

const kReach = 28;  // pixels from a dot that still mean it

const kMarks = {
  measured: ({x, y}) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`,
  wrong: ({x, y}) => `M${(x - 3).toFixed(1)} ${(y - 3).toFixed(1)}l6 6m0-6l-6 6`,
  failed: ({x, y}) => `M${x.toFixed(1)} ${(y - 3.5).toFixed(1)}v7`,
};

class Plot {
  #points = [];
  #ring = svg("circle", {class: "pointed", r: 6, visibility: "hidden"});

  /** `margin`: {top, right, bottom, left} pixels around the area of the dots. */
  constructor(view, {width, height, margin, label}) {
    this.view = view;
    this.left = margin.left;
    this.right = width - margin.right;
    this.top = margin.top;
    this.bottom = height - margin.bottom;
    this.svg = svg("svg", {class: "plot", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label});
  }

  add(...nodes) {
    this.svg.append(...nodes);
  }

  /** `unit` stands above the ticks. */
  y_axis(scale, text, count, unit = "") {
    if (unit) this.add(svg("text", {x: this.left - 6, y: this.top - 6, "text-anchor": "end"}, unit));
    for (const tick of scale.ticks(count)) {
      const y = Math.round(scale(tick)) + 0.5;
      this.add(svg("line", {class: "grid", x1: this.left, x2: this.right, y1: y, y2: y}),
               svg("text", {x: this.left - 6, y: y + 4, "text-anchor": "end"}, text(tick)));
    }
  }

  x_axis(scale, text, count) {
    this.add(svg("line", {class: "axis", x1: this.left, x2: this.right, y1: this.bottom + 0.5, y2: this.bottom + 0.5}));
    for (const tick of scale.ticks(count)) {
      const x = Math.round(scale(tick)) + 0.5;
      this.add(svg("line", {class: "axis", x1: x, x2: x, y1: this.bottom, y2: this.bottom + 4}),
               svg("text", {x, y: this.bottom + 17, "text-anchor": "middle"}, text(tick)));
    }
  }

  /** Points {x, y, candidate}; the winner is drawn last, as a diamond. */
  dots(points) {
    const size = Math.max(2, 7.2 - 1.3 * Math.log10(points.length + 1));
    for (const [kind, mark] of Object.entries(kMarks)) {
      const path = points.filter(({candidate}) => candidate.kind === kind && !candidate.winner).map(mark).join("");
      if (path === "") continue;
      this.add(svg("path", {class: `dots ${kind}`, d: path, ...(kind === "measured" ? {"stroke-width": size} : {})}));
    }
    for (const {x, y} of points.filter((one) => one.candidate.winner))
      this.add(svg("path", {class: "winner", d: `M${x} ${y - 7}l7 7-7 7-7-7z`}));
    this.#points = points;
    this.add(this.#ring);
    if (points.length > 0) this.#listen();
  }

  /** Shows where a candidate is; null shows none. */
  point_at(candidate) {
    const point = candidate && this.#points.find((one) => one.candidate === candidate);
    this.#ring.setAttribute("visibility", point ? "visible" : "hidden");
    if (!point) return;
    this.#ring.setAttribute("cx", point.x);
    this.#ring.setAttribute("cy", point.y);
  }

  #listen() {
    this.svg.setAttribute("tabindex", 0);
    this.svg.addEventListener("pointermove", (event) => this.#visit(this.#nearest(event)));
    this.svg.addEventListener("pointerleave", () => this.#visit(null));
    this.svg.addEventListener("blur", () => this.#visit(null));
    this.svg.addEventListener("keydown", (event) => this.#key(event));
    this.svg.addEventListener("click", (event) => {
      const point = this.#nearest(event);
      if (point && !event.target.closest("[role=button]")) this.view.show_row(point.candidate);
    });
  }

  #nearest(event) {
    const box = this.svg.getBoundingClientRect();
    const scale = this.svg.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
    let nearest = null, least = kReach ** 2;
    for (const point of this.#points) {
      const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
      if (distance < least) [nearest, least] = [point, distance];
    }
    return nearest;
  }

  #visit(point) {
    this.view.focus.set(point ? point.candidate : null);
    if (!point) return hide_tooltip();
    const box = this.svg.getBoundingClientRect();
    const scale = box.width / this.svg.viewBox.baseVal.width;
    show_tooltip(box.left + point.x * scale, box.top + point.y * scale,
                 ...candidate_summary(this.view.result, point.candidate));
  }

  #key(event) {
    const keys = {ArrowLeft: ["x", -1], ArrowRight: ["x", 1], ArrowUp: ["y", -1], ArrowDown: ["y", 1]};
    const current = this.#points.find((one) => one.candidate === this.view.focus.candidate);
    if (event.target !== this.svg) return;
    if (event.key === "Enter" && current) this.view.show_row(current.candidate);
    else if (event.key === "Escape") this.#visit(null);
    else if (event.key in keys) {
      const [axis, step] = keys[event.key];
      const sorted = this.#points.toSorted((a, b) => a[axis] - b[axis] || a.candidate.index - b.candidate.index);
      const at = current ? sorted.indexOf(current) + step : 0;
      this.#visit(sorted[Math.min(sorted.length - 1, Math.max(0, at))]);
    } else return;
    event.preventDefault();
  }
}

/** A figure whose plot is drawn for its width, and drawn again when that changes. */
function plot_figure(view, caption, draw) {
  const place = html("div");
  let plot = null, width = 0;
  const redraw = () => {
    width = place.clientWidth;
    if (width === 0) return;
    plot = draw(width);
    place.replaceChildren(plot.svg);
    plot.point_at(view.focus.candidate);
  };
  new ResizeObserver(() => {
    if (Math.abs(place.clientWidth - width) > 1) requestAnimationFrame(redraw);
  }).observe(place);
  view.focus.listen((candidate) => plot?.point_at(candidate));
  const figure = html("figure", {}, caption, place);
  figure.redraw = redraw;
  return figure;
}

/** The scale of times that all pictures share: logarithmic; slower ones than the edge are put on it. */
function time_scale(view, also, from, to) {
  const {verified, edge} = view.result;
  const low = Math.min(...verified.map((one) => one.time), ...also);
  const high = Math.max(edge, ...also, low * 1.1);
  const line = log_scale(low / 1.04, high * 1.04, from, to);
  const scale = (us) => line(Math.min(us, high));
  scale.ticks = line.ticks;
  return scale;
}

/** What a picture's text says of those on the edge; empty where there are none. */
function edge_text(view) {
  const {verified, edge, time} = view.result;
  const slower = verified.filter((one) => one.time > edge).length;
  return slower === 0 ? "" : ` ${count_text(slower, "candidate")} slower than ${time.whole(edge)} ${slower === 1 ? "lies" : "lie"} on the upper edge.`;
}

/** Ticks of a time axis without the unit. */
function time_tick(view) {
  const scale = view.result.time.scale;
  return (us) => (us * scale).toLocaleString("en-US", {maximumSignificantDigits: 3});
}
