// Losses whose leaves take a Newton step: every row's residual (minus the derivative of its loss by its score) and
// hessian are computed from its score before each tree.
//
// A score is an integer on a grid of 2^-36. Residuals and hessians are integers of mostly 30 bits on grids of powers
// of two, chosen for each tree from the largest of either, and from the weight of all rows: every sum of a tree is
// below 2^62 and exact, and with it the model, as for squared loss. Losses are summed exactly, too. Beside far targets
// SingleScores bounds derivatives first, so that usual ones have places on the grids.
#pragma once

#include "core/boosting/objectives/objective.hpp"
#include "core/boosting/objectives/score_blocks.hpp"
#include "core/boosting/rows/number_grid.hpp"
#include "core/boosting/rows/training_rows.hpp"
#include "core/numbers/exact_sum.hpp"

#include <cmath>
#include <functional>

namespace btml::boosting {

// Sums of weight · loss, in units of LossGrid, and the largest loss.
struct LossSums {
    int128 trained = 0, held_out = 0;
    double largest = 0;

    LossSums& operator+=(const LossSums& other) {
        trained += other.trained;
        held_out += other.held_out;
        largest = std::max(largest, other.largest);
        return *this;
    }
};

// A loss is rounded to a multiple of 2^-40 of the largest at first, and taken for four million times that where it is
// larger.
class LossGrid {
  public:
    LossGrid() = default;
    explicit LossGrid(double largest_at_first)
        : grid_(largest_at_first > 0 ? std::min(39 - std::ilogb(largest_at_first), 1023) : 0) {}

    void add(Role role, int64_t weight, double loss, LossSums& sums) const {
        constexpr double most = 0x1p62;
        if (role == Role::ignored) return;
        sums.largest = std::max(sums.largest, std::fabs(loss));
        const int64_t rounded = std::llrint(std::clamp(loss * scale_, -most, most));
        (role == Role::train ? sums.trained : sums.held_out) += static_cast<int128>(rounded) * weight;
    }
    double scale() const { return scale_; } // of a loss of weight 1
    // Adds losses of training rows of weight 1, which are rounded already.
    static void add(int64_t losses, double largest, LossSums& sums) {
        sums.largest = std::max(sums.largest, largest);
        sums.trained += losses;
    }
    // Adds losses of training rows, in magnitude at most `largest`, for which loss · scale is below 2^62.
    void add(const float* losses, const int64_t* weights, size_t rows, double largest, LossSums& sums) const {
        sums.largest = std::max(sums.largest, largest);
        int128 sum = 0;
        for (size_t i = 0; i < rows; i++) sum += static_cast<int128>(std::llrint(losses[i] * scale_)) * weights[i];
        sums.trained += sum;
    }
    // Returns sum / total_weight, the weight in the units of TrainingRows.
    double mean(int128 sum, double total_weight) const {
        return std::ldexp(static_cast<double>(sum) / total_weight, -grid_);
    }

  private:
    int grid_ = 0;
    double scale_ = std::ldexp(1, grid_);
};

class DerivedScores : public RowScores {
  public:
    std::vector<double> bases() const override { return bases_; }
    SumUnits units() const override;
    int64_t leaf_value(Stats total, const LeafRule& rule) const override;
    double to_number(int64_t value) const override { return std::ldexp(value, -score_bits); }
    int64_t to_value(double number) const override;
    double train_loss() const override { return train_loss_; }
    std::optional<double> holdout_loss() const override { return holdout_loss_; }
    const TrainingRows& training() const override { return training_; }
    void gather(const RowList& rows, Stats* out) const override;
    void gather_tallied(const RowList& rows, NodeSums* out) const override;
    StatsFormat stats_format() const override { return training_.weighted() ? StatsFormat::full : StatsFormat::narrow; }
    int packed_bits() const override;

  protected:
    static constexpr int score_bits = 36; // a score: integer · 2^-score_bits

    // Returns a base on the grid of scores, within what the link takes and leaves room for trees.
    static double rounded(double score, Link link) {
        const double most = takes_exponential(link) ? max_exponent : std::ldexp(1, 62 - score_bits);
        return std::ldexp(std::nearbyint(std::ldexp(std::clamp(score, -most, most), score_bits)), -score_bits);
    }

    // What a pass over rows finds.
    struct Found {
        float residual = 0, hessian = 0; // the largest magnitudes of training rows
        LossSums losses;

        Found& operator+=(const Found& other) {
            residual = std::max(residual, other.residual);
            hessian = std::max(hessian, other.hessian);
            losses += other.losses;
            return *this;
        }
    };

    // Takes targets, labels and their weights.
    DerivedScores(const TrainingRows& training, Dataset& dataset, const LossOptions& options, ThreadTeam& team,
                  RunContext& context);

