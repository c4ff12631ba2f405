// SPDX-License-Identifier: Apache-2.0
// Numbers and words for people.
"use strict";

const kNone = "\u2013";  // where there is no figure
const kThinSpace = "\u202f";

function is_number(value) {
  return typeof value === "number" && Number.isFinite(value);
}

function number_text(value, digits = 0) {
  if (!is_number(value)) return kNone;
  return value.toLocaleString("en-US", {minimumFractionDigits: digits, maximumFractionDigits: digits});
}

/** Digits after the point, so that a value shows at least four figures in all. */
function digits_for(value) {
  return Math.min(3, Math.max(0, 3 - Math.floor(Math.log10(Math.max(value, 1e-3)))));
}

function percent_text(part, digits = 1) {
  if (!is_number(part)) return kNone;
  const least = 10 ** -digits;
  const small = part > 0 && 100 * part < least / 2;
  return `${small ? `<${kThinSpace}${number_text(least, digits)}` : number_text(100 * part, digits)}${kThinSpace}%`;
}

function count_text(count, noun) {
  return `${number_text(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Times in the unit and to the digits that suit `best`, alike in the whole page: {unit, text(us), whole(us)}. */
function time_style(best) {
  const scale = best >= 1e4 ? 1e-3 : 1;
  const unit = best >= 1e4 ? "ms" : "\u00b5s";
  const digits = digits_for(best * scale);
  const text = (us) => (is_number(us) ? number_text(us * scale, digits) : kNone);
  return {unit, scale, text, whole: (us) => `${text(us)}${kThinSpace}${unit}`};
}

/** "1.42\u00d7" of how many times as fast. */
function times_text(ratio) {
  return `${number_text(ratio, ratio < 10 ? 2 : 1)}\u00d7`;
}

function bytes_text(bytes) {
  if (!is_number(bytes)) return kNone;
  return bytes >= 1024 ? `${number_text(bytes / 1024, bytes % 1024 === 0 ? 0 : 1)} KiB` : `${number_text(bytes)} B`;
}

/** Words as a shell reads them back. */
function shell_text(words) {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}

function config_text(config) {
  return Object.entries(config).map(([name, value]) => `${name}=${value}`).join(" ");
}
