// SPDX-License-Identifier: Apache-2.0
"use strict";

const kTooltipGap = 14;

/** Shows content near a point of the window, inside of it. */
function show_tooltip(x, y, ...content) {
  const tooltip = document.getElementById("tooltip");
  tooltip.replaceChildren(...content);
  tooltip.hidden = false;
  const box = tooltip.getBoundingClientRect();
  const left = x + kTooltipGap + box.width > innerWidth ? x - kTooltipGap - box.width : x + kTooltipGap;
  const top = y + kTooltipGap + box.height > innerHeight ? y - kTooltipGap - box.height : y + kTooltipGap;
  tooltip.style.left = `${Math.max(4, left)}px`;
  tooltip.style.top = `${Math.max(4, top)}px`;
}

function hide_tooltip() {
  document.getElementById("tooltip").hidden = true;
}

/** What a tooltip says of a candidate. */
function candidate_summary(result, one) {
  const title = one.kind === "measured" ? `${one.name}, ${result.time.whole(one.time)}` : `${one.name}, ${one.state}`;
  const facts = [];
  if (one.kind === "measured") {
    facts.push(`${times_text(one.time / result.best)} the winner's time, spread ${percent_text(one.spread)}`);
  } else {
    facts.push(one.message);
  }
  if (is_number(one.registers)) {
    const spilled = one.spills > 0 ? `, ${bytes_text(one.spills)} spilled` : "";
    facts.push(`${one.registers} registers, ${bytes_text(one.shared)} shared${spilled}`);
  }
  return [
    html("strong", {}, one.winner ? `${title} \u2013 the winner` : title),
    facts.map((fact) => html("div", {class: "quiet"}, fact)),
    pairs_list(result.varied.map(({name}) => [name, one.config[name] ?? kNone])),
  ].flat();
}
