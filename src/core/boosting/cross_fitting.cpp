#include "core/boosting/cross_fitting.hpp"

namespace btml::boosting {

static constexpr const char* what_folds = "rows out of fold";

CrossFitting::CrossFitting(const Dataset& dataset, size_t folds, size_t spared, uint64_t seed, ThreadTeam& team,
                           RunContext& context)
    : context_(context), kept_(dataset.copy_of_targets(context)) {
    const RowIds ids = dataset.target_ids(), holdout_ids = dataset.holdout_ids();
    const auto is_trained = [&](uint32_t row) {
        return dataset.weight_of(row) > 0 && (dataset.holdout_table < 0 || dataset.holdout[holdout_ids[row]] == 0);
    };
    const Buffer<HashedRow> shuffled = shuffled_target_rows(dataset, is_trained, seed, team, context);
    if (shuffled.size() < folds + spared)
        throw Error(ErrorCode::invalid_argument,
                    format("what is learned out of %zu folds needs %zu rows of the target's table to train on", folds,
                           folds + spared));
    Buffer<uint16_t> fold(context.memory(), what_folds, dataset.tables[dataset.target_table].rows, 0);
    for (size_t i = 0, taken = 0; i < shuffled.size(); i++) {
        const bool is_spared = (i + 1) * spared / shuffled.size() > taken; // deals spared rows out evenly
        fold[shuffled[i].row] = static_cast<uint16_t>(is_spared ? folds : (i - taken) % folds);
        taken += is_spared;
    }
    for (size_t part = 0; part <= folds; part++) parts_.emplace_back(context);
    context.for_each(dataset.rows, 3, [&](uint64_t i) {
        const auto row = static_cast<uint32_t>(i);
        if (is_trained(row)) parts_[fold[ids[row]]].add(dataset, row);
    });
}

uint64_t CrossFitting::all_rows() const {
    uint64_t rows = 0;
    for (const TargetRows& part : parts_) rows += part.rows().size();
    return rows;
}

// Holds a fold out, and ignores spared rows then; without one, all are trained on.
Buffer<uint8_t> CrossFitting::roles(std::optional<size_t> without) const {
    Buffer<uint8_t> roles(context_.memory(), what_folds, kept_.rows, static_cast<uint8_t>(Role::ignored));
    for (size_t part = 0; part < parts_.size(); part++) {
        const Role role = part == without ? Role::holdout : without && part == folds() ? Role::ignored : Role::train;
        const Buffer<uint32_t>& some = parts_[part].rows();
        context_.for_each(some.size(), 1, [&](size_t i) { roles[some[i]] = static_cast<uint8_t>(role); });
    }
    return roles;
}

// Makes the target, and with it the weight, those of rows of the join.
void CrossFitting::set_targets(const Buffer<double>& targets, Dataset& dataset) const {
    for (FeatureColumn& feature : dataset.features) feature.direction = 0;
    dataset.offset.reset();
    dataset.target_table = dataset.add_table(dataset.rows);
    dataset.target = targets.copy(context_);
    if (kept_.weight.empty()) return;
    const RowIds ids = kept_.target_ids();
    dataset.weight.resize(kept_.rows);
    context_.for_each(kept_.rows, 1, [&](uint64_t row) { dataset.weight[row] = kept_.weight[ids[row]]; });
}

Dataset CrossFitting::without(std::optional<size_t> fold, const Buffer<double>* targets) const {
    Dataset dataset = kept_.copy_of_targets(context_);
    if (targets) set_targets(*targets, dataset);
    dataset.hold_out(roles(fold));
    return dataset;
}

} // namespace btml::boosting
