// Computes cross-validation scores of kernel methods exactly, or by stratified Monte Carlo in several stages. The
// kd-tree and the strata are made once and serve every bandwidth.
#pragma once

#include "core/monte_carlo/nested_sum.hpp"
#include "core/monte_carlo/score_form.hpp"
#include "core/monte_carlo/variance_tree.hpp"

#include <memory>
#include <span>

namespace btml::monte_carlo {

enum class ScoreMethod { automatic, exact, sampled };

struct ScoreOptions {
    SamplingOptions sampling;
    ScoreMethod method = ScoreMethod::automatic;
    Kernel kernel{}; // is that of the points
};

// Between these, squares of bandwidths, coordinates and targets are numbers.
inline constexpr double min_bandwidth = 1e-150, max_bandwidth = 1e150;

class ExactRows;

class Scores {
  public:
    // Takes rows as read. Throws invalid_argument for fewer than 2 rows, out_of_range for a number beyond ±1e150,
    // limit_exceeded for more than 2^32 − 2 rows, and memory_limit; and as ScoreForm does.
    Scores(ScoreRows rows, ScoreKind kind, const ScoreOptions& options, RunContext& context);
    ~Scores();

    // Throws out_of_range where the score is no finite number.
    ScoreEstimate estimate(const Bandwidths& bandwidths, ThreadTeam& team);
    // Sums all pairs at each of the bandwidths, in one pass over the distances; a score may be no finite number.
    std::vector<ScoreEstimate> exact(std::span<const Bandwidths> bandwidths, ThreadTeam& team);

    const ScoreForm& form() const { return form_; }
    const SamplingOptions& sampling() const { return options_.sampling; }
    size_t rows() const { return tree_ ? tree_->size() : rows_.size(); }

    // Makes the tree and the strata, which are there then.
    void prepare(ThreadTeam& team);
    const VarianceTree& tree() const { return *tree_; }
    const OuterStrata& strata() const { return *strata_; }
    RunContext& context() const { return context_; }

  private:
    template <class Score>
    ScoreEstimate sampled(const Score& score, const Bandwidths& bandwidths, ThreadTeam& team);

    const ScoreForm form_;
    const ScoreOptions options_;
    RunContext& context_;
    ScoreRows rows_; // are here until the tree takes them
    std::unique_ptr<VarianceTree> tree_;
    std::unique_ptr<OuterStrata> strata_;
    std::unique_ptr<ExactRows> exact_;
};

// Divides the rows of a score into strata, by features, target and what the neighbours in the leaf of the kd-tree tell
// of a row: they are nodes of a second variance kd-tree, the one of largest size times standard deviation split first.
//
// Makes at most `count` strata for all bandwidths of a score; in each, the rows are in an order drawn from the seed.
// Rows are told apart, for kr, by the squares of their target and of its difference from the mean target of their leaf,
// about which the score sums at large and at small bandwidths; else by the logarithm of its distance to the nearest row
// in the leaf.
OuterStrata outer_strata(const VarianceTree& tree, ScoreKind kind, int count, uint64_t seed, ThreadTeam& team,
                         RunContext& context);

} // namespace btml::monte_carlo
