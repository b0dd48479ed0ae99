// A Gaussian process with the binary tree kernel, or an ensemble of them, as a value that knows its features by name.
#pragma once

#include "core/base/feature.hpp"
#include "core/gp/additive/sum_model.hpp"
#include "core/gp/options.hpp"

namespace btml::gp {

// One bit order with its kernel and its observations: targets less the model's `centre`, over its `scale`.
struct Member {
    Encoding encoding;
    BitOrder order;
    Trie trie;
    double weight = 1; // mixture: its probability; boosted: the fraction of it that is taken
};

// Every row predicted from all the others, in the target's units.
struct LeaveOneOut {
    uint64_t rows = 0;
    double mean_nll = 0, rmse = 0;
    std::optional<double> coverage_90; // of the central 90 % interval; nothing after an update
};

struct Model {
    std::string target;
    std::vector<Feature> features;
    Options options;
    Combine combine = Combine::mixture; // as it was chosen
    double centre = 0, scale = 1;       // of the targets: their mean and standard deviation, or 1 where that is 0
    double noise = 0;                   // variance of an observation of weight 1, on the scale
    std::vector<Member> members;        // of a mixture, or boosted: with the residuals of those before
    double variance_factor = 1;         // boosted: of the members' latent variances
    std::optional<TrainingColumns> rows_of_members; // boosted: what the residuals come from, on the scale
    std::optional<SumModel> sum;                    // of a kernel sum
    std::optional<double> log_likelihood;           // of the training rows, nats, in the target's units; of a mixture
    uint64_t evaluations = 0;                       // of the likelihood while training
    std::optional<LeaveOneOut> leave_one_out;
    std::optional<double> holdout_nll, holdout_rmse; // means over held-out rows
    std::string strategy, strategy_reason;           // how the join was handled, for people
    uint64_t rows = 0, holdout_rows = 0, rows_skipped = 0;
};

void encode(const Model& model, Writer& writer);
// Checks every number once: error corrupt_model.
Model decode(Reader& reader, RunContext& context);

// Makes the members' tries of a boosted model from its rows again: O(members · n log n).
void retrain(Model& model, RunContext& context);

// Of the observations that a mixture's members hold: log Σ p·e^(log likelihood), nats, in the target's units. O(n).
double log_likelihood(const Model& model);

// Variance of the latent function before any observation, on the scale.
double signal(const Model& model);

// What the bits of each feature add to the prior variance of the latent function, in the target's units squared; in
// the order of Model::features.
std::vector<double> relevance(const Model& model);

} // namespace btml::gp
