// Losses of the absolute error and their like: leaves are not a Newton step but the quantile of their rows' residuals
// (of huber, Friedman's step from their median: Greedy Function Approximation, §4.4; of squared loss beside far
// targets, the mean of their residuals).
//
// A row's residual y − F is a double, from which the same numbers are subtracted in the same order however the join is
// held. Those of ordinary rows and the leaves' values are multiples of a power of two far below them, so that equal
// residuals stay equal; far ones, of which signs count, are as exact as a double can be and cost the others nothing.
// The gradient follows from the residual alone, and the hessian is 1.
#include "core/boosting/objectives/leaf_rows.hpp"
#include "core/boosting/objectives/squared.hpp"
#include "core/boosting/rows/number_grid.hpp"
#include "core/boosting/rows/weighing.hpp"
#include "core/numbers/exact_sum.hpp"
#include "core/numbers/weighted_quantile.hpp"

#include <bit>
#include <cmath>

namespace btml::boosting {

namespace {

constexpr int residual_bits = 51;
constexpr double median = 0.5;

enum class Loss { absolute, quantile, huber, squared };

struct Form {
    Loss loss;
    double
        quantile; // the base is that quantile of targets, and the step of a leaf is, or starts from, that of residuals
    double alpha = 0; // of huber, the part of residuals that are within delta

    // Says whether a gradient is the residual, at most delta, and not its sign.
    bool clamps() const { return loss == Loss::huber || loss == Loss::squared; }
    // Returns the most bits of a gradient. Those of squared loss are spent half above ordinary residuals, half below.
    int gradient_bits(const TrainingRows& training) const {
        return loss == Loss::squared ? 48 : 30 + training.bits_for_light_rows();
    }
};

class RenewedScores final : public RowScores {
  public:
    RenewedScores(const Form& form, const TrainingRows& training, Buffer<double> target,
                  const std::vector<double>& bases, ThreadTeam& team, RunContext& context)
        : form_(form),
          training_(training),
          team_(team),
          residuals_(context.memory(), "residuals", training.rows()),
          gradient_bits_(
              std::min(form.gradient_bits(training),
                       max_sum_bits - 1 - std::ilogb(std::max(1.0, training.train_count() * training.count_unit())))),
          up_(std::llrint(std::ldexp(form.quantile, gradient_bits_))),
          down_(std::llrint(std::ldexp(1 - form.quantile, gradient_bits_))) {
        check_target(target);
        base_ = bases.empty() ? best_base(target) : bases[0];
        set_residuals(target);
        choose_delta();
        first_delta_ = delta_;
        sum_losses();
    }

    std::vector<double> bases() const override { return {base_}; }

    SumUnits units() const override {
        SumUnits units = training_.units();
        units.grid = form_.clamps() ? gradient_grid_ : gradient_bits_;
        units.square_unit = std::ldexp(1, square_shift());
        units.drifts = false;
        return units;
    }

    int64_t leaf_value(Stats, const LeafRule&) const override { return 0; } // it is renewed
    // A value is the bits of the number.
    double to_number(int64_t value) const override { return std::bit_cast<double>(value); }
    int64_t to_value(double number) const override { return std::bit_cast<int64_t>(number); }
    bool is_value(int64_t value) const override { return std::isfinite(to_number(value)); }
    double train_loss() const override { return train_loss_; }
    std::optional<double> holdout_loss() const override { return holdout_loss_; }
    bool renews() const override { return true; }

    void gather(const RowList& rows, Stats* out) const override {
        double room[RowIndex::list_rows];
        const double* const residuals = rows_of(residuals_.data(), rows, room);
        if (!training_.weighted()) {
            for (size_t i = 0; i < rows.count; i++) out[i] = {gradient(residuals[i]), 1};
            return;
        }
        int64_t weight_room[RowIndex::list_rows], sums[RowIndex::list_rows];
        const int64_t* const weights = weights_of(training_, rows, weight_room);
        for (size_t i = 0; i < rows.count; i++) sums[i] = gradient(residuals[i]);
        weigh(training_, weights, rows.count, uint64_t{1} << gradient_bits_, sums);
        for (size_t i = 0; i < rows.count; i++) out[i] = {sums[i], weights[i]};
    }

