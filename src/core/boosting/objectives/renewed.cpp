// Losses of the absolute error and their like: leaves are not a Newton step but the quantile of their rows' residuals
// (of huber, Friedman's step from their median: Greedy Function Approximation, §4.4).
//
// A training row's residual y − F is an integer on a grid of a power of two, of at most 51 bits at first. The gradient
// follows from it alone, and the hessian is 1.
#include "core/boosting/objectives/leaf_rows.hpp"
#include "core/boosting/objectives/loss_sums.hpp"
#include "core/boosting/objectives/table.hpp"
#include "core/boosting/objectives/weighted_quantile.hpp"
#include "core/boosting/rows/number_grid.hpp"

#include <bit>
#include <cmath>

namespace btml::boosting {

namespace {

constexpr int residual_bits = 51, max_residual_bits = 60, gradient_bits = 30;
constexpr double median = 0.5;

// Which loss it is.
struct Form {
    double quantile; // that leaves renew by
    bool absolute, huber;
    double alpha; // of huber, the part of residuals that are within delta
};

class RenewedScores final : public RowScores {
  public:
    RenewedScores(const Form& form, const TrainingRows& training, Buffer<double> target,
                  const std::vector<double>& bases, ThreadTeam& team, RunContext& context);

    std::vector<double> bases() const override { return {base_}; }
    SumUnits units() const override;
    int64_t leaf_value(Stats, const LeafRule&) const override { return 0; } // it is renewed
    double to_number(int64_t value) const override { return static_cast<double>(value) * unit_; }
    int64_t to_value(double number) const override { return units_of(number, unit_, 0x1p61); }
    double train_loss() const override { return train_loss_; }
    std::optional<double> holdout_loss() const override { return holdout_loss_; }
    bool renews() const override { return true; }

    void gather(const RowList& rows, Stats* out) const override;
    void gather_tallies(const RowList& rows, Tally* out) const override;
    StatsFormat stats_format() const override {
        return training_.weighted() ? StatsFormat::full : StatsFormat::unit_hessian;
    }
    int gathered_bits() const override { return training_.weighted() ? 64 : gradient_bits_ + 1; }
    int64_t renewed_value(const std::vector<const RowSet*>& rows, const RowIndex& index,
                          const LeafRule& rule) const override;
    void add(const std::vector<Leaf>& leaves, const RowIndex& index) override;
    const TrainingRows& training() const override { return training_; }
    HeldOutRow held_out_row(uint32_t row) const override {
        return {std::bit_cast<double>(residuals_[row]), 0, static_cast<double>(training_.weight(row)), false};
    }

  private:
    struct Passed {
        LossSums losses;
        uint64_t largest = 0; // residual of a training row

        Passed& operator+=(const Passed& other) {
            losses += other.losses;
            largest = std::max(largest, other.largest);
            return *this;
        }
    };

    int64_t gradient(int64_t residual) const;
    double huber_step(const std::vector<const RowSet*>& rows, const RowIndex& index, int64_t middle) const;
    double loss(double residual) const;
    Passed pass_rows() const;
    void check_target(const Buffer<double>& target) const;
    double best_base(const Buffer<double>& target) const;
    void set_residuals(const Buffer<double>& target);
    void choose_delta();
    void finish(const Passed& passed);
    void coarsen(int bits);