    // Names the least target for which the loss is not defined, whatever the order of rows. Error out_of_range.
    void check_targets(const std::function<bool(double)>& holds, const char* valid) const;

    double target(uint32_t row) const { return target_[training_.target_row(row)]; }
    double label_weight(uint32_t row) const {
        return label_weights_.empty() ? 1 : label_weights_[static_cast<size_t>(target(row))];
    }
    double loss_weight(uint32_t row) const { return static_cast<double>(training_.weight(row)) * label_weight(row); }
    void add_loss(uint32_t row, Role role, double loss, LossSums& sums) const {
        loss_grid_.add(role, training_.weight(row), loss * label_weight(row), sums);
    }
    // body(RowList, worker) over all rows, in their order.
    template <class Body>
    void for_each_list(const Body& body) const;
    // Returns the targets of a block of neighbouring rows: in `room` where they have to be gathered.
    const double* targets_of(const RowList& rows, double* room) const;
    // Sets block.targets, and 0 behind the last row.
    void load_targets(const RowList& rows, DerivativeBlock& block) const;
    // Adds each leaf's value to the scores of its rows.
    void add_values(const std::vector<Leaf>& leaves, const RowIndex& index, int64_t* scores);
    // Keeps the derivatives of a block of neighbouring rows, and adds their losses.
    void keep(const RowList& rows, const DerivativeBlock& block, Found& found);
    // Weighs what is kept of a block of neighbouring rows, which hold no larger derivatives than `sums` says.
    void weigh(const RowList& rows, const BlockSums& sums, Found& found);
    // Keeps a training row's derivatives.
    void keep(uint32_t row, float residual, float hessian, Found& found) {
        if (!label_weights_.empty()) {
            const double weight = label_weight(row);
            residual = static_cast<float>(residual * weight);
            hessian = static_cast<float>(hessian * weight);
        }
        derivatives_[row] = {residual, hessian};
        found.residual = std::max(found.residual, std::fabs(residual));
        found.hessian = std::max(found.hessian, hessian);
    }
    void choose_grids(const Found& found);
    int residual_bits() const; // of a row's residual
    // Takes the grid of losses from the first that are found.
    void start_losses(const Found& found) { loss_grid_ = LossGrid(found.losses.largest); }
    void set_losses(const Found& found);

    const TrainingRows& training_;
    ThreadTeam& team_;
    const LossOptions options_;
    Buffer<double> target_;             // by row of the target's table
    std::vector<double> label_weights_; // by label; empty: 1
    Buffer<Derivative> derivatives_;    // of the selected score, by row
    std::vector<double> bases_;
    double train_weight_ = 0, holdout_weight_ = 0; // Σ loss_weight
    int residual_grid_ = 0, hessian_grid_ = 0;
    int hessian_bits_; // of a row's hessian; the other bits of a packed sum are the count
    LossGrid loss_grid_;
    double train_loss_ = 0;
    std::optional<double> holdout_loss_;

  private:
    void gather_unweighted(const RowList& rows, Stats* out) const;
    // Says whether every row's derivatives and loss count as they are, but for its weight.
    bool counts_alike() const { return training_.all_trained() && label_weights_.empty(); }
    void weigh_labels(size_t labels);
    void sum_weights();
};

// What a loss of one score is.
struct DerivedLoss {
    // Computes the block's residuals, hessians and losses.
    void (*derive)(DerivativeBlock& block, const LossOptions& options);
    // Says whether the loss is defined for a target; the text says which are valid.
    bool (*holds)(double target);
    const char* valid_targets;
    // Returns the best score of so many rows, whose targets have this mean. Error DegenerateTarget.
    double (*base)(double mean, uint64_t rows);
};

// Starts the scores of an objective that has such a loss, which take so many bytes a row.
std::unique_ptr<RowScores> start_single_scores(const TrainingRows& training, Dataset& dataset,
                                               const LossOptions& options, ThreadTeam& team, RunContext& context);
inline constexpr uint64_t single_score_bytes = 2 * sizeof(int64_t);

// Larger targets of losses with e^F in them would have derivatives that no float holds.
inline constexpr double max_target = 1e30;

// The base of a logarithmic link. DegenerateTarget for a mean of 0.
double logarithm_of_mean(double mean, uint64_t rows);

template <class Body>
void DerivedScores::for_each_list(const Body& body) const {
    for_pieces(team_, training_.rows(), [&](size_t begin, size_t end, int worker) {
        for (; begin < end; begin += RowIndex::list_rows)
            body(RowList{nullptr, begin, std::min(RowIndex::list_rows, end - begin), begin}, worker);
    });
}

} // namespace btml::boosting