    void gather_tallied(const RowList& rows, NodeSums* out) const override {
        Stats gathered[RowIndex::list_rows];
        gather(rows, gathered);
        const int shift = square_shift();
        for (size_t i = 0; i < rows.count; i++) {
            const int128 g = form_.loss == Loss::squared ? gradient(residuals_[rows[i]]) : 0;
            out[i] = {gathered[i], {static_cast<int64_t>((gathered[i].sum * g) >> shift), gathered[i].hessian}};
        }
    }

    StatsFormat stats_format() const override {
        return training_.weighted() ? StatsFormat::full : StatsFormat::unit_hessian;
    }
    int gathered_bits() const override { return training_.weighted() ? 64 : gradient_bits_ + 1; }

    int64_t renewed_value(const std::vector<const RowSet*>& rows, const RowIndex& index,
                          const LeafRule& rule) const override {
        return to_value(on_grid(step(rows, index, rule)));
    }

    void add(const std::vector<Leaf>& leaves, const RowIndex& index) override {
        for_leaf_rows(leaves, index, team_, [&](const Leaf& leaf, Part, const RowList& rows, int) {
            const double number = to_number(leaf.value);
            for (size_t i = 0; i < rows.count; i++) residuals_[rows[i]] -= number;
        });
        sum_losses();
        choose_delta();
    }

    const TrainingRows& training() const override { return training_; }
    HeldOutRow held_out_row(uint32_t row) const override {
        return {residuals_[row], 0, static_cast<double>(training_.weight(row)), false};
    }

  private:
    int64_t gradient(double residual) const {
        if (form_.clamps()) return std::llrint(std::ldexp(std::clamp(residual, -delta_, delta_), gradient_grid_));
        return static_cast<int64_t>(residual > 0) * up_ - static_cast<int64_t>(residual < 0) * down_;
    }

    double quantile(const std::vector<const RowSet*>& rows, const RowIndex& index) const {
        return from_ordered_bits(weighted_quantile(form_.quantile, 63, team_, [&](const auto& visit) {
            for (const RowSet* set : rows)
                index.for_each_list(*set, [&](const RowList& list, int worker) {
                    for (size_t i = 0; i < list.count; i++)
                        visit(ordered_bits(residuals_[list[i]]), training_.weight(list[i]), worker);
                });
        }));
    }

    // The mean of what residuals differ from the middle by, at most delta.
    double huber_step(const std::vector<const RowSet*>& rows, const RowIndex& index, double middle) const {
        const int grid = sum_bits - 1 - std::ilogb(delta_);
        TeamSums<WeightedSum<int128, int64_t>> sums(team_);
        for (const RowSet* set : rows)
            index.for_each_list(*set, [&](const RowList& list, int worker) {
                for (size_t i = 0; i < list.count; i++) {
                    const int64_t weight = training_.weight(list[i]);
                    const double difference = std::clamp(residuals_[list[i]] - middle, -delta_, delta_);
                    sums[worker] += {static_cast<int128>(weight) * std::llrint(std::ldexp(difference, grid)), weight};
                }
            });
        const auto mean = sums.total();
        return std::ldexp(static_cast<double>(mean.sum) / static_cast<double>(mean.weight), -grid);
    }

    double step(const std::vector<const RowSet*>& rows, const RowIndex& index, const LeafRule& rule) const {
        if (form_.loss == Loss::squared) return mean_step(rows, index, rule);
        const double middle = quantile(rows, index);
        const double whole = middle + (form_.loss == Loss::huber ? huber_step(rows, index, middle) : 0);
        return rule.learning_rate * std::clamp(whole, rule.lower, rule.upper);
    }

