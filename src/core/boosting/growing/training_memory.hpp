// What training over held rows takes, before it starts.
#pragma once

#include "core/boosting/trees/boosting_options.hpp"
#include "core/data/dataset.hpp"

namespace btml::boosting {

// Returns the most bytes at a time of binning and of one training, whose scores take so many; the raw columns are held
// already. The options leave nothing to be chosen.
uint64_t peak_bytes(const Dataset& dataset, const Options& options, uint64_t score_bytes);

// Returns the same of so many trainings side by side over the same bins, each with targets of its own.
uint64_t training_bytes(const Dataset& dataset, const Options& options, uint64_t parallel, int threads,
                        RunContext& context);

// Returns the bytes of the bins alone.
uint64_t binned_bytes(const Dataset& dataset, int max_bins);

} // namespace btml::boosting
