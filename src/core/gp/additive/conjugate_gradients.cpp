#include "core/gp/additive/conjugate_gradients.hpp"

#include <cmath>
#include <numeric>

namespace btml::gp {

namespace {

constexpr uint64_t passes_of_iteration = 2;

// Divides column by column. A ratio is 0 where the divisor is not positive: that system is solved, or as far as single
// precision goes.
void ratios(const ColumnValues& a, const ColumnValues& b, Columns::Vector& result) {
    for (size_t column = 0; column < Columns::count; column++)
        result[column] = b[column] > 0 ? static_cast<float>(a[column] / b[column]) : 0;
}

bool within(const ColumnValues& squares, const ColumnValues& goals) {
    for (size_t column = 0; column < Columns::count; column++)
        if (!(squares[column] <= goals[column])) return false;
    return true;
}

} // namespace

double largest(std::span<const double> residuals) {
    double largest = 0;
    for (const double residual : residuals)
        largest = std::max(largest, std::isnan(residual) ? std::numeric_limits<double>::infinity() : residual);
    return largest;
}

double ConjugateGradients::Outcome::worst() const {
    return largest(residuals);
}

ConjugateGradients::ConjugateGradients(AdditiveCovariance& sum, RunContext& context)
    : sum_(sum),
      deflation_(context),
      iterate_(context.memory(), "conjugate gradients"),
      residual_(context.memory(), "conjugate gradients"),
      direction_(context.memory(), "conjugate gradients"),
      product_(context.memory(), "conjugate gradients"),
      preconditioned_(context.memory(), "conjugate gradients"),
      smoothed_(context.memory(), "conjugate gradients"),
      scratch_(context.memory(), "conjugate gradients") {}

// Returns what the squares of the residuals have to come down to.
ColumnValues ConjugateGradients::goals(const ColumnValues& norms, double tolerance) const {
    static constexpr double share_of_noise = 0.1;
    const Buffer<float>& inverse = sum_.inverse_weight();
    const double noise = sum_.noise() * std::accumulate(inverse.begin(), inverse.end(), 0.0);
    ColumnValues goals;
    for (size_t column = 0; column < Columns::count; column++)
        goals[column] = std::min(tolerance * tolerance * norms[column], share_of_noise * share_of_noise * noise);
    return goals;
}

ConjugateGradients::Outcome ConjugateGradients::outcome_of(int iterations, const ColumnValues& squares,
                                                           const ColumnValues& norms) {
    Outcome outcome{iterations, {}};
    for (size_t column = 0; column < Columns::count; column++)
        outcome.residuals[column] = norms[column] > 0 ? std::sqrt(squares[column] / norms[column]) : 0;
    return outcome;
}

// Starts from a residual in single precision, and takes the one that the iterations end with for true.
ConjugateGradients::Outcome ConjugateGradients::approach(const Block& b, Block& x, double tolerance, uint64_t passes,
                                                         RunContext& context) {
    const uint64_t last = passes_made() + passes;
    const ColumnValues norms = dot(sum_.team(), b, b, scratch_);
    ColumnValues goals = norms;
    for (double& goal : goals) goal *= tolerance * tolerance;
    sum_.multiply(x, product_);
    smoothed_.resize(x.size());
    for_each_row(sum_.team(), x.size(), [&](size_t i) { smoothed_[i].values = b[i].values - product_[i].values; });
    scale(b, x);
    const int iterations = iterate(x, goals, last - std::min(last, passes_made()), context);
    return outcome_of(iterations, dot(sum_.team(), smoothed_, smoothed_, scratch_), norms);
}

// Rounding takes the residuals of the iteration away from the true ones, with which it starts again.
ConjugateGradients::Outcome ConjugateGradients::solve(const Block& b, Block& x, double tolerance, uint64_t passes,
                                                      RunContext& context) {
    // The square of a residual falls to this share, or there is no other start.
    static constexpr double max_share = 0.5;
    const uint64_t last = passes_made() + passes;
    const ColumnValues norms = dot(sum_.team(), b, b, scratch_);
    const ColumnValues goals = this->goals(norms, tolerance);
    int done = 0;
    double before = std::numeric_limits<double>::infinity();
    sum_.residual(b, x, smoothed_);
    scale(b, x);
    for (;;) {
        const ColumnValues squares = dot(sum_.team(), smoothed_, smoothed_, scratch_);
        const Outcome outcome = outcome_of(done, squares, norms);
        const double worst = outcome.worst();
        if (within(squares, goals) || worst * worst > max_share * before * before) return outcome;
        before = worst;
        const uint64_t made = passes_made() + passes_of_residual;
        const int iterations = made < last ? iterate(x, goals, last - made, context) : 0;
        if (iterations == 0) return outcome;
        done += iterations;
        sum_.residual(b, x, smoothed_);
    }
}

// Makes a few iterations without the deflation, which costs as much as some of them: most systems need no more.
int ConjugateGradients::iterate(Block& x, const ColumnValues& goals, uint64_t passes, RunContext& context) {
    static constexpr int patience = 8, unlimited = std::numeric_limits<int>::max();
    static constexpr uint64_t min_use = 2; // A deflation needs so many times the passes that it takes.
    const uint64_t last = passes_made() + passes, before = needs_deflation_ ? 0 : passes_of_iteration * patience;
    if (passes < before + min_use * deflation_.passes_to_follow(sum_))
        return descend(x, goals, last, unlimited, nullptr, context);
    int iterations = 0;
    if (!needs_deflation_) {
        iterations = descend(x, goals, last, patience, nullptr, context);
        if (iterations < patience || within(dot(sum_.team(), smoothed_, smoothed_, scratch_), goals)) return iterations;
    }
    deflation_.follow(sum_, context);
    deflation_.project(sum_.team(), smoothed_, x);
    const int deflated = descend(x, goals, last, unlimited, &deflation_, context);
    needs_deflation_ = deflated > patience / 2; // The systems after it are much like it.
    return iterations + deflated;
}

int ConjugateGradients::descend(Block& x, const ColumnValues& goals, uint64_t last, int max_iterations,
                                Deflation* deflation, RunContext& context) {
    ThreadTeam& team = sum_.team();
    for (Block* block : {&iterate_, &residual_, &direction_}) block->resize(x.size());
    std::copy(x.begin(), x.end(), iterate_.begin());
    std::copy(smoothed_.begin(), smoothed_.end(), residual_.begin());
    ColumnValues progress{}; // It is the residual times the preconditioned residual.
    int iterations = 0;
    while (iterations < max_iterations && passes_made() + passes_of_iteration <= last &&
           !within(dot(team, smoothed_, smoothed_, scratch_), goals)) {
        context.poll();
        sum_.precondition(residual_, preconditioned_);
        if (deflation) deflation->correct(team, residual_, preconditioned_);
        find_direction(iterations++ == 0, progress);
        sum_.multiply(direction_, product_);
        Columns::Vector step;
        ratios(progress, dot(team, direction_, product_, scratch_), step);
        for_each_row(team, x.size(), [&](size_t i) {
            iterate_[i].values += step * direction_[i].values;
            residual_[i].values -= step * product_[i].values;
        });
        smooth(x);
    }
    return iterations;
}

void ConjugateGradients::find_direction(bool first, ColumnValues& progress) {
    const ColumnValues before = progress;
    progress = dot(sum_.team(), residual_, preconditioned_, scratch_);
    Columns::Vector factor;
    ratios(progress, before, factor);
    for_each_row(sum_.team(), direction_.size(), [&](size_t i) {
        direction_[i].values =
            first ? preconditioned_[i].values : preconditioned_[i].values + factor * direction_[i].values;
    });
}

// A solution for another matrix may be worse than none: x becomes the multiple of it that has the smallest residual.
void ConjugateGradients::scale(const Block& b, Block& x) {
    ThreadTeam& team = sum_.team();
    product_.resize(x.size());
    for_each_row(team, x.size(), [&](size_t i) { product_[i].values = b[i].values - smoothed_[i].values; });
    Columns::Vector factor;
    ratios(dot(team, b, product_, scratch_), dot(team, product_, product_, scratch_), factor);
    for_each_row(team, x.size(), [&](size_t i) {
        x[i].values *= factor;
        smoothed_[i].values = b[i].values - factor * product_[i].values;
    });
}

// Moves x towards the iterate, as far as makes the residual smallest.
void ConjugateGradients::smooth(Block& x) {
    ThreadTeam& team = sum_.team();
    Block& difference = preconditioned_;
    for_each_row(team, x.size(), [&](size_t i) { difference[i].values = smoothed_[i].values - residual_[i].values; });
    Columns::Vector step;
    ratios(dot(team, difference, smoothed_, scratch_), dot(team, difference, difference, scratch_), step);
    for_each_row(team, x.size(), [&](size_t i) {
        smoothed_[i].values -= step * difference[i].values;
        x[i].values += step * (iterate_[i].values - x[i].values);
    });
}

} // namespace btml::gp
