#include "core/boosting/rows/training_rows.hpp"

#include "core/boosting/rows/number_grid.hpp"
#include "core/boosting/rows/pieces.hpp"

#include <atomic>
#include <bit>
#include <cmath>

namespace btml::boosting {

static const uint32_t* row_ids_of(const Dataset& dataset, int table) {
    return table < 0 ? nullptr : dataset.tables.at(table).ids();
}

TrainingRows::TrainingRows(Dataset& dataset, ThreadTeam& team, RunContext& context)
    : rows_(dataset.rows),
      target_ids_(row_ids_of(dataset, dataset.target_table)),
      holdout_ids_(row_ids_of(dataset, dataset.holdout_table)),
      weights_(context.memory(), "weights"),
      holdout_flags_(std::move(dataset.holdout)) {
    if (dataset.holdout_table < 0) holdout_flags_.clear();
    fix_weights(dataset.weight, team);
    dataset.weight.clear();
    count(team);
    if (train_.rows == 0) refuse_no_training_rows(rows_, holdout_.rows);
}

void TrainingRows::fix_weights(const Buffer<double>& weight, ThreadTeam& team) {
    if (weight.empty()) return;
    const auto [exponent, shift] = scale_of_weights(weight);
    weights_.resize(weight.size());
    scale_ = 61 - static_cast<int>(std::bit_width(rows_)) - exponent;
    shift_ = shift;
    for_each_row(team, weight.size(), [&](size_t i, int) { weights_[i] = std::llrint(std::ldexp(weight[i], scale_)); });
}

double TrainingRows::count_unit() const {
    return std::ldexp(1, shift_ - scale_);
}

void TrainingRows::count(ThreadTeam& team) {
    WorkerSums<Count> train(team.size()), holdout(team.size());
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
    const uint32_t* const ids = table.ids();
    if (!ids && training.uniform()) return result;
    result = Buffer<int64_t>(context.memory(), "join multiplicities", table.rows, 0);
    for_each_row(team, training.rows(), [&](size_t row, int) {
        if (training.role(row) != Role::train) return;
        int64_t& sum = result[ids ? ids[row] : row];
        if (team.size() == 1)
            sum += training.weight(row);
        else
            std::atomic_ref(sum).fetch_add(training.weight(row), std::memory_order_relaxed);
    });
    return result;
}

} // namespace btml::boosting