    double mean_step(const std::vector<const RowSet*>& rows, const RowIndex& index, const LeafRule& rule) const {
        TeamSums<WeightedSum<WideSum, int64_t>> by_worker(team_);
        for (const RowSet* set : rows)
            index.for_each_list(*set, [&](const RowList& list, int worker) {
                for (size_t i = 0; i < list.count; i++) {
                    const int64_t weight = training_.weight(list[i]);
                    add_weighted(residuals_[list[i]], weight, by_worker[worker].sum);
                    by_worker[worker].weight += weight;
                }
            });
        const auto total = by_worker.total();
        const double unit = std::ldexp(1, -training_.scale()); // of weights
        return shrunken_value(total.sum.scaled().nearest() * unit, static_cast<double>(total.weight) * unit, rule);
    }

    // Adds number · weight, to the last bit of both.
    void add_weighted(double number, int64_t weight, WideSum& sum) const {
        const double weighted = number * static_cast<double>(weight);
        sum.add(weighted);
        if (training_.weighted()) sum.add(std::fma(number, static_cast<double>(weight), -weighted));
    }

    // Squares of gradients have sums below 2^61 in units of 2^square_shift.
    int square_shift() const { return form_.loss == Loss::squared ? gradient_bits_ + 1 : 0; }

    double loss(double residual) const {
        const double size = std::fabs(residual);
        switch (form_.loss) {
        case Loss::absolute:
            return size;
        case Loss::quantile:
            return residual > 0 ? form_.quantile * residual : (form_.quantile - 1) * residual;
        case Loss::huber:
            return size <= first_delta_ ? size * size / 2 : first_delta_ * (size - first_delta_ / 2);
        case Loss::squared:
            break;
        }
        return size * size;
    }

    void check_target(const Buffer<double>& target) const {
        TeamSums<Largest> largest(team_);
        for_each_used_row(team_, training_, [&](uint32_t row, Role, int worker) {
            largest[worker] += {std::fabs(target[training_.target_row(row)])};
        });
        check_targets(largest.total().number);
    }

    double best_base(const Buffer<double>& target) const {
        return from_ordered_bits(weighted_quantile(form_.quantile, 63, team_, [&](const auto& visit) {
            for_each_training_row(team_, training_, [&](uint32_t row, int worker) {
                visit(ordered_bits(target[training_.target_row(row)]), training_.weight(row), worker);
            });
        }));
    }

    void set_residuals(const Buffer<double>& target) {
        grid_ = grid_of(target);
        for_each_row(team_, training_.rows(), [&](size_t i, int) {
            const auto row = static_cast<uint32_t>(i);
            residuals_[row] = 0;
            if (training_.role(row) != Role::ignored)
                residuals_[row] = on_grid(target[training_.target_row(row)] - base_);
        });
    }

    // The grid goes by the geometric mean of the residuals' magnitudes, which a few far ones hardly move.
    int grid_of(const Buffer<double>& target) const {
        TeamSums<WeightedSum<int128>> exponents(team_);
        for_each_training_row(team_, training_, [&](uint32_t row, int worker) {
            const double residual = target[training_.target_row(row)] - base_;
            if (residual == 0) return;
            const int128 weight = training_.weight(row);
            exponents[worker] += {weight * std::ilogb(residual), weight};
        });
        const WeightedSum<int128> all = exponents.total();
        if (all.weight == 0) return 0;
        const bool is_below = all.sum % all.weight < 0; // rounded down, whatever the unit
        return residual_bits - static_cast<int>(all.sum / all.weight - int128{is_below});
    }

    double on_grid(double x) const {
        constexpr int mantissa_bits = 52;
        if (!(std::fabs(x) < std::ldexp(1, mantissa_bits - grid_))) return x;
        return std::ldexp(std::nearbyint(std::ldexp(x, grid_)), -grid_) + 0.0; // not −0
    }

    void choose_delta() {
        if (!form_.clamps()) return;
        delta_ = form_.loss == Loss::huber ? huber_delta() : std::ldexp(1, residual_bits - grid_ + gradient_bits_ / 2);
        gradient_grid_ = gradient_bits_ - 1 - std::ilogb(delta_);
    }