    const Form form_;
    const TrainingRows& training_;
    ThreadTeam& team_;
    Buffer<int64_t> residuals_; // of a held-out row: the bits of a double, which no outlier overflows
    double base_ = 0;
    int grid_ = 0, key_bits_ = max_residual_bits; // no residual has more bits
    double unit_ = 1;                             // 2^-grid
    int gradient_bits_;
    int64_t up_, down_;      // gradients of positive and negative residuals, of huber unused
    int64_t delta_ = 1;      // of huber, on the grid
    int shift_ = 0;          // of huber: gradients are so many bits coarser than residuals
    double first_delta_ = 0; // of huber: losses go by it
    LossGrid loss_grid_;
    double train_loss_ = 0;
    std::optional<double> holdout_loss_;
};

RenewedScores::RenewedScores(const Form& form, const TrainingRows& training, Buffer<double> target,
                             const std::vector<double>& bases, ThreadTeam& team, RunContext& context)
    : form_(form),
      training_(training),
      team_(team),
      residuals_(context.memory(), "residuals", training.rows()),
      gradient_bits_(std::min(
          gradient_bits, max_sum_bits - 1 - std::ilogb(std::max(1.0, training.train_count() * training.count_unit())))),
      up_(std::llrint(std::ldexp(form.quantile, gradient_bits_))),
      down_(std::llrint(std::ldexp(1 - form.quantile, gradient_bits_))) {
    check_target(target);
    base_ = bases.empty() ? best_base(target) : bases[0];
    set_residuals(target);
    if (form_.huber) {
        choose_delta();
        first_delta_ = to_number(delta_);
    }
    loss_grid_ = LossGrid(pass_rows().losses.largest);
    finish(pass_rows());
}

void RenewedScores::check_target(const Buffer<double>& target) const {
    TeamSums<Largest> largest(team_);
    for_each_row(team_, training_.rows(), [&](size_t i, int worker) {
        const auto row = static_cast<uint32_t>(i);
        if (training_.role(row) != Role::ignored) largest[worker] += {std::fabs(target[training_.target_row(row)])};
    });
    check_targets(largest.total().number);
}

double RenewedScores::best_base(const Buffer<double>& target) const {
    return from_ordered_bits(weighted_quantile(form_.quantile, 63, team_, [&](const auto& visit) {
        for_each_training_row(team_, training_, [&](uint32_t row, int worker) {
            visit(ordered_bits(target[training_.target_row(row)]), training_.weight(row), worker);
        });
    }));
}

void RenewedScores::set_residuals(const Buffer<double>& target) {
    const auto residual = [&](uint32_t row) { return target[training_.target_row(row)] - base_; };
    TeamSums<Largest> largest(team_);
    for_each_training_row(team_, training_,
                          [&](uint32_t row, int worker) { largest[worker] += {std::fabs(residual(row))}; });
    if (const double most = largest.total().number; most > 0) grid_ = residual_bits - 1 - std::ilogb(most);
    unit_ = std::ldexp(1, -grid_);
    for_each_row(team_, training_.rows(), [&](size_t i, int) {
        const auto row = static_cast<uint32_t>(i);
        const Role role = training_.role(row);
        residuals_[row] = role == Role::train     ? std::llrint(std::ldexp(residual(row), grid_))
                          : role == Role::holdout ? std::bit_cast<int64_t>(residual(row))
                                                  : 0;
    });
}

SumUnits RenewedScores::units() const {
    return {.grid = form_.huber ? grid_ - shift_ : gradient_bits_,
            .shift = training_.shift(),
            .hessian_unit = std::ldexp(1, training_.shift() - training_.scale()),
            .count_scale = training_.scale(),
            .square_unit = 1,
            .slack = training_.weighted() ? training_.train_count() >> slack_bits : 0,
            .first_square = 0,
            .drifts = false,
            .exact = true};
}

int64_t RenewedScores::gradient(int64_t residual) const {
    if (form_.huber) return std::clamp(residual, -delta_, delta_) >> shift_;
    return static_cast<int64_t>(residual > 0) * up_ - static_cast<int64_t>(residual < 0) * down_;
}

void RenewedScores::gather(const RowList& rows, Stats* out) const {
    for (size_t i = 0; i < rows.count; i++) {
        if (rows.list) prefetch_ahead(residuals_.data(), rows, i);
        out[i] = {gradient(residuals_[rows[i]]), 1};
    }
    if (!training_.weighted()) return;
    for (size_t i = 0; i < rows.count; i++) {
        out[i].sum = training_.weigh(rows[i], out[i].sum);
        out[i].hessian = training_.weight(rows[i]);
    }
}

void RenewedScores::gather_tallies(const RowList& rows, Tally* out) const {
    for (size_t i = 0; i < rows.count; i++) out[i] = {0, training_.weight(rows[i])};
}

int64_t RenewedScores::renewed_value(const std::vector<const RowSet*>& rows, const RowIndex& index,
                                     const LeafRule& rule) const {
    const int64_t middle = weighted_quantile(form_.quantile, key_bits_, team_, [&](const auto& visit) {
        for (const RowSet* set : rows)
            index.for_each_list(*set, [&](const RowList& list, int worker) {
                for (size_t i = 0; i < list.count; i++) visit(residuals_[list[i]], training_.weight(list[i]), worker);
            });
    });
    const double step = static_cast<double>(middle) + (form_.huber ? huber_step(rows, index, middle) : 0);
    const double value = std::clamp(step, std::ldexp(rule.lower, grid_), std::ldexp(rule.upper, grid_));
    return std::llrint(rule.learning_rate * value);
}

// The mean of what residuals differ from the middle by, at most delta.
double RenewedScores::huber_step(const std::vector<const RowSet*>& rows, const RowIndex& index, int64_t middle) const {
    struct Mean {
        int128 sum = 0;
        int64_t weight = 0;
        Mean& operator+=(const Mean& other) {
            sum += other.sum;
            weight += other.weight;
            return *this;
        }
    };
    TeamSums<Mean> sums(team_);
    for (const RowSet* set : rows)
        index.for_each_list(*set, [&](const RowList& list, int worker) {
            for (size_t i = 0; i < list.count; i++) {
                const int64_t weight = training_.weight(list[i]);
                const int64_t difference = std::clamp(residuals_[list[i]] - middle, -delta_, delta_);
                sums[worker] += {static_cast<int128>(weight) * difference, weight};
            }
        });
    const Mean mean = sums.total();
    return static_cast<double>(mean.sum) / static_cast<double>(mean.weight);
}

double RenewedScores::loss(double residual) const {
    const double size = std::fabs(residual);
    if (form_.huber) return size <= first_delta_ ? size * size / 2 : first_delta_ * (size - first_delta_ / 2);
    if (form_.absolute) return size;
    return residual > 0 ? form_.quantile * residual : (form_.quantile - 1) * residual;
}

RenewedScores::Passed RenewedScores::pass_rows() const {
    TeamSums<Passed> passed(team_);
    for_pieces(team_, training_.rows(), [&](size_t begin, size_t end, int worker) {
        Passed own;
        for (size_t i = begin; i < end; i++) {
            const auto row = static_cast<uint32_t>(i);
            const Role role = training_.role(row);
            if (role == Role::train) own.largest = std::max(own.largest, magnitude(residuals_[row]));
            const double residual =
                role == Role::train ? to_number(residuals_[row]) : std::bit_cast<double>(residuals_[row]);
            loss_grid_.add(role, training_.weight(row), loss(residual), own.losses);
        }
        passed[worker] += own;
    });
    return passed.total();
}

void RenewedScores::add(const std::vector<Leaf>& leaves, const RowIndex& index) {
    for_leaf_rows(leaves, index, team_, [&](const Leaf& leaf, Part part, const RowList& rows, int) {
        const double number = to_number(leaf.value);
        for (size_t i = 0; i < rows.count; i++) {
            int64_t& residual = residuals_[rows[i]];
            if (part == held_out)
                residual = std::bit_cast<int64_t>(std::bit_cast<double>(residual) - number);
            else
                residual -= leaf.value;
        }
    });
    finish(pass_rows());
    if (form_.huber) choose_delta();
}

void RenewedScores::finish(const Passed& passed) {
    train_loss_ = loss_grid_.mean(passed.losses.trained, static_cast<double>(training_.train_count()));
    if (training_.holdout_count() > 0)
        holdout_loss_ = loss_grid_.mean(passed.losses.held_out, static_cast<double>(training_.holdout_count()));
    key_bits_ = std::bit_width(passed.largest);
    if (key_bits_ > max_residual_bits) coarsen(key_bits_ - residual_bits);
}

void RenewedScores::coarsen(int bits) {
    grid_ -= bits;
    key_bits_ -= bits - 1; // rounding may add one
    unit_ = std::ldexp(1, -grid_);
    for_each_training_row(team_, training_, [&](uint32_t row, int) {
        residuals_[row] = (residuals_[row] + (int64_t{1} << (bits - 1))) >> bits;
    });
}

void RenewedScores::choose_delta() {
    delta_ = weighted_quantile(form_.alpha, key_bits_, team_, [&](const auto& visit) {
        for_each_training_row(team_, training_, [&](uint32_t row, int worker) {
            visit(static_cast<int64_t>(magnitude(residuals_[row])), training_.weight(row), worker);
        });
    });
    delta_ = std::max<int64_t>(delta_, 1);
    shift_ = std::max(0, static_cast<int>(std::bit_width(magnitude(delta_))) - gradient_bits_);
}

class Renewed : public Objective {
  public:
    bool hessian_is_count() const override { return true; }
    uint64_t row_bytes(size_t) const override { return sizeof(int64_t); }
    std::unique_ptr<RowScores> start(const TrainingRows& training, Dataset& dataset, const LossOptions& options,
                                     ThreadTeam& team, RunContext& context) const override {
        return std::make_unique<RenewedScores>(form(options), training, std::move(dataset.target), options.bases, team,
                                               context);
    }

  protected:
    virtual Form form(const LossOptions& options) const = 0;
    ~Renewed() = default;
};

class Absolute final : public Renewed {
    Form form(const LossOptions&) const override { return {median, true, false, 0}; }
};

class Quantile final : public Renewed {
  public:
    std::optional<double> default_alpha() const override { return median; }

  private:
    Form form(const LossOptions& options) const override { return {options.alpha, false, false, 0}; }
};

class Huber final : public Renewed {
  public:
    std::optional<double> default_alpha() const override { return 0.9; }

  private:
    Form form(const LossOptions& options) const override { return {median, false, true, options.alpha}; }
};

} // namespace

const Objective& absolute_objective() {
    static constinit const Absolute objective;
    return objective;
}

const Objective& quantile_objective() {
    static constinit const Quantile objective;
    return objective;
}

const Objective& huber_objective() {
    static constinit const Huber objective;
    return objective;
}

} // namespace btml::boosting
