// Fits some of the rows, to choose what the bits of numbers are those of, and what the gp is of.
#pragma once

#include "core/gp/member_training.hpp"

namespace btml::gp {

struct SampleFit {
    static constexpr size_t max_rows = 4096;

    NumberPlaces places;
    std::variant<Mixture, SumModel> posterior; // a sum of kernels; or one member, which a mixture begins with
    double noise;
    double left_out;      // mean negative log density, nats
    uint64_t evaluations; // of the rows, by all fits
};

// Fits a sample of standardised rows. Where the options leave the places of numbers open, both are fitted and the
// better left-out score wins; for sums, ranks must win clearly. One member is fitted for a mixture, and where memory or
// the evaluations of a fit of so many rows are too few for a sum. One choice holds for all numeric features.
SampleFit fit_sample(const TrainingColumns& sample, size_t rows, const Options& options, const KernelLimits& limits,
                     RunContext& context);

// Returns what the options say, or what fits at most SampleFit::max_rows of the rows better.
NumberPlaces choose_places(const TrainingColumns& rows, const Options& options, const KernelLimits& limits,
                           RunContext& context);

} // namespace btml::gp
