#include "core/monte_carlo/exact_scores.hpp"

#include "core/monte_carlo/score_kinds.hpp"

#include <limits>
#include <numeric>

namespace btml::monte_carlo {

using pairwise::Lanes, pairwise::LaneTotals, pairwise::lanes, pairwise::min_exponent;

namespace {

constexpr size_t block_rows = 512;          // of others, at a time: they stay in the cache
constexpr double work_per_item = 4'000'000; // pairs times dimensions

double sum_of(const Lanes& values) {
    double sum = 0;
    for (size_t lane = 0; lane < lanes; lane++) sum += values[lane];
    return sum;
}

using AddBlock = void (*)(const pairwise::PointColumns&, size_t, size_t, size_t, double, double, LaneTotals&);

// Runs body(first row, end) over groups of rows, each some milliseconds of work.
template <class Body>
void for_groups(const ExactRows& rows, ThreadTeam& team, RunContext& context, const Body& body) {
    const double work = static_cast<double>(rows.size()) * static_cast<double>(rows.dimensions() + 4);
    const auto group = static_cast<size_t>(std::clamp(work_per_item / work, 1.0, 64.0));
    const size_t items = (rows.size() + group - 1) / group;
    team.for_each(items, [&](size_t item, int worker) {
        if (worker == 0) context.progress("summing all pairs", item, items);
        body(item * group, std::min(rows.size(), (item + 1) * group), static_cast<size_t>(worker));
    });
}

// Totals of the rows begin … end − 1, block by block.
void add_all(const ExactRows& rows, size_t begin, size_t end, double coefficient, AddBlock add, LaneTotals* totals) {
    for (size_t j = 0; j < rows.padded(); j += block_rows)
        for (size_t i = begin; i < end; i++)
            add(rows.points(), i, j, std::min(rows.padded(), j + block_rows), coefficient, 0, totals[i - begin]);
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
        score.score /= static_cast<double>(values.size());
        return score;
    }

    Buffer<double> values;
    Buffer<uint8_t> underflow;
};

struct RowTerm {
    double value;
    bool underflows;
};

// The mean of term(row, totals, origin) over the rows. Totals whose first is below `min_weight` are made anew, relative
// to the nearest row: its squared distance is the origin then, else 0.
template <class Term>
ExactScore mean_of_terms(const ExactRows& rows, double coefficient, double min_weight, AddBlock add, ThreadTeam& team,
                         RunContext& context, const Term& term) {
    RowScores scores(rows.size(), context);
    for_groups(rows, team, context, [&](size_t begin, size_t end, size_t) {
        LaneTotals totals[64];
        add_all(rows, begin, end, coefficient, add, totals);
        for (size_t i = begin; i < end; i++) {
            LaneTotals& total = totals[i - begin];
            double origin = 0;
            if (sum_of(total.first) < min_weight) {
                origin = pairwise::nearest_distance(rows.points(), i);
                total = {};
                add(rows.points(), i, 0, rows.padded(), coefficient, origin, total);
            }
            const RowTerm result = term(i, total, origin);
            scores.values[i] = result.value;
            scores.underflow[i] = result.underflows;
        }
    });
    return scores.mean();
}

} // namespace

ExactRows::ExactRows(const ScoreRows& rows, RunContext& context)
    : size_(rows.size()),
      dimensions_(rows.dimensions),
      padded_((size_ + pairwise::PointColumns::group - 1) / pairwise::PointColumns::group *
              pairwise::PointColumns::group),
      columns_(context.memory(), "columns of a score's points", padded_ * (dimensions_ + 1)) {
    std::vector<uint32_t> order(size_);
    std::iota(order.begin(), order.end(), 0U);
    if (rows.target)
        std::stable_sort(order.begin(), order.end(),
                         [&](uint32_t a, uint32_t b) { return rows.row(a)[dimensions_] < rows.row(b)[dimensions_]; });
    for (size_t k = 0; k <= dimensions_; k++) {
        double* const to = columns_.data() + k * padded_;
        std::fill(to, to + padded_, k < dimensions_ ? std::numeric_limits<double>::infinity() : 0);
        for (size_t i = 0; i < size_ && k < rows.width(); i++) to[i] = rows.row(order[i])[k];
    }
}

template <>
ExactScore exact_score<KrScore>(const ExactRows& rows, const Bandwidths& bandwidths, ThreadTeam& team,
                                RunContext& context) {
    const double coefficient = 1 / (2 * bandwidths.x * bandwidths.x);
    return mean_of_terms(rows, coefficient, KrScore::min_weight, pairwise::add_regression, team, context,
                         [&](size_t i, const LaneTotals& total, double origin) {
                             const double residual = rows.targets()[i] - sum_of(total.second) / sum_of(total.first);
                             return RowTerm{residual * residual, -origin * coefficient <= min_exponent};
                         });
}

template <>
ExactScore exact_score<KdeScore>(const ExactRows& rows, const Bandwidths& bandwidths, ThreadTeam& team,
                                 RunContext& context) {
    const DensityWeights score(bandwidths.x, rows.dimensions(), rows.size());
    return mean_of_terms(rows, 1 / (4 * bandwidths.x * bandwidths.x), 0, pairwise::add_density, team, context,
                         [&](size_t, const LaneTotals& total, double) {
                             const double wide = sum_of(total.first), narrow = sum_of(total.second);
                             return RowTerm{score.constant + score.wide * wide + score.narrow * narrow, wide == 0};
                         });
}

template <>
ExactScore exact_score<LikelihoodScore>(const ExactRows& rows, const Bandwidths& bandwidths, ThreadTeam& team,
                                        RunContext& context) {
    const LikelihoodOfRow of_row(bandwidths.x, rows.dimensions(), rows.size());
    return mean_of_terms(rows, of_row.coefficient, LikelihoodScore::min_weight, pairwise::add_density, team, context,
                         [&](size_t, const LaneTotals& total, double origin) {
                             return RowTerm{of_row.term(sum_of(total.first), origin), false};
                         });
}

template <>
ExactScore exact_score<KcdeScore>(const ExactRows& rows, const Bandwidths& bandwidths, ThreadTeam& team,
                                  RunContext& context) {
    const double coefficient = 1 / (2 * bandwidths.x * bandwidths.x);
    const NormalCells cells({rows.targets(), rows.size()}, bandwidths.target, context);
    RowScores scores(rows.size(), context);
    Buffer<double> weight(context.memory(), "weights of rows", static_cast<size_t>(team.size()) * rows.padded());
    Buffer<double> density(context.memory(), "conditional densities", static_cast<size_t>(team.size()) * cells.size());
    for_groups(rows, team, context, [&](size_t begin, size_t end, size_t worker) {
        double* const weights_of = weight.data() + worker * rows.padded();
        for (size_t i = begin; i < end; i++) {
            LaneTotals total;
            pairwise::store_weights(rows.points(), i, coefficient, 0, weights_of, total);
            if (sum_of(total.first) < KcdeScore::min_weight) {
                const double origin = pairwise::nearest_distance(rows.points(), i);
                total = {};
                pairwise::store_weights(rows.points(), i, coefficient, origin, weights_of, total);
                scores.underflow[i] = -origin * coefficient <= min_exponent;
            }
            const MixtureIntegrals integrals =
                cells.integrals({weights_of, rows.size()}, i, density.data() + worker * cells.size());
            const double sum = sum_of(total.first);
            scores.values[i] = (integrals.square / sum - 2 * integrals.value) / sum;
        }
    });
    return scores.mean();
}

} // namespace btml::monte_carlo
