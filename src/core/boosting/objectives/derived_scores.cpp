#include "core/boosting/objectives/derived_scores.hpp"

#include "core/boosting/objectives/leaf_rows.hpp"
#include "core/boosting/rows/weighing.hpp"
#include "core/data/dataset.hpp"

namespace btml::boosting {

static_assert(RowIndex::list_rows <= derivative_block);

namespace {

constexpr int derivative_bits = 30;
constexpr double max_leaf_value = 64; // e^64 is more than any mean; 10^6 trees of it stay within a score's 63 bits

// Bits of a number of rows' weight.
int bits_of_weight(double total_weight) {
    return 1 + std::ilogb(std::max(total_weight, 1.0));
}

// The grid on which numbers up to `largest` have so many bits.
int grid_of(double largest, int bits) {
    return largest == 0 ? 0 : bits - 1 - std::ilogb(largest);
}

// With more bits a row's hessian leaves no room for counts in a sum. They are the same for a weight and so many copies.
int bits_of_hessian(const TrainingRows& training) {
    constexpr int min_bits = 18;
    const int weight_bits = bits_of_weight(training.train_count() * training.count_unit());
    const int beside_counts = 63 - 2 * weight_bits, light = training.bits_for_light_rows();
    if (light == 0 && beside_counts >= min_bits) return std::min(derivative_bits, beside_counts);
    return std::min(derivative_bits + light, max_sum_bits - weight_bits);
}

// The least of some targets.
struct LeastInvalid {
    double target = std::numeric_limits<double>::infinity();

