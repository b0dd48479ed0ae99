#include "core/boosting/cross_fitting.hpp"

namespace btml::boosting {

namespace {

constexpr const char* what = "rows out of fold";

uint32_t look_up(const uint32_t* ids, uint32_t row) {
    return ids ? ids[row] : row;
}

Buffer<double> copy_of(const Buffer<double>& from, RunContext& context) {
    Buffer<double> copy(context.memory(), what, from.size());
    context.in_blocks(from.size(), 1, [&](uint64_t begin, uint64_t end) {
        std::copy(from.begin() + begin, from.begin() + end, copy.begin() + begin);
    });
    return copy;
}

FeatureColumn without_rows(const FeatureColumn& column, RunContext& context) {
    return {column.name,
            column.type,
            column.kind,
            column.table,
            Buffer<double>(context.memory(), what),
            Buffer<uint32_t>(context.memory(), what),
            {},
            column.direction};
}

// Returns a dataset of the same tables, whose row ids the other keeps, and the same features, of which bins tell.
Dataset same_tables(const Dataset& dataset, RunContext& context) {
    Dataset view{.rows = dataset.rows,
                 .tables = {},
                 .features = {},
                 .target_table = dataset.target_table,
                 .target = Buffer<double>(context.memory(), what),
                 .weight = Buffer<double>(context.memory(), what),
                 .holdout_table = -1,
                 .holdout = Buffer<uint8_t>(context.memory(), what)};
    for (const DataTable& table : dataset.tables)
        view.tables.push_back({table.rows, Buffer<uint32_t>(context.memory(), what), table.ids()});
    for (const FeatureColumn& column : dataset.features) view.features.push_back(without_rows(column, context));
    return view;
}

// Adds a table whose rows are those of the join, and returns its place.
int add_join_rows(Dataset& dataset, RunContext& context) {
    dataset.tables.push_back({dataset.rows, Buffer<uint32_t>(context.memory(), what)});
    return static_cast<int>(dataset.tables.size()) - 1;
}

} // namespace

CrossFitting::CrossFitting(const Dataset& dataset, size_t folds, size_t spared, uint64_t seed, ThreadTeam& team,
                           RunContext& context)
    : context_(context), kept_(same_tables(dataset, context)) {
    kept_.target = copy_of(dataset.target, context);
    kept_.weight = copy_of(dataset.weight, context);
    if (dataset.offset) {
        kept_.offset = without_rows(*dataset.offset, context);
        kept_.offset->numbers = copy_of(dataset.offset->numbers, context);
    }
    const uint32_t* const ids = dataset.tables[dataset.target_table].ids();
    const uint32_t* const holdout_ids =
        dataset.holdout_table < 0 ? nullptr : dataset.tables[dataset.holdout_table].ids();
    const auto is_trained = [&](uint32_t row) {
        return (dataset.weight.empty() || dataset.weight[look_up(ids, row)] > 0) &&
               (dataset.holdout_table < 0 || dataset.holdout[look_up(holdout_ids, row)] == 0);
    };
    const Buffer<uint32_t> shuffled = shuffled_target_rows(dataset, is_trained, seed, team, context);
    if (shuffled.size() < folds + spared)
        throw Error(ErrorCode::invalid_argument,
                    format("what is learned out of %zu folds needs %zu rows of the target's table to train on", folds,
                           folds + spared));
    Buffer<uint16_t> fold(context.memory(), what, dataset.tables[dataset.target_table].rows, 0);
    for (size_t i = 0, taken = 0; i < shuffled.size(); i++) {
        const bool is_spared = (i + 1) * spared / shuffled.size() > taken; // deals spared rows out evenly
        fold[shuffled[i]] = static_cast<uint16_t>(is_spared ? folds : (i - taken) % folds);
        taken += is_spared;
    }
    for (size_t part = 0; part <= folds; part++) parts_.emplace_back(context);
    context.for_each(dataset.rows, 3, [&](uint64_t i) {
        const auto row = static_cast<uint32_t>(i);
        if (is_trained(row)) parts_[fold[look_up(ids, row)]].add(dataset, row);
    });
}

void CrossFitting::put(Role role, const TargetRows& some, Buffer<uint8_t>& roles) const {
    context_.for_each(some.rows().size(), 1, [&](size_t i) { roles[some.rows()[i]] = static_cast<uint8_t>(role); });
}

Buffer<uint8_t> CrossFitting::roles_of_all() const {
    Buffer<uint8_t> roles(context_.memory(), what, kept_.rows, static_cast<uint8_t>(Role::ignored));
    for (const TargetRows& some : parts_) put(Role::train, some, roles);
    return roles;
}

Buffer<uint8_t> CrossFitting::roles_without(size_t fold) const {
    Buffer<uint8_t> roles = roles_of_all();
    put(Role::holdout, rows(fold), roles);
    put(Role::ignored, spared(), roles);
    return roles;
}

Dataset CrossFitting::with_roles(Buffer<uint8_t> roles) const {
    Dataset dataset = same_tables(kept_, context_);
    dataset.target = copy_of(kept_.target, context_);
    dataset.weight = copy_of(kept_.weight, context_);
    if (kept_.offset) {
        dataset.offset = without_rows(*kept_.offset, context_);
        dataset.offset->numbers = copy_of(kept_.offset->numbers, context_);
    }
    dataset.holdout_table = add_join_rows(dataset, context_);
    dataset.holdout = std::move(roles);
    return dataset;
}

// The target, and with it the weight, are of rows of the join.
Dataset CrossFitting::with_targets(Buffer<uint8_t> roles, const Buffer<double>& target) const {
    Dataset dataset = same_tables(kept_, context_);
    for (FeatureColumn& feature : dataset.features) feature.direction = 0;
    dataset.target_table = dataset.holdout_table = add_join_rows(dataset, context_);
    dataset.target = copy_of(target, context_);
    dataset.holdout = std::move(roles);
    if (kept_.weight.empty()) return dataset;
    const uint32_t* const ids = kept_.tables[kept_.target_table].ids();
    dataset.weight.resize(kept_.rows);
    context_.for_each(kept_.rows, 1, [&](uint64_t row) {
        dataset.weight[row] = kept_.weight[look_up(ids, static_cast<uint32_t>(row))];
    });
    return dataset;
}

Dataset CrossFitting::without(size_t fold) const {
    return with_roles(roles_without(fold));
}

Dataset CrossFitting::without(size_t fold, const Buffer<double>& target) const {
    return with_targets(roles_without(fold), target);
}

Dataset CrossFitting::all(const Buffer<double>& target) const {
    return with_targets(roles_of_all(), target);
}

} // namespace btml::boosting
