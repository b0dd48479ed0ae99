#include "core/boosting/rows/training_rows.hpp"

#include "core/boosting/rows/number_grid.hpp"
#include "core/boosting/rows/pieces.hpp"

#include <atomic>
#include <bit>
#include <cmath>

namespace btml::boosting {

static const uint32_t* row_ids_of(const Dataset& dataset, int table) {
    if (table < 0) return nullptr;
    const Buffer<uint32_t>& ids = dataset.tables.at(static_cast<size_t>(table)).row_ids;
    return ids.empty() ? nullptr : ids.data();
}

TrainingRows::TrainingRows(Dataset& dataset, ThreadTeam& team, RunContext& context)
    : rows_(dataset.rows),
      target_ids_(row_ids_of(dataset, dataset.target_table)),
      holdout_ids_(row_ids_of(dataset, dataset.holdout_table)),
      weights_(context.memory(), "weights"),
      holdout_(std::move(dataset.holdout)) {
    if (dataset.holdout_table < 0) holdout_.clear();
    fix_weights(dataset.weight, team);
    dataset.weight.clear();
    count(team);
    if (train_rows_ > 0) return;
    if (rows_ == 0) throw Error(ErrorCode::invalid_argument, "there are no rows to train on");
    throw Error(ErrorCode::invalid_argument, "there are no rows to train on",
                format("Of %llu rows, %llu are held out and %llu have weight 0.",
                       static_cast<unsigned long long>(rows_), static_cast<unsigned long long>(holdout_rows_),
                       static_cast<unsigned long long>(rows_ - holdout_rows_)));
}

void TrainingRows::fix_weights(const Buffer<double>& weight, ThreadTeam& team) {
    if (weight.empty()) return;
    const auto [exponent, shift] = scale_of_weights(weight);
    weights_.resize(weight.size());
    scale_ = 61 - static_cast<int>(std::bit_width(rows_)) - exponent;
    shift_ = shift;
    for_pieces(team, weight.size(), [&](size_t begin, size_t end, int) {
        for (size_t i = begin; i < end; i++) weights_[i] = std::llrint(std::ldexp(weight[i], scale_));
    });
}

double TrainingRows::count_unit() const {
    return std::ldexp(1, shift_ - scale_);
}

void TrainingRows::count(ThreadTeam& team) {
    struct alignas(64) Partial {
        uint64_t rows[2] = {};
        int64_t count[2] = {};
    };
    std::vector<Partial> partials(static_cast<size_t>(team.size()));
    for_pieces(team, rows_, [&](size_t begin, size_t end, int worker) {
        Partial& partial = partials[static_cast<size_t>(worker)];
        for (size_t i = begin; i < end; i++) {
            const auto row = static_cast<uint32_t>(i);
            const Role which = role(row);
            if (which == Role::ignored) continue;
            partial.rows[static_cast<int>(which)]++;
            partial.count[static_cast<int>(which)] += weighted() ? weight(row) : 1;
        }
    });
    for (const Partial& partial : partials) {
        train_rows_ += partial.rows[0];
        holdout_rows_ += partial.rows[1];
        train_count_ += partial.count[0];
        holdout_count_ += partial.count[1];
    }
}

Buffer<int64_t> multiplicities(const DataTable& table, const TrainingRows& training, ThreadTeam& team,
                               RunContext& context) {
    Buffer<int64_t> result(context.memory(), "join multiplicities");
    if (table.row_ids.empty() && training.uniform()) return result;
    result.resize(table.rows);
    std::fill(result.begin(), result.end(), 0);
    const uint32_t* ids = table.row_ids.empty() ? nullptr : table.row_ids.data();
    for_pieces(team, training.rows(), [&](size_t begin, size_t end, int) {
        for (size_t i = begin; i < end; i++) {
            const auto row = static_cast<uint32_t>(i);
            if (training.role(row) != Role::train) continue;
            const int64_t weight = training.weighted() ? training.weight(row) : 1;
            int64_t& sum = result[ids ? ids[row] : row];
            if (team.size() == 1)
                sum += weight;
            else
                std::atomic_ref(sum).fetch_add(weight, std::memory_order_relaxed);
        }
    });
    return result;
}

} // namespace btml::boosting
