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

// Fits a sample of rows, standardised: with what the options say, or with that of values and ranks which scores better,
// each row left out; of a sum of kernels, ranks only where they are clearly better; of one member for a mixture, and
// where the evaluations of a fit of so many rows or memory are too few for sums. All numbers have the same.
SampleFit fit_sample(const TrainingColumns& sample, size_t rows, const Options& options, const KernelLimits& limits,
                     RunContext& context);

// Returns what the options say, or what fits at most SampleFit::max_rows of the rows better.
NumberPlaces choose_places(const TrainingColumns& rows, const Options& options, const KernelLimits& limits,
                           RunContext& context);

} // namespace btml::gp
