#include "core/boosting/rows/training_rows.hpp"

#include "core/base/pieces.hpp"
#include "core/boosting/rows/number_grid.hpp"

#include <atomic>
#include <bit>
#include <cmath>

namespace btml::boosting {

// What processes that train together have in all: rows, how many of the processes have weights (one without rows has
// none), and weights that are not 1.
struct Extent {
    uint64_t rows, weighted, weights;

    Extent& operator+=(const Extent& other) {
        rows += other.rows;
        weighted += other.weighted;
        weights += other.weights;
        return *this;
    }
};

TrainingRows::TrainingRows(Dataset& dataset, ThreadTeam& team, RunContext& context)
    : rows_(dataset.rows),
      target_ids_(dataset.target_ids()),
      holdout_ids_(dataset.holdout_ids()),
      weights_(context.memory(), "weights"),
      holdout_flags_(std::move(dataset.holdout)) {
    if (dataset.holdout_table < 0) holdout_flags_.clear();
    const Extent own{rows_, !dataset.weight.empty(), count_other_than_one(dataset.weight)};
    Extent all = own;
    if (team.peers()) team.peers()->add_up(all);
    weighted_ = all.weights > 0;
    const bool lacks_weights = rows_ > 0 && dataset.weight.empty() && (all.weighted > 0 || weighted_);
    if (all.rows < own.rows || all.weights < own.weights || lacks_weights) refuse_message();
    if (weighted_) fix_weights(dataset.weight, all.rows, team);
    dataset.weight.clear();
    count(team);
    all_trained_ = train_.sum == all.rows;
    if (train_.sum == 0) refuse_no_training_rows(all.rows, holdout_.sum);
    const double total = std::ldexp(static_cast<double>(train_.weight) + static_cast<double>(holdout_.weight), -scale_);
    if (!std::isfinite(total))
        throw Error(ErrorCode::out_of_range, "the weights add up to more than a double precision number can be", {},
                    "What they are relative to each other alone counts: divide them by the largest.");
}

void TrainingRows::fix_weights(const Buffer<double>& weight, uint64_t all_rows, ThreadTeam& team) {
    const auto [exponent, shift] = scale_of_weights(weight, team.peers());
    weights_.resize(weight.size());
    scale_ = 61 - static_cast<int>(std::bit_width(all_rows)) - exponent;
    shift_ = shift;
    count_unit_ = std::ldexp(1, shift_ - scale_);
    for_each_row(team, weight.size(), [&](size_t i, int) { weights_[i] = std::llrint(std::ldexp(weight[i], scale_)); });
}

void TrainingRows::count(ThreadTeam& team) {
    TeamSums<Count> train(team), holdout(team);
    for_each_row(team, rows_, [&](size_t row, int worker) {
        const Role which = role(row);
        if (which != Role::ignored) (which == Role::train ? train : holdout)[worker] += {1, weight(row)};
    });
    train_ = train.total();
    holdout_ = holdout.total();
}

Buffer<int64_t> multiplicities(const DataTable& table, const TrainingRows& training, ThreadTeam& team,
                               RunContext& context) {
    Buffer<int64_t> result(context.memory(), "join multiplicities");
    const RowIds ids = table.ids();
    if (!ids && training.uniform()) return result;
    result = Buffer<int64_t>(context.memory(), "join multiplicities", table.rows, 0);
    for_each_row(team, training.rows(), [&](size_t row, int) {
        if (training.role(row) != Role::train) return;
        int64_t& sum = result[ids[row]];
        if (team.size() == 1)
            sum += training.weight(row);
        else
            std::atomic_ref(sum).fetch_add(training.weight(row), std::memory_order_relaxed);
    });
    return result;
}

} // namespace btml::boosting
