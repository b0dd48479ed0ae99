// Chooses what the bits of numbers are those of.
#pragma once

#include "core/gp/member_training.hpp"

namespace btml::gp {

// Returns what the options say, or of values and ranks what scores better, each row left out, on at most 4,096 of the
// rows: of a sum of kernels, ranks only where they are clearly better; of one member for a mixture, and where
// evaluations or memory are too few for sums. All numbers have the same.
NumberPlaces choose_places(const TrainingColumns& rows, const Options& options, int value_bits,
                           const KernelLimits& limits, RunContext& context);

} // namespace btml::gp
