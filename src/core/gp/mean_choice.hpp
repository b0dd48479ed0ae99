// Chooses whether a gp is of targets or of what boosted trees leave of them.
#pragma once

#include "core/gp/trainer.hpp"

namespace btml::gp {

// Says whether the options, and so many rows to train on, leave the choice open: of few rows, trees learn little.
bool is_mean_open(const Options& options, size_t rows);

// Held-out rows choose where there are so many, else rows of the training that a sample leaves out or no tree knows.
inline constexpr size_t min_rows_to_choose = 50;

// Trains the gp that the options ask for. Where they leave the choice open, the model is the one with the better
// score; of at most 4,096 rows first, where that is clear.
FitResult fit_with_mean(FitRows rows, const std::vector<Feature>& features, const Options& options,
                        const FitMemory& estimate, RunContext& context);

} // namespace btml::gp
