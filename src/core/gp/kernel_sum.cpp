#include "core/gp/kernel_sum.hpp"

#include "core/base/rng.hpp"
#include "core/gp/kernel.hpp"

#include <cmath>
#include <numeric>

namespace btml::gp {

static constexpr size_t rows_of_a_part = 2048, rows_of_a_sum = 64;
static constexpr double least_signal = 1e-12; // share of the whole below which a member says nothing

void for_rows(ThreadTeam& team, size_t rows, const std::function<void(size_t, size_t, size_t)>& body) {
    const size_t parts = (rows + rows_of_a_part - 1) / rows_of_a_part;
    team.for_each(parts, [&](size_t part, int) {
        body(part * rows_of_a_part, std::min(rows, (part + 1) * rows_of_a_part), part);
    });
}

// Short sums in single precision, and the sums of those in double.
static ColumnValues dot(const Columns* a, const Columns* b, size_t rows) {
    ColumnValues sums{};
    for (size_t begin = 0; begin < rows; begin += rows_of_a_sum) {
        Columns::Vector sum = {};
        for (size_t i = begin; i < std::min(rows, begin + rows_of_a_sum); i++) sum += a[i].values * b[i].values;
        for (size_t column = 0; column < Columns::count; column++) sums[column] += sum[column];
    }
    return sums;
}

ColumnValues dot(ThreadTeam& team, const Block& a, const Block& b, Buffer<ColumnValues>& scratch) {
    scratch.resize((a.size() + rows_of_a_part - 1) / rows_of_a_part);
    for_rows(team, a.size(), [&](size_t begin, size_t end, size_t part) {
        scratch[part] = dot(a.data() + begin, b.data() + begin, end - begin);
    });
    ColumnValues sums{};
    for (const ColumnValues& part : scratch)
        for (size_t column = 0; column < Columns::count; column++) sums[column] += part[column];
    return sums;
}

KernelSum::KernelSum(std::vector<Member> members, std::span<const double> weight, double noise, ThreadTeam& team,
                     RunContext& context)
    : members_(std::move(members)),
      scales_(members_.size()),
      inverse_weight_(context.memory(), "kernel sum", members_.front().tree.rows(), 1.0F),
      precision_(context.memory(), "kernel sum", rows()),
      team_(team) {
    for (size_t i = 0; i < weight.size(); i++) inverse_weight_[i] = static_cast<float>(1 / weight[i]);
    size_t nodes = 0;
    for (const Member& member : members_) {
        nodes = std::max(nodes, member.tree.nodes());
        factors_.emplace_back(context.memory(), "kernel sum", member.tree.nodes());
    }
    for (int worker = 0; worker < team.size(); worker++) scratch_.emplace_back(context.memory(), "kernel sum", nodes);
    for (size_t group = 0; group < std::min(most_groups, members_.size()); group++)
        sums_.emplace_back(context.memory(), "kernel sum", rows());
    std::vector<std::vector<double>> weights;
    for (const Member& member : members_) weights.push_back(member.weights);
    set(std::move(weights), noise);
}

double KernelSum::signal() const {
    double sum = 0;
    for (const Covariances& c : covariances_) sum += c.back();
    return sum;
}

void KernelSum::set(std::vector<std::vector<double>> weights, double noise) {
    noise_ = noise;
    for (size_t i = 0; i < rows(); i++) precision_[i] = static_cast<float>(1 / (noise * inverse_weight_[i]));
    covariances_.clear();
    for (size_t m = 0; m < members_.size(); m++) {
        members_[m].weights = std::move(weights[m]);
        covariances_.push_back(Kernel{members_[m].weights, noise}.covariances());
    }
    const double all = signal();
    shares_ = 0;
    for (size_t m = 0; m < members_.size(); m++) {
        const double own = covariances_[m].back();
        scales_[m] = own > least_signal && own > least_signal * all ? all / own : 0;
        if (scales_[m] > 0) shares_ += members_[m].share;
    }
    team_.for_each(members_.size(), [&](size_t m, int) {
        if (scales_[m] > 0)
            solve_factors(members_[m].tree, covariances_[m], scales_[m], precision_.data(), factors_[m].data());
    });
}

// The members' results into the sums of their groups.
void KernelSum::for_members(const std::function<void(size_t, Columns*, Columns*)>& body) {
    team_.for_each(sums_.size(), [&](size_t group, int worker) {
        Block& sum = sums_[group];
        std::fill(sum.begin(), sum.end(), Columns{});
        for (size_t m = group; m < members_.size(); m += sums_.size())
            body(m, scratch_[static_cast<size_t>(worker)].data(), sum.data());
    });
    passes_ += members_.size();
}

// y = what finish makes of each row's sum over the groups.
template <class Finish>
void KernelSum::add_up(Block& y, Finish&& finish) {
    y.resize(rows());
    for_rows(team_, rows(), [&](size_t begin, size_t end, size_t) {
        for (size_t i = begin; i < end; i++) {
            Columns::Vector sum = sums_[0][i].values;
            for (size_t group = 1; group < sums_.size(); group++) sum += sums_[group][i].values;
            finish(i, sum);
            y[i].values = sum;
        }
    });
}

void KernelSum::multiply(const Block& x, Block& y) {
    for_members([&](size_t m, Columns* scratch, Columns* sum) {
        add_product(members_[m].tree, covariances_[m], x.data(), scratch, sum);
    });
    add_up(y, [&](size_t i, Columns::Vector& sum) {
        sum += x[i].values * (static_cast<float>(noise_) * inverse_weight_[i]);
    });
}

void KernelSum::precondition(const Block& x, Block& y) {
    if (shares_ == 0) {
        y.resize(rows());
        for (size_t i = 0; i < rows(); i++) y[i].values = x[i].values * precision_[i];
        return;
    }
    for_members([&](size_t m, Columns* scratch, Columns* sum) {
        if (scales_[m] > 0)
            add_solution(members_[m].tree, covariances_[m], scales_[m], precision_.data(), factors_[m].data(),
                         static_cast<float>(members_[m].share / shares_), x.data(), scratch, sum);
    });
    add_up(y, [](size_t, Columns::Vector&) {});
}

void KernelSum::draw_samples(const Signs& signs, Block& y) {
    for_members([&](size_t m, Columns* scratch, Columns* sum) {
        add_samples(members_[m].tree, covariances_[m], {signs.seed, signs.stream + m}, scratch, sum);
    });
    add_up(y, [&](size_t i, Columns::Vector& sum) {
        const uint64_t word = random_bits(signs.seed, signs.stream + members_.size(), i);
        const float deviation = std::sqrt(static_cast<float>(noise_) * inverse_weight_[i]);
        for (size_t column = 0; column < Columns::count; column++)
            sum[column] += word >> column & 1 ? deviation : -deviation;
    });
}

std::vector<LevelSquares> KernelSum::squares(const Block& x) {
    std::vector<LevelSquares> result(members_.size());
    team_.for_each(members_.size(), [&](size_t m, int worker) {
        result[m] = level_squares(members_[m].tree, x.data(), scratch_[static_cast<size_t>(worker)].data());
    });
    passes_ += members_.size();
    return result;
}

} // namespace btml::gp
