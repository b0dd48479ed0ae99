// What boosted trees say of a point before a gp does: y = m(x) + d(x) · t, where the gp is of t. Trees
// learned the mean m of the targets and the deviation d of what they leave over, both as means of trees without a fold
// of the rows, and t is learned from the errors of those out of fold, which are larger than their mean's of new rows.
// Spared rows, which no tree knows, tell by how much.
#pragma once

#include "core/boosting/trees/boosting_predictor.hpp"
#include "core/gp/tree/training_columns.hpp"
#include "core/uncertainty/calibration.hpp"

namespace btml::gp {

// Targets are taken to those of the gp and back. Where the trees do not know the mean, it has a variance.
struct Placement {
    double mean = 0, deviation = 1;
    double variance = 0;       // of the mean
    double variance_ratio = 1; // of the gp at new rows

    double inner(double target) const { return (target - mean) / deviation; }
    double outer(double inner) const { return mean + deviation * inner; }
    double outer_variance(double inner) const { return variance_ratio * deviation * deviation * inner; }
};

class TreesMean {
  public:
    // The trees have one score, predict it as it is, and have a deviation, whose mean square over their rows is
    // mean_variance. Memory is that of the context.
    TreesMean(boosting::Model trees, double mean_variance, RunContext& context);

    // Sets the ratio of the gp's variances at new rows to those that errors out of fold taught it, within these.
    static constexpr double min_variance_ratio = 1e-3, max_variance_ratio = 1e3;
    void set_variance_ratio(double ratio) { variance_ratio_ = ratio; }
    // Takes features as Predictor does. Not thread-safe (scratch space).
    Placement at(std::span<const double> features);
    const boosting::Model& trees() const { return trees_; }
    double mean_variance() const { return mean_variance_; }
    double variance_ratio() const { return variance_ratio_; }
    // Returns by how much splits by each feature decreased the mean square of what is left of the targets: what the
    // mean varies by them.
    std::vector<double> relevance() const;

  private:
    boosting::Model trees_;
    double mean_variance_, variance_ratio_ = 1;
    boosting::Predictor mean_, log_variance_;
};

struct TreesFit {
    TreesMean mean;
    Buffer<double> errors, deviations; // by row, out of fold
    std::vector<bool> is_spared;       // by row: no tree knows it, and its error is that of the mean
};

// Trains trees on the rows, by folds of them, but for those that are spared: an eighth of 200 and more, 4,096 at most.
// Errors as of boosting::cross_fit.
TreesFit fit_trees(const TrainingColumns& rows, const std::vector<Feature>& features, uint64_t seed,
                   RunContext& context);
// Bytes that this takes, besides the rows.
uint64_t trees_bytes(uint64_t rows, const std::vector<Feature>& features, RunContext& context);

inline constexpr SectionKind mean_section{"mean"};
void encode(const TreesMean& mean, Writer& writer);
// Error corrupt_model for trees that are no such mean of a gp with these features.
TreesMean decode_trees_mean(Reader& reader, const std::vector<Feature>& features, RunContext& context);

} // namespace btml::gp
