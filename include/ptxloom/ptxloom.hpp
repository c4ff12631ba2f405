// SPDX-License-Identifier: Apache-2.0
#pragma once

/// \file
/// The whole library: one header that includes all others.

/// Generates, checks, links, runs and autotunes PTX kernels at run time.
namespace ptxloom {}

#include "ptxloom/buffer.hpp"
#include "ptxloom/build_words.hpp"
#include "ptxloom/builder.hpp"
#include "ptxloom/by_variant.hpp"
#include "ptxloom/check.hpp"
#include "ptxloom/context.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/exec.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/ir.hpp"
#include "ptxloom/jit.hpp"
#include "ptxloom/kernel.hpp"
#include "ptxloom/launch.hpp"
#include "ptxloom/layout.hpp"
#include "ptxloom/libraries.hpp"
#include "ptxloom/log.hpp"
#include "ptxloom/npy.hpp"
#include "ptxloom/numeric.hpp"
#include "ptxloom/plan.hpp"
#include "ptxloom/prepared_launch.hpp"
#include "ptxloom/ptx.hpp"
#include "ptxloom/record.hpp"
#include "ptxloom/runner.hpp"
#include "ptxloom/signature.hpp"
#include "ptxloom/space.hpp"
#include "ptxloom/specs.hpp"
#include "ptxloom/target.hpp"
#include "ptxloom/template.hpp"
#include "ptxloom/templates.hpp"
#include "ptxloom/tensor_map.hpp"
#include "ptxloom/tune.hpp"
#include "ptxloom/tuner.hpp"
#include "ptxloom/tuning_space.hpp"
#include "ptxloom/type.hpp"
#include "ptxloom/version.hpp"
#include "ptxloom/workspace.hpp"
