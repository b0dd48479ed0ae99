// Trains a sparse gp: learns the kernel from some rows, chooses inducing rows, moves them and the kernel to where
// all rows are likeliest, then reads all rows once.
#pragma once

#include "core/gp/sparse/sparse_model.hpp"
#include "core/gp/tree/leave_one_out.hpp"
#include "core/uncertainty/calibration.hpp"

namespace btml::gp {

struct SparseTraining {
    KernelChoice kernel;
    size_t inducing_points;              // at most
    std::optional<double> noise, signal; // on the scale; learned if not given
    uint64_t seed;
    bool moves_points = false; // from the rows that were chosen to where the likelihood is greatest
    // The points, if not chosen of the rows: one after the other, features as Predictor takes them. They do not move.
    std::span<const double> given = {};
};

using TrainedSparse = Fitted<SparseModel>; // rows left out are 50,000 at most

// Targets are standardised. The same bits for any number of threads. Errors: invalid_argument where no feature varies;
// or no point that is given is like any row; those of Coordinates; memory_limit.
TrainedSparse train_sparse(const TrainingColumns& rows, const std::vector<Feature>& features,
                           const SparseTraining& training, RunContext& context);

// Returns which rows so many errors are of that a training with this seed has of rows left out: a smooth kernel leaves
// out 50,000 at most.
std::vector<uint32_t> rows_of_errors(size_t rows, size_t errors, uint64_t seed);

// Bytes that train_sparse() needs at most, besides the rows.
uint64_t sparse_training_bytes(size_t rows, size_t features, size_t inducing_points);

} // namespace btml::gp
