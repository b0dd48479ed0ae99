#include "core/monte_carlo/exact_scores.hpp"

#include "core/monte_carlo/kde_score.hpp"
#include "core/monte_carlo/likelihood_score.hpp"
#include "core/monte_carlo/square_integral.hpp"

#include <limits>
#include <numeric>

namespace btml::monte_carlo {

using namespace pairwise;

namespace {

constexpr size_t block_rows = 512;          // of others, at a time: they stay in the cache
constexpr double work_per_item = 4'000'000; // pairs times dimensions
constexpr size_t rows_at_once = 64;

// Sums of weights below these are made anew, relative to the nearest row: of scores that divide by a sum or take its
// logarithm, and of S_KCDE, which divides by its square.
constexpr double min_weight = 1e-250, min_weight_of_kcde = 1e-120;

double sum_of(const Lanes& values) {
    double sum = 0;
    for (size_t lane = 0; lane < lanes; lane++) sum += values[lane];
    return sum;
}

// Runs body(first row, end) over groups of rows, each some milliseconds of work.
template <class Body>
void for_groups(const ExactRows& rows, ThreadTeam& team, RunContext& context, const Body& body) {
    const double work = static_cast<double>(rows.size()) * (rows.points().dimensions + 4);
    const size_t group = std::clamp(work_per_item / work, 1.0, double{rows_at_once});
    const size_t items = (rows.size() + group - 1) / group;
    team.for_each(items, [&](size_t item, int worker) {
        if (worker == 0) context.share_progress("summing all pairs", item, items);
        body(item * group, std::min(rows.size(), (item + 1) * group), worker);
    });
}

struct RowScores {
    RowScores(size_t rows, RunContext& context)
        : values(context.memory(), "scores of rows", rows), underflow(context.memory(), "scores of rows", rows, 0) {}

    ExactScore mean() const {
        ExactScore score;
        for (size_t i = 0; i < values.size(); i++) {
            score.score += values[i];
            score.underflows += underflow[i];
        }
        score.score /= values.size();
        return score;
    }

