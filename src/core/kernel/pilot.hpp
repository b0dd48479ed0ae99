// A look at some queries, exactly, before sampling: which keys' leaves are near enough to be summed exactly, how large
// a sample of the others is needed, and whether all that is less work than every pair.
#pragma once

#include "core/kernel/key_sample.hpp"
#include "core/kernel/query_groups.hpp"

namespace btml::kernel {

// Holds what is looked at.
struct PilotTask {
    const KeySet& keys;
    const Estimand& estimand;
    const KeyStrata& strata;
    const Points& queries;
    uint64_t seed;
    ThreadTeam& team;
    RunContext& context;
};

// Holds what sums are sampled of.
struct SampleTask : PilotTask {
    const QueryGroups& groups;
};

// Says what is asked of the estimates.
struct Demand {
    double budget;     // mean over the queries of the squared error of the result that is not to be exceeded
    bool relative;     // the budget is in units of the mean squared result
    double confidence; // see Options
    double worth;      // a plan that costs more, of the exact sum, is of no use
};

struct Plan {
    double near = 0;      // leaves at a distance up to this from a group (QueryGroups::look) are summed exactly
    double fraction = 1;  // of the keys in the sample that is then needed
    double least = 1;     // no sample is smaller than this fraction
    double cost = 0;      // of all work, the exact sum's being 1
    double near_cost = 0; // the part of it that is not the sample's
    double magnitude = 0; // mean of Estimand::magnitude over the queries
    double allowed = 0;   // Σ over the queries of expected squared errors (Estimand::error) that keeps the budget
};

// Returns a cost that a plan will hardly be below, from a first look at a few queries: as if each one knew which leaves
// of the keys matter most to it. 0 of relative errors, whose norm so few queries do not tell.
double min_cost(const PilotTask& task, const Demand& demand);

Plan plan_sample(const SampleTask& task, const Demand& demand);

// Holds sums at queries: exact over the leaves of keys near each group of queries, from random samples over the others.
struct SampledSums {
    Buffer<double> sums;    // [query][column], in the estimand's units; unbiased
    Buffer<double> squares; // [query][square]: their variances and covariances, as Estimand::error takes them
    Buffer<double> errors;  // by query: Estimand::error, at least what is typical of its neighbours
    double error;           // Σ over the queries of their own
    double evaluated;       // share of all pairs
};

// Draws until the error is estimated to be at most what the plan allows, for all queries together. A group whose sample
// would be most of the keys is summed exactly.
SampledSums sampled_sums(const SampleTask& task, const Plan& plan);

} // namespace btml::kernel
