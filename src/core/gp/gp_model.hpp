// A Gaussian process with the binary tree kernel, or an ensemble of them, as a value that knows its features by name.
#pragma once

#include "core/data/provenance.hpp"
#include "core/gp/additive/sum_model.hpp"
#include "core/gp/gp_options.hpp"
#include "core/gp/sparse/sparse_model.hpp"
#include "core/gp/tree/leave_one_out.hpp"
#include "core/gp/trees_mean.hpp"
#include "core/uncertainty/calibration.hpp"

#include <memory>
#include <variant>

namespace btml::gp {

// Holds one bit order with its kernel and its observations: targets less the model's `centre`, over its `scale`.
struct Member {
    Encoding encoding;
    BitOrder order;
    Trie trie;
    double weight = 1; // its probability
};

// Each member has the observations to itself.
struct Mixture {
    std::vector<Member> members;
    double log_likelihood = 0; // of the training rows, nats, in the target's units
};

struct VaryingNoise;

struct Model : Provenance {
    Options options;
    std::optional<TreesMean> mean; // what the observations are before they are the gp's
    double centre = 0, scale = 1;  // of the observations: their mean and standard deviation, or 1 where that is 0
    double noise = 0;              // variance of an observation of weight 1, on the scale
    std::variant<Mixture, SumModel, SparseModel> posterior;
    uint64_t evaluations = 0; // of the likelihood while training
    std::optional<LeaveOneOut> leave_one_out;
    std::optional<double> holdout_nll, holdout_rmse;     // means over held-out rows
    std::optional<uncertainty::Calibration> calibration; // nothing in the quick fit of a sample
    std::unique_ptr<VaryingNoise> varying_noise;         // null: the noise is the same everywhere

    // Says how members were combined in the end; automatic of a sparse gp, which has none.
    Combine combine() const;
    // There are none of a sum, whose members are its own, and of a sparse gp.
    std::span<const Member> members() const;
    // Returns that of the first member, which all share but for shifts and the order of categories; nothing of a
    // sparse gp.
    const Encoding* encoding() const;
    // Returns nothing but of a mixture, and a bound of it of a sparse gp that was not updated, without trees.
    std::optional<double> log_likelihood() const;
};

// Says by how much the noise differs from point to point: there it is Model::noise times factor(g), where g is what the
// second gp predicts; trainer.hpp says of what.
struct VaryingNoise {
    Model gp;               // with the features of the model
    double level;           // g where the factor is 1
    double least, greatest; // factors of training rows

    // Returns e^(g − level), and at least e⁻⁷ and at most e⁷; 1 for a g that is no number.
    double factor(double predicted) const;
};

void encode(const Model& model, Writer& writer);
// Checks every number once: error corrupt_model.
Model decode(Reader& reader, RunContext& context);

// Returns the log likelihood, in nats, of the observations that the members hold: log Σ p·e^(a member's own), p being
// its weight. The members' targets are divided by `scale`; the likelihood is that of targets before. O(n).
double log_likelihood(std::span<const Member> members, double scale);

// Variance of the latent function before any observation, on the scale.
double signal(const Model& model);

// Returns what the bits of each feature add to the prior variance of the latent function, in the target's units
// squared; in the order of Model::features. Of a smooth kernel, how much of it points do not share that are a standard
// deviation of the feature, or a category, apart. Trees add what their splits took from the mean square of the targets.
std::vector<double> relevance(const Model& model);

} // namespace btml::gp
