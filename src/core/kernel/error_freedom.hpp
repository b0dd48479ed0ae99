// How far the squared error of all queries together may be from its expectation, where they share a sample.
#pragma once

#include "core/kernel/key_sample.hpp"

#include <functional>

namespace btml::kernel {

// Tells the degrees of freedom of ‖e‖², e the errors at all queries and targets with covariance C: (tr C)²/tr C². It is
// about tr C·χ²_ν/ν (Satterthwaite). They are 1 where a sample's key moves all results alike, the number of results
// where each key moves its own.
struct ErrorFreedom {
    const KeySet& keys;
    const Estimand& estimand;
    const KeySample& sample; // of about `fraction` of all keys
    double fraction;
    // Tells whether a query and a key of the sample's block, at that place, are no part of what is sampled.
    std::function<bool(size_t query, size_t block, size_t place)> is_exact;

    // Estimated from queries that were drawn at random, with replacement, from all (at least 2; those beyond
    // max_queries are not looked at), and their exact sums: [query][column], in the estimand's units.
    static constexpr size_t max_queries = 64;
    double estimate(const Points& queries, const double* sums, RunContext& context) const;
};

// The share of a bound on ‖e‖² that its expectation may be for the bound to hold with this confidence. With many
// degrees of freedom it is 0.49 at a confidence of 0.99: a sample that misses heavy pairs underestimates its own error.
double share_of_budget(double confidence, double degrees_of_freedom);

} // namespace btml::kernel
