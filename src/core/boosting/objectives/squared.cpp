#include "core/boosting/objectives/squared.hpp"

#include "core/boosting/objectives/leaf_rows.hpp"
#include "core/boosting/rows/weighing.hpp"
#include "core/numbers/usual_range.hpp"

#include <cmath>

namespace btml::boosting {

namespace {

constexpr int max_residual_bits = 61;
// Sums of residuals of so many bits can be packed, thousands of rows at a time. The grid of many rows goes by that,
// where half of them have residuals that the largest is no more than 2^max_spread_bits times as large as; else it is
// finer.
constexpr int packable_bits = 38, max_spread_bits = 8;
constexpr double min_packed_weight = 0x1p16;

uint128 product(int64_t weighted, int64_t residual) { // never negative: the signs agree
    return static_cast<uint128>(static_cast<int128>(weighted) * residual);
}

TargetSizes sizes_of(const Buffer<double>& target, const TrainingRows& training, ThreadTeam& team) {
    const double median = median_of(static_cast<size_t>(team.size()), team.peers(), [&](const auto& body) {
        for_each_training_row(team, training, [&](uint32_t row, int worker) {
            body(target[training.target_row(row)], training.weight(row), worker);
        });
    });
    const auto difference = [&](uint32_t row) { return target[training.target_row(row)] - median; };
    TeamSums<Largest> largest(team);
    for_each_training_row(team, training,
                          [&](uint32_t row, int worker) { largest[worker] += {std::fabs(difference(row))}; });
    const double most = largest.total().number;
    if (!(most > 0 && std::isfinite(most))) return {};
    TeamSums<UsualSize> usual(team);
    for (int worker = 0; worker < team.size(); worker++) usual[worker] = UsualSize(most);
    for_each_training_row(team, training,
                          [&](uint32_t row, int worker) { usual[worker].add(difference(row), training.weight(row)); });
    return {usual.total().value(), most};
}

std::unique_ptr<RowScores> start_squared(const TrainingRows& training, Dataset& dataset, const LossOptions& options,
                                         ThreadTeam& team, RunContext& context) {
    const TargetSizes sizes = sizes_of(dataset.target, training, team);
    if (sizes.has_far())
        return squared_beside_far_targets(training, std::move(dataset.target), options.bases, team, context);
    return std::make_unique<Residuals>(training, std::move(dataset.target), sizes.usual, options, team, context);
}

} // namespace

// Losses of other libraries that no objective here is like are read as this one.
constinit const Objective squared_objective{.metrics = {HoldoutMetric::rmse, HoldoutMetric::mae},
                                            .lightgbm = {{"regression"}, {"cross_entropy_lambda", Link::softplus}},
                                            .xgboost = {{"reg:squarederror"},
                                                        {"reg:linear"},
                                                        {"reg:squaredlogerror"},
                                                        {"binary:logitraw"},
                                                        {"survival:cox", Link::exponential},
                                                        {"survival:aft", Link::exponential}},
                                            .hessian_is_count = true,
                                            .factorises = true,
                                            .start = start_squared,
                                            .bytes_of_row = sizeof(int64_t)};

// Holds what a pass over rows finds out.
struct Residuals::Passed {
    uint128 loss = 0;
    uint64_t largest = 0;
    double most = 0; // of residuals, or of squares of held-out ones

