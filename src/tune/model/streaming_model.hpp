// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tune/model/model.hpp"

// The time of kernels whose threads load elements, compute, and store them (Loads::streamed): rows that are
// reduced or converted. Thread blocks run in waves, as many at once as an SM holds. A wave takes the longest
// of four times, and a part of the two shorter ones of memory, issue and one team:
//   memory      bytes of all thread blocks on the SM, at the SM's share of the bandwidth
//   issue       their instructions, one a clock for each of four schedulers, or the sectors that their
//               loads touch, one a clock
//   starts      of its thread blocks, one after the other
//   one team    its loads that wait for each other, reductions and barriers, and its own instructions
// The part grows if few teams are on an SM, because then none computes while another waits.
namespace ptxloom::tune {

Prediction predict_streaming(const Demand& demand, const Chip& chip);

}  // namespace ptxloom::tune
