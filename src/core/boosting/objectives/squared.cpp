#include "core/boosting/objectives/squared.hpp"

#include "core/boosting/rows/number_grid.hpp"

#include <bit>
#include <cmath>

namespace btml::boosting {

namespace {

constexpr int max_residual_bits = 61;
constexpr size_t ahead = 32; // rows to ask the memory for in advance

uint64_t magnitude(int64_t x) {
    return x < 0 ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
}

double larger(double a, double b) { // NaN when either is
    return std::isnan(a) || b <= a ? a : b;
}

uint128 product(int64_t weighted, int64_t residual) { // never negative: the signs agree
    return static_cast<uint128>(static_cast<int128>(weighted) * residual);
}

class Squared final : public Objective {
  public:
    bool hessian_is_count() const override { return true; }
    bool factorises() const override { return true; }
    uint64_t row_bytes() const override { return sizeof(int64_t); }
    std::unique_ptr<RowScores> start(const TrainingRows& training, Buffer<double> target, ThreadTeam& team,
                                     RunContext& context) const override {
        return std::make_unique<Residuals>(training, std::move(target), team, context);
    }
    double prediction(double score) const override { return score; }
    std::pair<const char*, const char*> prediction_sql() const override { return {"", ""}; }
};

} // namespace

const Objective& squared_objective() {
    static constinit const Squared squared;
    return squared;
}

struct alignas(64) Residuals::Partial {
    uint128 loss = 0;
    int128 sum = 0;
    uint64_t largest = 0;
    double max_trained = 0, most = 0;
};

struct Residuals::Task {
    size_t leaf;
    Part part;
    size_t begin, end; // within the leaf's rows of that part
};

Residuals::Residuals(const TrainingRows& training, Buffer<double> target, ThreadTeam& team, RunContext& context)
    : training_(training), team_(team), context_(context), residuals_(context.memory(), "residuals", training.rows()) {
    find_base(target);
    choose_grid(target);
    first_square_ = train_loss();
}

template <class Body>
void Residuals::for_each_training_row(Body&& body) {
    for_pieces(team_, training_.rows(), [&](size_t begin, size_t end, int worker) {
        for (size_t i = begin; i < end; i++)
            if (training_.role(static_cast<uint32_t>(i)) == Role::train) body(static_cast<uint32_t>(i), worker);
    });
}

// weight · residual, in units of the residual's grid.
int64_t Residuals::weigh(uint32_t row, int64_t residual) const {
    if (!training_.weighted()) return residual;
    const int drop = training_.scale() - training_.shift();
    const int128 half = int128{1} << (drop - 1);
    const int128 exact = static_cast<int128>(training_.weight(row)) * residual;
    return static_cast<int64_t>(exact < 0 ? -((half - exact) >> drop) : (exact + half) >> drop);
}

double Residuals::weigh_square(uint32_t row, double residual) const {
    const double square = residual * residual;
    return training_.weighted() ? static_cast<double>(training_.weight(row)) * training_.count_unit() * square : square;
}

void Residuals::find_base(const Buffer<double>& target) {
    std::vector<Partial> partials(static_cast<size_t>(team_.size()));
    for_pieces(team_, training_.rows(), [&](size_t begin, size_t end, int worker) {
        Partial& partial = partials[static_cast<size_t>(worker)];
        for (size_t i = begin; i < end; i++) {
            const auto row = static_cast<uint32_t>(i);
            const Role role = training_.role(row);
            if (role == Role::ignored) continue;
            const double y = std::fabs(target[training_.target_row(row)]);
            partial.most = larger(partial.most, y);
            if (role == Role::train) partial.max_trained = std::max(partial.max_trained, y);
        }
    });
    double most = 0, max_trained = 0;
    for (const Partial& partial : partials) {
        most = larger(most, partial.most);
        max_trained = std::max(max_trained, partial.max_trained);
    }
    check_targets(most);
    if (max_trained == 0) return;

    const int scale = scale_for_mean(max_trained);
    for_each_training_row([&](uint32_t row, int worker) {
        const int64_t y = std::llrint(std::ldexp(target[training_.target_row(row)], scale));
        partials[static_cast<size_t>(worker)].sum +=
            static_cast<int128>(y) * (training_.weighted() ? training_.weight(row) : 1);
    });
    int128 sum = 0;
    for (const Partial& partial : partials) sum += partial.sum;
    base_ = mean_of(sum, training_.train_count(), scale);
}

void Residuals::choose_grid(const Buffer<double>& target) {
    const auto residual = [&](uint32_t row) { return target[training_.target_row(row)] - base_; };
    std::vector<Partial> partials(static_cast<size_t>(team_.size()));
    for_each_training_row([&](uint32_t row, int worker) {
        double& most = partials[static_cast<size_t>(worker)].most;
        most = std::max(most, std::fabs(residual(row)));
    });
    double most = 0;
    for (const Partial& partial : partials) most = std::max(most, partial.most);
    if (most > 0) {
        const int trial = 39 - std::ilogb(most); // residuals of 40 bits, whose squares' sum fits 128
        for_each_training_row([&](uint32_t row, int worker) {
            const int64_t r = std::llrint(std::ldexp(residual(row), trial));
            partials[static_cast<size_t>(worker)].loss += product(weigh(row, r), r);
        });
        uint128 loss = 0;
        for (const Partial& partial : partials) loss += partial.loss;
        const double total_weight = static_cast<double>(training_.train_count()) * training_.count_unit();
        const double bound = std::max(std::sqrt(total_weight * static_cast<double>(loss)), std::ldexp(most, trial));
        grid_ = trial + sum_bits - 1 - std::ilogb(bound);
    }
    for (Partial& partial : partials) partial = {};
    for_pieces(team_, training_.rows(), [&](size_t begin, size_t end, int worker) {
        Partial& partial = partials[static_cast<size_t>(worker)];
        for (size_t i = begin; i < end; i++) {
            const auto row = static_cast<uint32_t>(i);
            const Role role = training_.role(row);
            residuals_[row] = 0;
            if (role == Role::holdout) residuals_[row] = std::bit_cast<int64_t>(residual(row));
            if (role != Role::train) continue;
            const int64_t r = std::llrint(std::ldexp(residual(row), grid_));
            residuals_[row] = r;
            partial.loss += product(weigh(row, r), r);
            partial.largest = std::max(partial.largest, magnitude(r));
        }
    });
    for (const Partial& partial : partials) {
        loss_ += partial.loss;
        largest_ = std::max(largest_, partial.largest);
    }
}

double Residuals::train_loss() const {
    const double total_weight = static_cast<double>(training_.train_count()) * training_.count_unit();
    return std::ldexp(static_cast<double>(loss_) / total_weight, -2 * grid_);
}

void Residuals::gather(const RowList& rows, Stats* out) const {
    const int64_t* r = residuals_.data();
    if (training_.weighted()) {
        for (size_t i = 0; i < rows.count; i++) out[i] = {weigh(rows[i], r[rows[i]]), training_.weight(rows[i])};
    } else if (rows.list) {
        for (size_t i = 0; i < rows.count; i++) {
            __builtin_prefetch(r + rows.list[std::min(i + ahead, rows.count - 1)]);
            out[i] = {r[rows.list[i]], 1};
        }
    } else {
        for (size_t i = 0; i < rows.count; i++) out[i] = {r[rows.first + i], 1};
    }
}

static int square_shift(uint128 loss) {
    return std::max(0, bit_width(loss) - 61);
}

SumUnits Residuals::units() const {
    const int64_t slack = training_.weighted() ? training_.train_count() >> slack_bits : 0;
    return {.grid = grid_,
            .shift = training_.shift(),
            .hessian_unit = training_.count_unit(),
            .count_scale = training_.scale(),
            .square_unit = std::ldexp(1, square_shift(loss_)),
            .slack = slack,
            .first_square = first_square_,
            .exact = true};
}

void Residuals::gather_tallies(const RowList& rows, Tally* out) const {
    const int shift = square_shift(loss_);
    const uint128 half = (uint128{1} << shift) >> 1;
    for (size_t i = 0; i < rows.count; i++) {
        const int64_t r = residuals_[rows[i]];
        out[i] = {static_cast<int64_t>((product(weigh(rows[i], r), r) + half) >> shift),
                  training_.weighted() ? training_.weight(rows[i]) : 1};
    }
}

int64_t Residuals::leaf_value(Stats total, double learning_rate, double l2) const {
    if (total.hessian == 0) return 0;
    const double weight = static_cast<double>(total.hessian) * training_.count_unit();
    return rounded_leaf_value(static_cast<double>(total.sum), weight, learning_rate, std::ldexp(l2, training_.shift()));
}

double Residuals::to_number(int64_t value) const {
    return std::ldexp(static_cast<double>(value), -grid_);
}

void Residuals::subtract_training(const RowList& rows, int64_t value, Partial& partial) {
    int64_t* residuals = residuals_.data();
    uint128 loss = 0;
    uint64_t largest = partial.largest;
    for (size_t i = 0; i < rows.count; i++) {
        const uint32_t row = rows[i];
        __builtin_prefetch(residuals + rows[std::min(i + ahead, rows.count - 1)], 1);
        const int64_t r = residuals[row] - value;
        residuals[row] = r;
        loss += product(weigh(row, r), r);
        largest = std::max(largest, magnitude(r));
    }
    partial.loss += loss;
    partial.largest = largest;
}

void Residuals::add(const std::vector<Leaf>& leaves, const RowIndex& index) {
    std::vector<Task> tasks;
    for (size_t leaf = 0; leaf < leaves.size(); leaf++)
        for (const Part part : {in_bag, out_of_bag, held_out}) {
            const size_t rows = (*leaves[leaf].rows)[part].size();
            for (size_t begin = 0; begin < rows; begin += piece_rows)
                tasks.push_back({leaf, part, begin, std::min(begin + piece_rows, rows)});
        }

    std::vector<Partial> partials(static_cast<size_t>(team_.size()));
    team_.for_each(tasks.size(), [&](size_t t, int worker) {
        const Task& task = tasks[t];
        const Leaf& leaf = leaves[task.leaf];
        const double number = to_number(leaf.value);
        Partial& partial = partials[static_cast<size_t>(worker)];
        index.for_each_list((*leaf.rows)[task.part], task.begin, task.end, [&](const RowList& rows) {
            if (task.part != held_out) {
                subtract_training(rows, leaf.value, partial);
                return;
            }
            for (size_t i = 0; i < rows.count; i++) {
                const double r = std::bit_cast<double>(residuals_[rows[i]]) - number;
                residuals_[rows[i]] = std::bit_cast<int64_t>(r);
                partial.most = std::max(partial.most, weigh_square(rows[i], r));
            }
        });
    });
    loss_ = 0;
    largest_ = 0;
    double most = 0;
    for (const Partial& partial : partials) {
        loss_ += partial.loss;
        largest_ = std::max(largest_, partial.largest);
        most = std::max(most, partial.most);
    }
    if (training_.holdout_count() > 0) add_up_holdout(leaves, tasks, index, most);
    coarsen_if_needed();
}

// Σ weight · residual² of the held-out rows. Each term is rounded to a grid below the largest, so that the sum does not
// depend on its order.
void Residuals::add_up_holdout(const std::vector<Leaf>& leaves, const std::vector<Task>& tasks, const RowIndex& index,
                               double largest) {
    holdout_loss_ = 0;
    if (largest == 0) return;
    const int scale = max_sum_bits - 1 - std::ilogb(largest);
    std::vector<Partial> partials(static_cast<size_t>(team_.size()));
    team_.for_each(tasks.size(), [&](size_t t, int worker) {
        const Task& task = tasks[t];
        if (task.part != held_out) return;
        int128 sum = 0;
        index.for_each_list((*leaves[task.leaf].rows)[held_out], task.begin, task.end, [&](const RowList& rows) {
            for (size_t i = 0; i < rows.count; i++) {
                const auto r = std::bit_cast<double>(residuals_[rows[i]]);
                sum += std::llrint(std::ldexp(weigh_square(rows[i], r), scale));
            }
        });
        partials[static_cast<size_t>(worker)].sum += sum;
    });
    int128 sum = 0;
    for (const Partial& partial : partials) sum += partial.sum;
    const double total_weight = static_cast<double>(training_.holdout_count()) * training_.count_unit();
    holdout_loss_ = std::ldexp(static_cast<double>(sum) / total_weight, -scale);
}

void Residuals::coarsen_if_needed() {
    const double total_weight = static_cast<double>(training_.train_count()) * training_.count_unit();
    const double bound = std::sqrt(total_weight * static_cast<double>(loss_));
    if (bound < std::ldexp(1, max_sum_bits) && bit_width(uint128{largest_}) <= max_residual_bits) return;
    const int bits = std::max(bound > 0 ? std::ilogb(bound) : 0, bit_width(uint128{largest_}) - 1) - sum_bits + 1;
    grid_ -= bits;
    std::vector<Partial> partials(static_cast<size_t>(team_.size()));
    for_each_training_row([&](uint32_t row, int worker) {
        const int64_t r = (residuals_[row] + (int64_t{1} << (bits - 1))) >> bits;
        residuals_[row] = r;
        Partial& partial = partials[static_cast<size_t>(worker)];
        partial.loss += product(weigh(row, r), r);
        partial.largest = std::max(partial.largest, magnitude(r));
    });
    loss_ = 0;
    largest_ = 0;
    for (const Partial& partial : partials) {
        loss_ += partial.loss;
        largest_ = std::max(largest_, partial.largest);
    }
}

} // namespace btml::boosting
