// SPDX-License-Identifier: Apache-2.0
// A result as the page uses it: docs/json/tune.json with what follows from it.
"use strict";

/** The rate of some work in a unit that fits the best time: {unit, text(us), peak: text or "", share(us)}. */
function rate_style(work, unit, peak, best_us) {
  if (!(work > 0) || !(best_us > 0)) return null;
  const most = work / best_us * 1e6;
  const [prefix, scale] = most >= 1e12 ? ["T", 1e-12] : most >= 1e9 ? ["G", 1e-9] : ["M", 1e-6];
  const digits = Math.min(2, digits_for(most * scale));
  const text = (rate) => number_text(rate * scale, digits);
  return {unit: prefix + unit, text: (us) => (us > 0 ? text(work / us * 1e6) : kNone),
          peak: peak > 0 ? `${number_text(peak * scale)} ${prefix}${unit}` : "", share: (us) => work / us * 1e6 / peak};
}

/** Rates that people say: of the operations and of the bytes, those that are known. */
function rates_of(rates, best_us) {
  const operations = /^t?f[0-9]/.test(rates.unit) ? "FLOP/s" : "OP/s";
  return [rate_style(rates.operations, operations, rates.peak_operations, best_us),
          rate_style(rates.bytes, "B/s", rates.peak_bytes, best_us)].filter(Boolean);
}

/** `devices`: of the search, where there are several. */
function read_candidate(one, index, winner, devices) {
  const resources = one.resources ?? {};
  const block = one.block ?? {};
  return {
    index,
    name: `#${index + 1}`,
    config: one.config,
    kind: one.state,
    state: one.state === "measured" ? "verified" : one.problem?.code ?? one.state,
    at: one.at_s,
    time: one.time_us,
    spread: one.spread,
    samples: one.samples,
    predicted: one.predicted_us,
    code: one.code_us,
    link_ms: one.link_ms,
    registers: resources.registers,
    stack: resources.stack,
    spills: one.resources ? resources.spill_stores + resources.spill_loads : undefined,
    threads: block.threads,
    shared: block.shared_bytes ?? resources.shared,
    blocks: block.grid,
    per_sm: block.per_sm,
    occupancy: block.occupancy,
    message: one.problem?.message,
    saved: one.saved,
    device: devices && one.device + 1,
    device_name: devices?.[one.device].name,
    winner,
  };
}

/** The parameters with the values that were tried, in the order of the space. */
function tried_parameters(space, candidates) {
  const orders = new Map(space.parameters.map((one) => [one.name, one.values]));
  for (const one of candidates) {
    for (const name of Object.keys(one.config)) if (!orders.has(name)) orders.set(name, []);
  }
  return [...orders].map(([name, order]) => {
    const seen = new Set(candidates.map((one) => one.config[name]).filter((value) => value !== undefined));
    const values = [...order.filter((value) => seen.has(value)), ...[...seen].filter((v) => !order.includes(v))];
    return {name, values};
  }).filter((one) => one.values.length > 0);
}

/** Pictures show times up to this; the few that are much slower lie on their upper edge. */
function slow_edge(verified, baselines) {
  const times = verified.map((one) => one.time).sort((a, b) => a - b);
  const slowest = times.at(-1) ?? 0;
  const most = times[Math.floor(0.9 * times.length)] ?? 0;
  const edge = Math.max(most, 4 * (times[0] ?? 0), ...baselines.map((one) => 1.1 * one.time_us));
  return slowest > 1.3 * edge ? edge : slowest;
}

function read_result(text) {
  const data = JSON.parse(text);
  const devices = data.devices.length > 1 ? data.devices : undefined;
  const candidates = data.candidates.map((one, i) => read_candidate(one, i, i === data.winner?.candidate, devices));
  const verified = candidates.filter((one) => one.kind === "measured" && one.time > 0);
  const parameters = tried_parameters(data.space, candidates);
  const best = data.winner?.time_us ?? data.record?.time_us;
  const baselines = data.baselines.filter((one) => one.time_us > 0);
  const fastest = Math.min(...verified.map((one) => one.time), ...(best > 0 ? [best] : []));
  return {
    text,
    data,
    candidates,
    verified,
    problems: candidates.filter((one) => one.kind !== "measured"),
    winner: data.winner === null ? null : candidates[data.winner.candidate],
    best,
    edge: slow_edge(verified, baselines),
    baselines,
    uncompared: data.baselines.filter((one) => one.problem),
    parameters,
    varied: parameters.filter((one) => one.values.length > 1),
    same: parameters.filter((one) => one.values.length === 1),
    time: time_style(Number.isFinite(fastest) ? fastest : 1),
    rates: rates_of(data.rates, fastest),
  };
}