    double huber_delta() const {
        const double delta = from_ordered_bits(weighted_quantile(form_.alpha, 63, team_, [&](const auto& visit) {
            for_each_training_row(team_, training_, [&](uint32_t row, int worker) {
                visit(ordered_bits(std::fabs(residuals_[row])), training_.weight(row), worker);
            });
        }));
        return std::max(delta, std::ldexp(1, std::max(-grid_, -1022)));
    }

    // Exact, a weight that is a whole number is so many copies of the row.
    void sum_losses() {
        TeamSums<SumsByRole<WideSum>> losses(team_);
        for_pieces(team_, training_.rows(), [&](size_t begin, size_t end, int worker) {
            SumsByRole<WideSum>& own = losses[worker];
            for (size_t i = begin; i < end; i++) {
                const auto row = static_cast<uint32_t>(i);
                const Role role = training_.role(row);
                if (role == Role::ignored) continue;
                add_weighted(loss(residuals_[row]), training_.weight(row),
                             role == Role::train ? own.trained : own.held_out);
            }
        });
        const SumsByRole<WideSum> all = losses.total();
        const auto mean = [](const WideSum& sum, int64_t count) {
            return (sum.scaled() / ScaledNumber(static_cast<double>(count))).nearest();
        };
        train_loss_ = mean(all.trained, training_.train_count());
        if (training_.holdout_count() > 0) holdout_loss_ = mean(all.held_out, training_.holdout_count());
    }

    const Form form_;
    const TrainingRows& training_;
    ThreadTeam& team_;
    Buffer<double> residuals_;
    double base_ = 0;
    int grid_ = 0; // ordinary residuals and values are multiples of 2^-grid
    int gradient_bits_;
    int64_t up_, down_;      // gradients of positive and negative residuals, where these do not count as numbers
    double delta_ = 1;       // where they do: no gradient is larger
    int gradient_grid_ = 0;  // a gradient is an integer · 2^-gradient_grid
    double first_delta_ = 0; // of huber: losses go by it
    double train_loss_ = 0;
    std::optional<double> holdout_loss_;
};

Form form_of(const LossOptions& options) {
    switch (options.objective) {
    case ObjectiveNumber::quantile:
        return {Loss::quantile, options.alpha};
    case ObjectiveNumber::huber:
        return {Loss::huber, median, options.alpha};
    default:
        return {Loss::absolute, median};
    }
}

std::unique_ptr<RowScores> start_renewed(const TrainingRows& training, Dataset& dataset, const LossOptions& options,
                                         ThreadTeam& team, RunContext& context) {
    return std::make_unique<RenewedScores>(form_of(options), training, std::move(dataset.target), options.bases, team,
                                           context);
}

} // namespace

std::unique_ptr<RowScores> squared_beside_far_targets(const TrainingRows& training, Buffer<double> target,
                                                      const std::vector<double>& bases, ThreadTeam& team,
                                                      RunContext& context) {
    return std::make_unique<RenewedScores>(Form{Loss::squared, median}, training, std::move(target), bases, team,
                                           context);
}

constinit const Objective absolute_objective{.metrics = {HoldoutMetric::mae, HoldoutMetric::rmse},
                                             .lightgbm = {{"regression_l1"}, {"mape"}},
                                             .xgboost = {{"reg:absoluteerror"}},
                                             .hessian_is_count = true,
                                             .start = start_renewed,
                                             .bytes_of_row = sizeof(double)};

constinit const Objective quantile_objective{
    .metrics = {HoldoutMetric::pinball, HoldoutMetric::rmse, HoldoutMetric::mae},
    .lightgbm = {{"quantile"}},
    .xgboost = {{"reg:quantileerror"}},
    .hessian_is_count = true,
    .default_alpha = median,
    .start = start_renewed,
    .bytes_of_row = sizeof(double)};

constinit const Objective huber_objective{.metrics = {HoldoutMetric::rmse, HoldoutMetric::mae},
                                          .lightgbm = {{"huber"}, {"fair"}},
                                          .xgboost = {{"reg:pseudohubererror"}},
                                          .hessian_is_count = true,
                                          .default_alpha = 0.9,
                                          .start = start_renewed,
                                          .bytes_of_row = sizeof(double)};

} // namespace btml::boosting