    LeastInvalid& operator+=(const LeastInvalid& other) {
        if (!(other.target >= target)) target = other.target; // NaN, too
        return *this;
    }
};

} // namespace

DerivedScores::DerivedScores(const TrainingRows& training, Dataset& dataset, const LossOptions& options,
                             ThreadTeam& team, RunContext& context)
    : training_(training),
      team_(team),
      options_(options),
      target_(std::move(dataset.target)),
      label_weights_(dataset.label_weights),
      derivatives_(context.memory(), "derivatives", training.rows(), Derivative{}),
      hessian_bits_(bits_of_hessian(training)) {
    if (options.balanced) {
        weigh_labels(dataset.labels.size());
        dataset.label_weights = label_weights_;
    }
    sum_weights();
}

void DerivedScores::check_targets(const std::function<bool(double)>& holds, const char* valid) const {
    TeamSums<LeastInvalid> least(team_);
    for_each_used_row(team_, training_, [&](uint32_t row, Role, int worker) {
        if (!holds(target(row))) least[worker] += {target(row)};
    });
    const double found = least.total().target;
    if (std::isinf(found)) return;
    throw Error(ErrorCode::out_of_range,
                format("target value %s is not valid with objective => '%s'", shortest(found).c_str(),
                       name_of(options_.objective)),
                {}, format("Valid are %s.", valid));
}

// Labels weigh rows / (labels · rows of the label).
void DerivedScores::weigh_labels(size_t labels) {
    TeamSums<SumList<int64_t>> by_worker(team_);
    for (int worker = 0; worker < team_.size(); worker++) by_worker[worker].resize(labels);
    for_each_training_row(team_, training_, [&](uint32_t row, int worker) {
        by_worker[worker][static_cast<size_t>(target(row))] += training_.weight(row);
    });
    SumList<int64_t> counts = by_worker.total();
    counts.resize(labels);
    label_weights_.assign(labels, 1);
    for (size_t label = 0; label < labels; label++) {
        const int64_t count = counts[label];
        if (count > 0)
            label_weights_[label] = static_cast<double>(training_.train_count()) /
                                    (static_cast<double>(labels) * static_cast<double>(count));
    }
}

void DerivedScores::sum_weights() {
    TeamSums<SumsByRole<ExactSum>> sums(team_);
    for_each_used_row(team_, training_, [&](uint32_t row, Role role, int worker) {
        (role == Role::train ? sums[worker].trained : sums[worker].held_out).add(loss_weight(row));
    });
    const SumsByRole<ExactSum> total = sums.total();
    train_weight_ = total.trained.value();
    holdout_weight_ = total.held_out.value();
    if (!(train_weight_ > 0)) throw NothingToTrainOn("class_weights is 0 for the labels of all rows to train on");
}

const double* DerivedScores::targets_of(const RowList& rows, double* room) const {
    const RowIds ids = training_.target_ids();
    if (!ids) return &target_[rows.first];
    for (size_t i = 0; i < rows.count; i++) room[i] = target_[ids[rows.first + i]];
    return room;
}

void DerivedScores::load_targets(const RowList& rows, DerivativeBlock& block) const {
    const double* const found = targets_of(rows, block.targets);
    if (found != block.targets) std::copy_n(found, rows.count, block.targets);
    for (size_t i = rows.count; i % lanes != 0; i++) block.targets[i] = 0;
}

void DerivedScores::add_values(const std::vector<Leaf>& leaves, const RowIndex& index, int64_t* scores) {
    for_leaf_rows(leaves, index, team_, [&](const Leaf& leaf, Part, const RowList& rows, int) {
        for (size_t i = 0; i < rows.count; i++) {
            prefetch_to_write(scores, rows, i);
            scores[rows[i]] += leaf.value;
        }
    });
}

void DerivedScores::keep(const RowList& rows, const DerivativeBlock& block, Found& found) {
    BlockSums sums;
    keep_derivatives(block, loss_grid_.scale(), &derivatives_[rows.first], sums);
    weigh(rows, sums, found);
    const bool are_small = sums.largest_loss * loss_grid_.scale() <= max_scaled_loss;
    int64_t room[RowIndex::list_rows];
    if (counts_alike() && are_small && training_.weighted())
        loss_grid_.add(block.losses, weights_of(training_, rows, room), rows.count, sums.largest_loss, found.losses);
    else if (counts_alike() && are_small)
        loss_grid_.add(sums.losses, sums.largest_loss, found.losses);
    else
        for (size_t i = 0; i < rows.count; i++)
            add_loss(rows[i], training_.role(rows[i]), block.losses[i], found.losses);
}

void DerivedScores::weigh(const RowList& rows, const BlockSums& sums, Found& found) {
    if (counts_alike()) {
        found.residual = std::max(found.residual, sums.residual);
        found.hessian = std::max(found.hessian, sums.hessian);
        return;
    }
    for (size_t i = 0; i < rows.count; i++) {
        Derivative& kept = derivatives_[rows[i]];
        if (training_.role(rows[i]) == Role::train)
            keep(rows[i], kept.residual, kept.hessian, found);
        else
            kept = {};
    }
}

SumUnits DerivedScores::units() const {
    SumUnits units = training_.units();
    units.grid = residual_grid_;
    units.hessian_unit = std::ldexp(1, -hessian_grid_);
    units.drifts = false;
    return units;
}

int64_t DerivedScores::leaf_value(Stats total, const LeafRule& rule) const {
    if (total.hessian == 0) return 0;
    LeafRule weighted = rule;
    weighted.l1 = std::ldexp(rule.l1, training_.shift());
    weighted.l2 = std::ldexp(rule.l2, training_.shift());
    const double value =
        shrunken_value(std::ldexp(total.sum, -residual_grid_), std::ldexp(total.hessian, -hessian_grid_), weighted);
    return std::llrint(std::ldexp(std::clamp(value, -max_leaf_value, max_leaf_value), score_bits));
}

int64_t DerivedScores::to_value(double number) const {
    return units_of(number, std::ldexp(1, -score_bits), std::ldexp(max_leaf_value, score_bits));
}

void DerivedScores::gather(const RowList& rows, Stats* out) const {
    if (!training_.weighted()) {
        gather_unweighted(rows, out);
        return;
    }
    NodeSums gathered[RowIndex::list_rows];
    gather_tallied(rows, gathered);
    for (size_t i = 0; i < rows.count; i++) out[i] = gathered[i].total;
}

void DerivedScores::gather_unweighted(const RowList& rows, Stats* out) const {
    Derivative room[RowIndex::list_rows];
    round_derivatives(rows_of(derivatives_.data(), rows, room), rows.count, std::ldexp(1, residual_grid_),
                      std::ldexp(1, hessian_grid_), out);
}

void DerivedScores::gather_tallied(const RowList& rows, NodeSums* out) const {
    if (!training_.weighted()) {
        Stats gathered[RowIndex::list_rows];
        gather_unweighted(rows, gathered);
        for (size_t i = 0; i < rows.count; i++) out[i] = {gathered[i], {0, 1}};
        return;
    }
    Derivative room[RowIndex::list_rows];
    int64_t weight_room[RowIndex::list_rows];
    weigh_derivatives(rows_of(derivatives_.data(), rows, room), weights_of(training_, rows, weight_room), rows.count,
                      std::ldexp(1, residual_grid_), std::ldexp(1, hessian_grid_), training_.count_unit(), out);
}

int DerivedScores::packed_bits() const {
    const int bits = hessian_bits_ + bits_of_weight(static_cast<double>(training_.train_rows()));
    return training_.weighted() || bits + bits_of_weight(static_cast<double>(training_.train_rows())) > 63 ? 0 : bits;
}

int DerivedScores::residual_bits() const {
    return std::min(derivative_bits + training_.bits_for_light_rows(),
                    max_sum_bits - bits_of_weight(training_.train_count() * training_.count_unit()));
}

void DerivedScores::choose_grids(const Found& found) {
    residual_grid_ = grid_of(found.residual, residual_bits());
    hessian_grid_ = grid_of(found.hessian, hessian_bits_);
}

void DerivedScores::set_losses(const Found& found) {
    train_loss_ = loss_grid_.mean(found.losses.trained, train_weight_);
    if (training_.holdout_count() > 0) holdout_loss_ = loss_grid_.mean(found.losses.held_out, holdout_weight_);
}

} // namespace btml::boosting
