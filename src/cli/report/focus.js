// SPDX-License-Identifier: Apache-2.0
// The candidate that is pointed at, in every picture and in the table at once.
"use strict";

class Focus {
  #listeners = [];
  candidate = null;

  /** `listener(candidate or null)` is called whenever another one is pointed at. */
  listen(listener) {
    this.#listeners.push(listener);
  }

  set(candidate) {
    if (candidate === this.candidate) return;
    this.candidate = candidate;
    for (const listener of this.#listeners) listener(candidate);
  }
}
