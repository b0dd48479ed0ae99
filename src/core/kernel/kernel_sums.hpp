// Sums of a kernel over keys, at queries: weighted sums, densities and means.
//
// Exact sums evaluate every pair, in tiles. Sampled ones follow ApproxKMV (Indyk, Kapralov, Sheth, Wagner: Improved
// Algorithms for Kernel Matrix-Vector Multiplication Under Sparsity Assumptions): what is heavy is summed exactly, of
// the light rest a sample is. The estimates are unbiased sums (means: their ratios) whatever is found to be heavy.
#pragma once

#include "core/kernel/kernel_options.hpp"
#include "core/kernel/kernel_points.hpp"

#include <memory>
#include <string>

namespace btml::kernel {

// How a call came to its estimates.
struct Report {
    Method method = Method::exact; // exact or sampled
    std::string reason;            // of the choice, one sentence
    uint64_t keys = 0;             // distinct ones
    double evaluated = 0;          // share of all pairs that was evaluated, the pilot's included
    double relative_error = 0;     // estimated, as Options::epsilon measures it, of a part as if all were like it
};

// Row by row as the queries came.
struct Estimates {
    size_t columns; // 1, or the number of targets for means
    Buffer<double> values;
    Buffer<double> std_errors; // one a row: the root mean square over the columns; 0 when exact
    Report report;
};

class KernelSums {
  public:
    // Takes the keys; equal ones are merged. Errors: those of Options::check; invalid_argument when there is no key,
    // or too few columns of values for the quantity, for weights that sum to nothing positive (density) and negative
    // weights (mean, density); out_of_range where keys spread over more than 10^12 bandwidths or a column of values
    // adds up to more than a double; memory_limit, before the work starts.
    KernelSums(Keys keys, Quantity quantity, const Options& options, RunContext& context);
    ~KernelSums();
    KernelSums(KernelSums&&) noexcept;

    // Epsilon holds for the queries of one call together. all: how many there are of which these are a part, each with
    // its share of the error; 0: no others. When exact, a query's result does not depend on the others, but for its
    // last digits on a device. A mean whose weights all vanish is the nearest key's value. Errors: invalid_argument for
    // another number of dimensions; memory_limit, before the work starts (the automatic method then takes exact sums,
    // if these fit).
    Estimates evaluate(const Points& queries, uint64_t all = 0);

    // How many queries at once, at most `wanted`, a sample can be made for in the memory that is left, where the caller
    // holds bytes_of_query for each; 0 if for none.
    uint64_t queries_that_fit(uint64_t wanted, uint64_t bytes_of_query) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace btml::kernel
