// SPDX-License-Identifier: Apache-2.0
// What was tuned, what came of it, and what a person must know before relying on it.
"use strict";

function figure_of(value, unit, label, kind = "") {
  return html("div", {class: `figure ${kind}`},
              html("div", {class: "value"}, value, unit ? html("small", {}, kThinSpace + unit) : ""),
              html("div", {class: "label"}, label));
}

/** How many times as fast the winner is; where both were timed in turns, as that said. */
function advantage(result, baseline) {
  return baseline.ratio ?? baseline.time_us / result.best;
}

function comparison_figure(result, baseline) {
  const ratio = advantage(result, baseline);
  const words = ratio >= 1 ? "as fast as" : "the speed of";
  const certain = is_number(baseline.low) ? `, ${number_text(baseline.low, 3)} to ${number_text(baseline.high, 3)} in ${count_text(baseline.rounds, "round")}` : "";
  return figure_of(times_text(ratio), "", [`${words} `, html("b", {}, baseline.name), certain]);
}

function rate_figure(result, rate, what) {
  const share = rate.peak ? `${percent_text(rate.share(result.best), 0)} of the peak, ${rate.peak}` : "";
  return figure_of(rate.text(result.best), rate.unit, [share, share && what && html("br"), what]);
}

function headline_figures(result) {
  const {data, best} = result;
  if (!(best > 0)) return null;
  const spread = data.winner?.spread ?? data.record.spread;
  const least = data.rates.least_us;
  const share = least > 0 ? `; ${percent_text(least / best, 0)} of what the chip\u2019s limits allow` : "";
  return html("div", {class: "figures"},
              figure_of(result.time.text(best), result.time.unit, `a launch, spread ${percent_text(spread)}${share}`, "best"),
              result.rates.map((rate) => rate_figure(result, rate, rate.unit.endsWith("B/s") && "each byte counted once")),
              result.baselines.map((one) => comparison_figure(result, one)));
}

function budget_text({seconds, evaluations}) {
  if (seconds > 0) return `${number_text(seconds)} s`;
  return evaluations > 0 ? count_text(evaluations, "evaluation") : "none";
}

function search_text(result) {
  const {data} = result;
  if (data.source === "record") return "This record existed already; nothing was searched.";
  const verified = result.verified.length;
  const found = data.best.at(-1);
  const tried = `${count_text(result.candidates.length, "candidate")} tried of ${count_text(data.space.admissible, "admissible configuration")}`;
  const outcome = verified === 0 ? tried : `The fastest of ${count_text(verified, "verified candidate")}, ${tried}`;
  const when = found ? `; the best was first seen after ${number_text(found.at_s, 1)} s and ${count_text(found.evaluations, "evaluation")}` : "";
  return `${outcome}${when}. ${sentence_case(data.strategy)} search for ${number_text(data.seconds, 1)} s ` +
    `(budget ${budget_text(data.budget)}), seed ${data.seed}, the device ${percent_text(data.device_busy, 0)} busy.`;
}

function sentence_case(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** How well each model ordered what was measured. */
function rankings_text({rankings}) {
  const words = rankings.map((one) => `${one.model} ${number_text(one.correlation, 2)} over ${count_text(one.candidates, "candidate")}, the fastest as number ${number_text(one.place)}`);
  return `Rank correlation of predicted with measured times: ${words.join("; ")}.`;
}

function warnings_of(result) {
  const {data} = result;
  const wrong = result.candidates.filter((one) => one.kind === "wrong").length;
  const left_out = data.devices.filter((one) => one.left_out).length;
  const throttled = data.health.filter((one) => one.throttled).length;
  return [
    data.interrupted && "The search was interrupted: this is what it had found by then.",
    data.source === "none" && result.candidates.length > 0 && "No candidate was correct, so there is no winner.",
    data.unkept && `The record could not be written: ${data.unkept.message} (${data.unkept.code})`,
    left_out > 0 && [`${number_text(left_out)} of ${count_text(data.devices.length, "device")} did not take part, or not to the end: `, html("a", {href: "#device"}, "see why"), "."],
    wrong > 0 && [`${count_text(wrong, "candidate")} computed a wrong result, which is a bug: `, html("a", {href: "#problems"}, "see what reproduces it"), "."],
    throttled > 0 && [`The device was throttled in ${throttled} of ${count_text(data.health.length, "sample")}: `, html("a", {href: "#device"}, "see when"), "."],
  ].filter(Boolean);
}

function headline(view) {
  const {result} = view;
  const {data} = result;
  const warnings = warnings_of(result);
  return [
    html("h1", {}, `${data.template} on ${data.device.name}`),
    pairs_list(Object.entries(data.problem), "settings"),
    headline_figures(result),
    against_bars(result),
    html("p", {class: "quiet"}, search_text(result)),
    data.rankings.length > 0 && html("p", {class: "quiet", id: "rankings"}, rankings_text(data)),
    result.uncompared.length > 0 && html("ul", {class: "notes info"}, result.uncompared.map((one) => html("li", {}, `Not compared with ${one.name}: ${one.problem.message} (${one.problem.code})`))),
    warnings.length > 0 && html("ul", {class: "notes"}, warnings.map((one) => html("li", {}, one))),
  ];
}
