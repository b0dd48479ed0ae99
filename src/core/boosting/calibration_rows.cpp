#include "core/boosting/calibration_rows.hpp"

#include "core/boosting/binned_trees.hpp"
#include "core/boosting/rows/row_hash.hpp"

#include <algorithm>

namespace btml::boosting {

namespace {

constexpr const char* what_calibration = "rows to calibrate by";

// Makes the roles those of rows of the join, where they are those of rows of another table than the target's.
void give_roles_to_join_rows(Dataset& dataset, RunContext& context) {
    const RowIds ids = dataset.holdout_ids();
    Buffer<uint8_t> roles(context.memory(), what_calibration, dataset.rows);
    context.for_each(dataset.rows, 1, [&](uint64_t row) { roles[row] = dataset.holdout[ids[row]]; });
    dataset.hold_out(std::move(roles));
}

} // namespace

Buffer<HashedRow> shuffled_target_rows(const Dataset& dataset, const std::function<bool(uint32_t)>& is_wanted,
                                       uint64_t seed, ThreadTeam& team, RunContext& context) {
    const RowIds ids = dataset.target_ids();
    const uint64_t target_rows = dataset.tables[dataset.target_table].rows;
    Buffer<uint64_t> sums(context.memory(), what_calibration, target_rows, 0);
    Buffer<uint8_t> is_there(context.memory(), what_calibration, target_rows, 0);
    {
        const Buffer<uint64_t> hashes = hash_rows(dataset, seed, team, context);
        context.for_each(dataset.rows, 2, [&](uint64_t i) {
            const auto row = static_cast<uint32_t>(i);
            if (!is_wanted(row)) return;
            sums[ids[row]] += hashes[row];
            is_there[ids[row]] = 1;
        });
    }
    Buffer<HashedRow> shuffled(context.memory(), what_calibration);
    context.for_each(target_rows, 1, [&](uint64_t row) {
        if (is_there[row]) shuffled.push_back({sums[row], static_cast<uint32_t>(row)});
    });
    sort_by_hash(shuffled, context);
    return shuffled;
}

TargetRows::TargetRows(RunContext& context)
    : rows_(context.memory(), what_calibration),
      targets_(context.memory(), what_calibration),
      offsets_(context.memory(), what_calibration) {}

void TargetRows::add(const Dataset& dataset, uint32_t row) {
    const uint32_t target_row = dataset.target_ids()[row];
    rows_.push_back(row);
    targets_.push_back(dataset.target[target_row]);
    if (dataset.offset) offsets_.push_back(dataset.offset->numbers[target_row]);
}

TargetRows take_calibration_rows(Dataset& dataset, bool others_choose, uint64_t seed, ThreadTeam& team,
                                 RunContext& context) {
    TargetRows taken(context);
    if (dataset.holdout_table < 0) return taken;
    const auto is_held_out = [&](uint32_t row) {
        return static_cast<Role>(dataset.holdout[dataset.holdout_ids()[row]]) == Role::holdout &&
               dataset.weight_of(row) > 0;
    };
    Buffer<uint8_t> calibrates(context.memory(), what_calibration, dataset.tables[dataset.target_table].rows,
                               !others_choose);
    if (others_choose) {
        const Buffer<HashedRow> held_out = shuffled_target_rows(dataset, is_held_out, seed, team, context);
        for (size_t i = 1; i < held_out.size(); i += 2) calibrates[held_out[i].row] = 1;
    }
    const RowIds ids = dataset.target_ids();
    context.for_each(dataset.rows, 3, [&](uint64_t i) {
        const auto row = static_cast<uint32_t>(i);
        if (is_held_out(row) && calibrates[ids[row]]) taken.add(dataset, row);
    });
    if (!others_choose) return taken;
    if (dataset.holdout_table != dataset.target_table) give_roles_to_join_rows(dataset, context);
    const RowIds holdout_ids = dataset.holdout_ids();
    context.for_each(taken.size(), 1, [&](uint64_t i) {
        dataset.holdout[holdout_ids[taken.rows()[i]]] = static_cast<uint8_t>(Role::ignored);
    });
    return taken;
}

template <class Start>
Buffer<double> TargetRows::walk(std::span<const Tree> trees, const Start& start, const BinnedData& data,
                                ThreadTeam& team, RunContext& context) const {
    const BinnedTrees binned(trees, data, context);
    Buffer<double> scores(context.memory(), what_calibration, rows_.size());
    std::vector<std::vector<uint32_t>> bins(static_cast<size_t>(team.size()));
    // A piece takes a few milliseconds, and its bins stay in the cache.
    static constexpr size_t steps = 200'000, max_piece = 128;
    const size_t piece = std::clamp<size_t>(steps / (trees.size() + data.features.size()), 1, max_piece);
    team.for_each((rows_.size() + piece - 1) / piece, [&](size_t p, int worker) {
        const size_t begin = p * piece, count = std::min(piece, rows_.size() - begin);
        const std::span of_piece(scores.data() + begin, count);
        for (size_t i = 0; i < count; i++) of_piece[i] = start(begin + i);
        binned.add({rows_.data() + begin, count}, of_piece, bins[static_cast<size_t>(worker)]);
    });
    return scores;
}

Buffer<double> TargetRows::scores(std::span<const Tree> trees, double base, const BinnedData& data, ThreadTeam& team,
                                  RunContext& context) const {
    return walk(
        trees, [&](size_t) { return base; }, data, team, context);
}

Buffer<double> TargetRows::residuals(const Model& model, std::span<const Tree> trees, const BinnedData& data,
                                     ThreadTeam& team, RunContext& context) const {
    const auto start = [&](size_t i) { return model.bases[0] + (offsets_.empty() ? 0 : offsets_[i]); };
    Buffer<double> residuals = walk(trees, start, data, team, context);
    context.for_each(residuals.size(), 4,
                     [&](size_t i) { residuals[i] = targets_[i] - prediction_of(model.link(), residuals[i]); });
    return residuals;
}

} // namespace btml::boosting
