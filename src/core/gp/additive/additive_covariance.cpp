#include "core/gp/additive/additive_covariance.hpp"

#include "core/gp/tree/tree_kernel.hpp"
#include "core/numbers/rng.hpp"

#include <cmath>
#include <numeric>

namespace btml::gp {

static constexpr size_t rows_of_a_part = 2048, rows_of_a_sum = 64;
static constexpr double min_signal = 1e-12; // share of the whole below which a member says nothing

size_t parts_of(size_t rows) {
    return (rows + rows_of_a_part - 1) / rows_of_a_part;
}

void for_rows(ThreadTeam& team, size_t rows, const std::function<void(size_t, size_t, size_t)>& body) {
    team.for_each(parts_of(rows), [&](size_t part, int) {
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
    scratch.resize(parts_of(a.size()));
    for_rows(team, a.size(), [&](size_t begin, size_t end, size_t part) {
        scratch[part] = dot(a.data() + begin, b.data() + begin, end - begin);
    });
    ColumnValues sums{};
    for (const ColumnValues& part : scratch)
        for (size_t column = 0; column < Columns::count; column++) sums[column] += part[column];
    return sums;
}

AdditiveCovariance::AdditiveCovariance(std::vector<Member> members, std::span<const double> weight, double noise,
                                       ThreadTeam& team, RunContext& context)
    : members_(std::move(members)),
      scales_(members_.size()),
      inverse_weight_(context.memory(), "kernel sum", members_.front().tree.rows(), 1.0F),
      precision_(context.memory(), "kernel sum", rows()),
      team_(team),
      memory_(context.memory()) {
    for (size_t i = 0; i < weight.size(); i++) inverse_weight_[i] = 1 / weight[i];
    for (const Member& member : members_) {
        max_nodes_ = std::max(max_nodes_, member.tree.nodes());
        factors_.emplace_back(memory_, "kernel sum", member.tree.nodes());
    }
    allocate(space_);
    std::vector<std::vector<double>> weights;
    for (const Member& member : members_) weights.push_back(member.weights);
    set(std::move(weights), noise);
}

template <class C>
void AdditiveCovariance::allocate(Workspace<C>& space) const {
    for (int worker = 0; worker < team_.size(); worker++) space.scratch.emplace_back(memory_, "kernel sum", max_nodes_);
    for (size_t group = 0; group < std::min(max_groups, members_.size()); group++)
        space.sums.emplace_back(memory_, "kernel sum", rows());
}

double AdditiveCovariance::signal() const {
    double sum = 0;
    for (const Covariances& c : covariances_) sum += c.back();
    return sum;
}

void AdditiveCovariance::set(std::vector<std::vector<double>> weights, double noise) {
    noise_ = noise;
    version_++;
    for (size_t i = 0; i < rows(); i++) precision_[i] = 1 / (noise * inverse_weight_[i]);
    covariances_.clear();
    for (size_t m = 0; m < members_.size(); m++) {
        members_[m].weights = std::move(weights[m]);
        covariances_.push_back(Kernel{members_[m].weights, noise}.covariances());
    }
    const double all = signal();
    shares_ = 0;
    for (size_t m = 0; m < members_.size(); m++) {
        const double own = covariances_[m].back();
        scales_[m] = own > min_signal && own > min_signal * all ? all / own : 0;
        if (scales_[m] > 0) shares_ += members_[m].share;
    }
    team_.for_each(members_.size(), [&](size_t m, int) {
        if (scales_[m] > 0)
            solve_factors(members_[m].tree, covariances_[m], scales_[m], precision_.data(), factors_[m].data());
    });
}

// Adds the members' results to the sums of their groups.
template <class C, class Body>
void AdditiveCovariance::for_members(Workspace<C>& space, Body&& body) {
    team_.for_each(space.sums.size(), [&](size_t group, int worker) {
        Buffer<C>& sum = space.sums[group];
        std::fill(sum.begin(), sum.end(), C{});
        for (size_t m = group; m < members_.size(); m += space.sums.size())
            body(m, space.scratch[worker].data(), sum.data());
    });
    passes_ += members_.size();
}

// y = what finish makes of each row's sum over the groups.
template <class Finish>
void AdditiveCovariance::add_up(Block& y, Finish&& finish) {
    y.resize(rows());
    for_each_row(team_, rows(), [&](size_t i) {
        Columns::Vector sum = space_.sums[0][i].values;
        for (size_t group = 1; group < space_.sums.size(); group++) sum += space_.sums[group][i].values;
        finish(i, sum);
        y[i].values = sum;
    });
}

void AdditiveCovariance::multiply(const Block& x, Block& y) {
    for_members(space_, [&](size_t m, Columns* scratch, Columns* sum) {
        add_product(members_[m].tree, covariances_[m], x.data(), scratch, sum);
    });
    add_up(y, [&](size_t i, Columns::Vector& sum) {
        sum += x[i].values * (static_cast<float>(noise_) * inverse_weight_[i]);
    });
}

// The space for sums in double precision takes the place of the other.
void AdditiveCovariance::residual(const Block& b, const Block& x, Block& r) {
    r.resize(rows());
    space_ = {};
    {
        Workspace<DoubleColumns> space;
        allocate(space);
        for (size_t column = 0; column < Columns::count; column += DoubleColumns::count)
            subtract_half(column, b, x, space, r);
    }
    allocate(space_);
}

void AdditiveCovariance::subtract_half(size_t first_column, const Block& b, const Block& x,
                                       Workspace<DoubleColumns>& space, Block& r) {
    Buffer<DoubleColumns> from(memory_, "kernel sum", rows());
    for_each_row(team_, rows(), [&](size_t i) {
        for (size_t column = 0; column < DoubleColumns::count; column++)
            from[i].values[column] = x[i][first_column + column];
    });
    for_members(space, [&](size_t m, DoubleColumns* scratch, DoubleColumns* sum) {
        add_product(members_[m].tree, covariances_[m], from.data(), scratch, sum);
    });
    for_each_row(team_, rows(), [&](size_t i) {
        DoubleColumns::Vector sum = from[i].values * (noise_ * static_cast<double>(inverse_weight_[i]));
        for (const Buffer<DoubleColumns>& of_group : space.sums) sum += of_group[i].values;
        for (size_t column = 0; column < DoubleColumns::count; column++)
            r[i].values[first_column + column] =
                static_cast<float>(static_cast<double>(b[i][first_column + column]) - sum[column]);
    });
}

void AdditiveCovariance::precondition(const Block& x, Block& y) {
    if (shares_ == 0) {
        y.resize(rows());
        for (size_t i = 0; i < rows(); i++) y[i].values = x[i].values * precision_[i];
        return;
    }
    for_members(space_, [&](size_t m, Columns* scratch, Columns* sum) {
        if (scales_[m] > 0)
            add_solution(members_[m].tree, covariances_[m], scales_[m], precision_.data(), factors_[m].data(),
                         static_cast<float>(members_[m].share / shares_), x.data(), scratch, sum);
    });
    add_up(y, [](size_t, Columns::Vector&) {});
}

void AdditiveCovariance::draw_samples(const Signs& signs, Block& y) {
    for_members(space_, [&](size_t m, Columns* scratch, Columns* sum) {
        add_samples(members_[m].tree, covariances_[m], {signs.seed, signs.stream + m}, scratch, sum);
    });
    add_up(y, [&](size_t i, Columns::Vector& sum) {
        const uint64_t word = random_bits(signs.seed, signs.stream + members_.size(), i);
        const float deviation = std::sqrt(static_cast<float>(noise_) * inverse_weight_[i]);
        for (size_t column = 0; column < Columns::count; column++)
            sum[column] += word >> column & 1 ? deviation : -deviation;
    });
}

std::vector<LevelSquares> AdditiveCovariance::squares(const Block& x) {
    std::vector<LevelSquares> result(members_.size());
    team_.for_each(members_.size(), [&](size_t m, int worker) {
        result[m] = level_squares(members_[m].tree, x.data(), space_.scratch[worker].data());
    });
    passes_ += members_.size();
    return result;
}

} // namespace btml::gp