    void add(uint128 square, int64_t residual) {
        loss += square;
        largest = std::max(largest, magnitude(residual));
    }
    Passed& operator+=(const Passed& other) {
        loss += other.loss;
        largest = std::max(largest, other.largest);
        most = larger(most, other.most);
        return *this;
    }
};

Residuals::Residuals(const TrainingRows& training, Buffer<double> target, double usual, const LossOptions& options,
                     ThreadTeam& team, RunContext& context)
    : SquaredLoss(training.units(), training.train_count() * training.count_unit()),
      training_(training),
      team_(team),
      residuals_(context.memory(), "residuals", training.rows()) {
    find_base(options.bases, static_cast<size_t>(team.size()), team.peers(), [&](const auto& body) {
        for_each_used_row(team, training, [&](uint32_t row, Role role, int worker) {
            body(target[training.target_row(row)], training.weight(row), role == Role::train, worker);
        });
    });
    choose_grid(target, usual);
    start_holdout_loss();
}

// Σ weight · residual² of the held-out rows. Each square is rounded to a grid below the largest, so that the sum does
// not depend on its order, and a weight that is a whole number is so many copies of the row.
template <class ForEach>
void Residuals::add_up_holdout(const ForEach& for_each_held_out, double largest) {
    holdout_loss_ = 0;
    if (largest == 0) return;
    const int scale = max_sum_bits - 1 - std::ilogb(largest);
    TeamSums<int128> sums(team_);
    for_each_held_out([&](uint32_t row, int worker) {
        sums[worker] +=
            static_cast<int128>(std::llrint(std::ldexp(held_out_square(row), scale))) * training_.weight(row);
    });
    holdout_loss_ =
        std::ldexp(static_cast<double>(sums.total()) / static_cast<double>(training_.holdout_count()), -scale);
}

void Residuals::start_holdout_loss() {
    if (training_.holdout_count() == 0) return;
    const auto for_each_held_out = [&](const auto& body) {
        for_each_used_row(team_, training_, [&](uint32_t row, Role role, int worker) {
            if (role == Role::holdout) body(row, worker);
        });
    };
    TeamSums<Passed> passed(team_);
    for_each_held_out(
        [&](uint32_t row, int worker) { passed[worker].most = larger(passed[worker].most, held_out_square(row)); });
    add_up_holdout(for_each_held_out, passed.total().most);
}

void Residuals::set_loss(const TeamSums<Passed>& passed) {
    const Passed total = passed.total();
    loss_ = total.loss;
    largest_ = total.largest;
}

double Residuals::held_out_square(uint32_t row) const {
    const auto residual = std::bit_cast<double>(residuals_[row]);
    return residual * residual;
}

void Residuals::choose_grid(const Buffer<double>& target, double usual) {
    const auto residual = [&](uint32_t row) { return target[training_.target_row(row)] - base_; };
    TeamSums<Passed> magnitudes(team_);
    for_each_training_row(team_, training_, [&](uint32_t row, int worker) {
        double& most = magnitudes[worker].most;
        most = std::max(most, std::fabs(residual(row)));
    });
    if (const double most = magnitudes.total().most; most > 0) {
        const int trial = 39 - std::ilogb(most);      // residuals of 40 bits, whose squares' sum fits 128
        TeamSums<WeightedSum<uint128>> spread(team_); // Σ weight · residual², and the weight of large residuals
        for_each_training_row(team_, training_, [&](uint32_t row, int worker) {
            const int64_t r = std::llrint(std::ldexp(residual(row), trial));
            const bool is_large = std::fabs(residual(row)) >= std::ldexp(most, -max_spread_bits);
            spread[worker] +=
                {product(training_.weigh(row, r), r), is_large ? static_cast<uint128>(training_.weight(row)) : 0};
        });
        const WeightedSum<uint128> all = spread.total();
        grid_ = grid_for_sums(trial, total_weight_, static_cast<double>(all.sum), most);
        if (total_weight_ >= min_packed_weight && 2 * all.weight >= static_cast<uint128>(training_.train_count()))
            grid_ = std::min(grid_, packable_bits - 1 - std::ilogb(most));
    }
    TeamSums<Passed> passed(team_);
    for_each_row(team_, training_.rows(), [&](size_t row, int worker) {
        const Role role = training_.role(row);
        residuals_[row] = 0;
        if (role == Role::holdout) residuals_[row] = std::bit_cast<int64_t>(residual(row));
        if (role != Role::train) return;
        const int64_t r = std::llrint(std::ldexp(residual(row), grid_));
        residuals_[row] = r;
        passed[worker].add(product(training_.weigh(row, r), r), r);
    });
    set_loss(passed);
    start_train_loss(usual);
}

void Residuals::gather(const RowList& rows, Stats* out) const {
    int64_t room[RowIndex::list_rows];
    const int64_t* const residuals = rows_of(residuals_.data(), rows, room);
    if (!training_.weighted()) {
        for (size_t i = 0; i < rows.count; i++) out[i] = {residuals[i], 1};
        return;
    }
    int64_t weight_room[RowIndex::list_rows], sums[RowIndex::list_rows];
    const int64_t* const weights = weights_of(training_, rows, weight_room);
    std::copy_n(residuals, rows.count, sums);
    weigh(training_, weights, rows.count, largest_, sums);
    for (size_t i = 0; i < rows.count; i++) out[i] = {sums[i], weights[i]};
}

void Residuals::gather_tallied(const RowList& rows, NodeSums* out) const {
    Stats gathered[RowIndex::list_rows];
    gather(rows, gathered);
    const int shift = square_shift();
    const uint128 half = (uint128{1} << shift) >> 1;
    for (size_t i = 0; i < rows.count; i++) {
        const uint128 square = product(gathered[i].sum, residuals_[rows[i]]);
        out[i] = {gathered[i], {static_cast<int64_t>((square + half) >> shift), gathered[i].hessian}};
    }
}

void Residuals::subtract_training(const RowList& rows, int64_t value, Passed& passed) {
    int64_t* residuals = residuals_.data();
    int64_t updated[RowIndex::list_rows];
    uint64_t largest = 0;
    for (size_t i = 0; i < rows.count; i++) {
        prefetch_to_write(residuals, rows, i);
        updated[i] = residuals[rows[i]] -= value;
        largest = std::max(largest, magnitude(updated[i]));
    }
    passed.largest = std::max(passed.largest, largest);
    int64_t room[RowIndex::list_rows], weighed[RowIndex::list_rows];
    if (training_.weighted()) {
        std::copy_n(updated, rows.count, weighed);
        weigh(training_, weights_of(training_, rows, room), rows.count, largest, weighed);
    }
    const int64_t* const by = training_.weighted() ? weighed : updated;
    uint128 loss = 0;
    for (size_t i = 0; i < rows.count; i++) loss += product(by[i], updated[i]);
    passed.loss += loss;
}

void Residuals::add(const std::vector<Leaf>& leaves, const RowIndex& index) {
    TeamSums<Passed> passed(team_);
    for_leaf_rows(leaves, index, team_, [&](const Leaf& leaf, Part part, const RowList& rows, int worker) {
        Passed& own = passed[worker];
        if (part != held_out) {
            subtract_training(rows, leaf.value, own);
            return;
        }
        const double number = to_number(leaf.value);
        for (size_t i = 0; i < rows.count; i++) {
            const double r = std::bit_cast<double>(residuals_[rows[i]]) - number;
            residuals_[rows[i]] = std::bit_cast<int64_t>(r);
            own.most = std::max(own.most, r * r);
        }
    });
    set_loss(passed);
    const auto for_each_held_out = [&](const auto& body) {
        for_leaf_rows(leaves, index, team_, [&](const Leaf&, Part part, const RowList& rows, int worker) {
            if (part != held_out) return;
            for (size_t i = 0; i < rows.count; i++) body(rows[i], worker);
        });
    };
    if (training_.holdout_count() > 0) add_up_holdout(for_each_held_out, passed.total().most);
    coarsen_if_needed();
}

void Residuals::coarsen_if_needed() {
    const double bound = std::sqrt(total_weight_ * loss_);
    if (bound < std::ldexp(1, max_sum_bits) && bit_width(uint128{largest_}) <= max_residual_bits) return;
    const int bits = std::max(bound > 0 ? std::ilogb(bound) : 0, bit_width(uint128{largest_}) - 1) - sum_bits + 1;
    grid_ -= bits;
    TeamSums<Passed> passed(team_);
    for_each_training_row(team_, training_, [&](uint32_t row, int worker) {
        const int64_t r = (residuals_[row] + (int64_t{1} << (bits - 1))) >> bits;
        residuals_[row] = r;
        passed[worker].add(product(training_.weigh(row, r), r), r);
    });
    set_loss(passed);
}

} // namespace btml::boosting