    Buffer<double> values;
    Buffer<uint8_t> underflow;
};

struct RowTerm {
    double value;
    bool underflows;
};

// Returns the mean of term(row, totals, origin) over the rows; add(row, first other row, end, origin, totals) adds to
// the totals of a row, block by block. Those whose first is below `least` are made anew, relative to the nearest row:
// what the kernel is a function of is the origin there, else 0.
template <class Add, class Term>
ExactScore mean_of_terms(const ExactRows& rows, Kernel kernel, double least, ThreadTeam& team, RunContext& context,
                         const Add& add, const Term& term) {
    RowScores scores(rows.size(), context);
    for_groups(rows, team, context, [&](size_t begin, size_t end, size_t) {
        LaneTotals totals[rows_at_once];
        for (size_t j = 0; j < rows.padded(); j += block_rows)
            for (size_t i = begin; i < end; i++)
                add(i, j, std::min(rows.padded(), j + block_rows), 0, totals[i - begin]);
        for (size_t i = begin; i < end; i++) {
            LaneTotals& total = totals[i - begin];
            double origin = 0;
            if (sum_of(total.first) < least) {
                origin = nearest_sum(rows.points(), i, kernel);
                total = {};
                add(i, 0, rows.padded(), origin, total);
            }
            const RowTerm result = term(i, sum_of(total.first), sum_of(total.second), origin);
            scores.values[i] = result.value;
            scores.underflow[i] = result.underflows;
        }
    });
    return scores.mean();
}

ExactScore exact_kcde(const ScoreForm& form, const ExactRows& rows, const Bandwidths& bandwidths, ThreadTeam& team,
                      RunContext& context) {
    const KernelFacts& kernel = facts_of(form.kernel);
    const double coefficient = kernel.coefficient(bandwidths.x);
    const NormalCells cells({rows.points().targets(), rows.size()}, bandwidths.target, context);
    RowScores scores(rows.size(), context);
    Buffer<double> weight(context.memory(), "weights of rows", team.size() * rows.padded());
    Buffer<double> density(context.memory(), "conditional densities", team.size() * cells.size());
    for_groups(rows, team, context, [&](size_t begin, size_t end, size_t worker) {
        double* const weights_of = weight.data() + worker * rows.padded();
        for (size_t i = begin; i < end; i++) {
            LaneTotals total;
            store_weights(rows.points(), i, {form.kernel, coefficient, 0}, weights_of, total);
            if (sum_of(total.first) < min_weight_of_kcde) {
                const double origin = nearest_sum(rows.points(), i, form.kernel);
                total = {};
                store_weights(rows.points(), i, {form.kernel, coefficient, origin}, weights_of, total);
                scores.underflow[i] = -kernel.decay(origin, coefficient) <= min_exponent;
            }
            const MixtureIntegrals integrals =
                cells.integrals({weights_of, rows.size()}, i, density.data() + worker * cells.size());
            const double sum = sum_of(total.first);
            scores.values[i] = (integrals.square / sum - 2 * integrals.value) / sum;
        }
    });
    return scores.mean();
}

} // namespace

ExactRows::ExactRows(const ScoreRows& rows, RunContext& context)
    : size_(rows.size()),
      dimensions_(rows.dimensions),
      padded_((size_ + PointColumns::group - 1) / PointColumns::group * PointColumns::group),
      has_targets_(rows.target),
      columns_(context.memory(), "columns of a score's points", padded_ * rows.width()) {
    std::vector<uint32_t> order(size_);
    std::iota(order.begin(), order.end(), 0U);
    if (rows.target)
        std::stable_sort(order.begin(), order.end(),
                         [&](uint32_t a, uint32_t b) { return rows.row(a)[dimensions_] < rows.row(b)[dimensions_]; });
    for (size_t k = 0; k < rows.width(); k++) {
        double* const to = columns_.data() + k * padded_;
        for (size_t i = 0; i < size_; i++) to[i] = rows.row(order[i])[k];
        std::fill(to + size_, to + padded_, k < dimensions_ ? std::numeric_limits<double>::infinity() : 0);
    }
}

ExactScore exact_score(const ScoreForm& form, const ExactRows& rows, const Bandwidths& bandwidths, ThreadTeam& team,
                       RunContext& context) {
    if (form.kind == ScoreKind::kcde) return exact_kcde(form, rows, bandwidths, team, context);
    const PointColumns points = rows.points();
    const KernelFacts& kernel = facts_of(form.kernel);
    const double coefficient = kernel.coefficient(bandwidths.x);
    if (form.kind == ScoreKind::kde) {
        const DensityWeights score(form, bandwidths.x, points.dimensions, rows.size());
        return mean_of_terms(
            rows, form.kernel, 0, team, context,
            [&](size_t i, size_t begin, size_t end, double origin, LaneTotals& totals) {
                add_densities(points, i, begin, end, {form.kernel, coefficient, origin}, *form.convolution, totals);
            },
            [&](size_t, double wide, double narrow, double) {
                return RowTerm{score.constant + score.wide * wide + score.narrow * narrow, wide == 0};
            });
    }
    const auto add = [&](size_t i, size_t begin, size_t end, double origin, LaneTotals& totals) {
        add_weights(points, i, begin, end, {form.kernel, coefficient, origin}, totals);
    };
    if (form.kind == ScoreKind::likelihood) {
        const LikelihoodOfRow of_row(form.kernel, bandwidths.x, points.dimensions, rows.size());
        return mean_of_terms(rows, form.kernel, min_weight, team, context, add,
                             [&](size_t, double weights, double, double origin) {
                                 return RowTerm{of_row.term(weights, kernel.decay(origin, coefficient)), false};
                             });
    }
    return mean_of_terms(rows, form.kernel, min_weight, team, context, add,
                         [&](size_t i, double weights, double products, double origin) {
                             const double residual = points.targets()[i] - products / weights;
                             return RowTerm{residual * residual, -kernel.decay(origin, coefficient) <= min_exponent};
                         });
}

} // namespace btml::monte_carlo
