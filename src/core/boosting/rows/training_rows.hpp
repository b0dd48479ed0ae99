// Which rows of the join are trained on, which are held out, and what each weighs.
#pragma once

#include "core/base/pieces.hpp"
#include "core/base/threads.hpp"
#include "core/boosting/rows/row_sums.hpp"
#include "core/boosting/rows/stats.hpp"
#include "core/data/dataset.hpp"

#include <algorithm>
#include <cmath>

namespace btml::boosting {

enum class Role : uint8_t { train, holdout, ignored }; // 0, 1, 2: as in Dataset::holdout

// Weights are kept as integers in units of 2^-scale(), chosen so that the total stays below 2^62; integer weights are
// exact then. Residual sums use the weight times 2^shift(), a number of moderate size whatever unit the user chose.
// Rows of weight 0 are ignored.
class TrainingRows {
  public:
    // Takes weight and holdout out of the dataset; its tables' row ids must stay where they are.
    // Error invalid_argument when no row is left to train on.
    TrainingRows(Dataset& dataset, ThreadTeam& team, RunContext& context);

    Role role(uint32_t row) const {
        if (weight(row) == 0) return Role::ignored;
        return holdout_flags_.empty() ? Role::train : static_cast<Role>(holdout_flags_[holdout_ids_[row]]);
    }
    int64_t weight(uint32_t row) const { return weighted() ? weights_[target_row(row)] : 1; }
    // Returns weight · 2^shift() · x, rounded.
    int64_t weigh(uint32_t row, int64_t x) const { return weighted() ? weigh_by(weight(row), x) : x; }
    // Returns the same of a row with this weight. Doubles take a fraction of the time: they hold every product of an x
    // of so few bits and a weight that is an integer. Where that is no longer one in these units, they may round.
    int64_t weigh_by(int64_t weight, int64_t x) const {
        constexpr uint64_t most = uint64_t{1} << 42;
        if (magnitude(x) <= most || shift_ != 0)
            return std::llrint(static_cast<double>(weight) * count_unit_ * static_cast<double>(x));
        const int drop = scale_ - shift_;
        const int128 exact = static_cast<int128>(weight) * x;
        // Halves are rounded away from zero.
        const int128 half = (int128{1} << (drop - 1)) - (exact < 0);
        return static_cast<int64_t>((exact + half) >> drop);
    }
    // Null where rows are not weighted, or several have their weights from one row of the target's table.
    const int64_t* weights_by_row() const { return weighted() && !target_ids_ ? weights_.data() : nullptr; }
    uint32_t target_row(uint32_t row) const { return target_ids_[row]; }
    RowIds target_ids() const { return target_ids_; }

    bool weighted() const { return weighted_; }
    // Says whether every row of the join is trained on.
    bool all_trained() const { return all_trained_; }
    // Says whether every row of the join is trained on with weight 1.
    bool uniform() const { return all_trained() && !weighted(); }
    int scale() const { return scale_; }
    int shift() const { return shift_; }
    // Returns how many bits derivatives need beside usual ones, so that those of light rows are not lost where sums use
    // a small part of the weight. Doubles hold products of so many.
    int bits_for_light_rows() const { return std::clamp(-shift_, 0, 18); }
    double count_unit() const { return count_unit_; } // weight · 2^shift per unit of a count
    // Returns the units of sums in which a row's hessian is its weight.
    SumUnits units() const {
        return {.shift = shift_,
                .hessian_unit = std::ldexp(1, shift_ - scale_),
                .count_scale = scale_,
                .slack = weighted() ? train_count() >> slack_bits : 0};
    }

    uint64_t rows() const { return rows_; } // of the join that are held here
    // Count all rows of the join, those that peers hold included.
    uint64_t train_rows() const { return train_.sum; }
    uint64_t holdout_rows() const { return holdout_.sum; }
    int64_t train_count() const { return train_.weight; }
    int64_t holdout_count() const { return holdout_.weight; }

  private:
    using Count = WeightedSum<uint64_t, int64_t>; // of rows, and their weight

    void fix_weights(const Buffer<double>& weight, uint64_t all_rows, ThreadTeam& team);
    void count(ThreadTeam& team);

    uint64_t rows_;
    const RowIds target_ids_, holdout_ids_;
    Buffer<int64_t> weights_;
    Buffer<uint8_t> holdout_flags_;
    bool weighted_ = false, all_trained_ = false;
    int scale_ = 0, shift_ = 0;
    double count_unit_ = 1;
    Count train_, holdout_;
};

// Calls body(row, role, worker) for all rows that are trained on or held out.
template <class Body>
void for_each_used_row(ThreadTeam& team, const TrainingRows& training, const Body& body) {
    for_each_row(team, training.rows(), [&](size_t i, int worker) {
        const auto row = static_cast<uint32_t>(i);
        if (const Role role = training.role(row); role != Role::ignored) body(row, role, worker);
    });
}

// Calls body(row, worker) for all rows that are trained on.
template <class Body>
void for_each_training_row(ThreadTeam& team, const TrainingRows& training, const Body& body) {
    for_each_used_row(team, training, [&](uint32_t row, Role role, int worker) {
        if (role == Role::train) body(row, worker);
    });
}

// Σ of weights over the training rows that each row of a table joins to; empty when that is 1 for each.
Buffer<int64_t> multiplicities(const DataTable& table, const TrainingRows& training, ThreadTeam& team,
                               RunContext& context);

} // namespace btml::boosting
