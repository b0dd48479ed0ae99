
#include "core/monte_carlo/pair_sums.hpp"
#include "core/monte_carlo/score_kinds.hpp"
#include "core/monte_carlo/square_integral.hpp"

#include <algorithm>

namespace btml::monte_carlo {

using namespace pairwise;

namespace {

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

// Runs body(first row, end, worker) over groups of rows, each some milliseconds of work, and `least` rows.
template <class Body>
void for_groups(const ExactRows& rows, ThreadTeam& team, size_t least, const Body& body) {
    const double work = static_cast<double>(rows.size()) * (rows.points().dimensions + 4);
    const size_t most = std::clamp<double>(work_per_item / work, least, rows_at_once), group = most / least * least;
    team.for_each((rows.size() + group - 1) / group, [&](size_t item, int worker) {
        body(item * group, std::min(rows.size(), (item + 1) * group), worker);
    });
}

struct RowScores {
    RowScores(size_t rows, RunContext& context)
        : values(context.memory(), "scores of rows", rows), underflow(context.memory(), "scores of rows", rows, 0) {}

    ScoreEstimate mean() const {
        const uint64_t rows = values.size();
        ScoreEstimate score{.evaluations = rows * (rows - 1), .rows_seen = rows};
        for (size_t i = 0; i < rows; i++) {
            score.value += values[i];
            score.underflows += underflow[i];
        }
        score.value /= rows;
        score.lower = score.upper = score.value;
        return score;
    }
    void put(size_t row, double value, bool underflows) {
        values[row] = value;
        underflow[row] = underflows;
    }

    Buffer<double> values;
    Buffer<uint8_t> underflow;
};

// Finds the sums of weights relative to the nearest row, for rows whose sums are too small.
class NearestSums {
  public:
    NearestSums(const ExactRows& rows, Kernel kernel, RunContext& context)
        : rows_(rows), kernel_(kernel), origin_(context.memory(), "nearest rows", rows.size(), -1.0) {}

    // What the kernel is a function of for row i and the nearest other; threads may ask for different rows.
    double origin(size_t i) {
        if (origin_[i] < 0) origin_[i] = nearest_sum(rows_.points(), i, kernel_);
        return origin_[i];
    }
    RowSums at(size_t i, double coefficient) {
        LaneTotals total;
        add_weights(rows_.points(), i, 0, rows_.padded(), {kernel_, coefficient, origin(i)}, total);
        return {sum_of(total.first), sum_of(total.second)};
    }

  private:
    const ExactRows& rows_;
    const Kernel kernel_;
    Buffer<double> origin_;
};

struct RowTerm {
    double value;
    bool underflows;
};

// Returns the mean of term(row, sums, origin) over the rows. Sums whose first is below `least` are made anew, relative
// to the nearest row: what the kernel is a function of is the origin there, else 0.
template <class Term>
ScoreEstimate mean_of_terms(const ExactRows& rows, const PairSums& sums, size_t bandwidth, double coefficient,
                            double least, NearestSums& nearest, ThreadTeam& team, RunContext& context,
                            const Term& term) {
    RowScores scores(rows.size(), context);
    for_groups(rows, team, 1, [&](size_t begin, size_t end, int) {
        for (size_t i = begin; i < end; i++) {
            RowSums of_row = sums.of(bandwidth, i);
            double origin = 0;
            if (of_row.first < least) {
                origin = nearest.origin(i);
                of_row = nearest.at(i, coefficient);
            }
            const RowTerm result = term(i, of_row, origin);
            scores.put(i, result.value, result.underflows);
        }
    });
    return scores.mean();
}

// Finds the weights of a row for S_KCDE, relative to the nearest row where they are too small. Returns their sum.
RowTerm find_weights(const ExactRows& rows, size_t i, Kernel kernel, double coefficient, double* to) {
    LaneTotals total;
    store_weights(rows.points(), i, {kernel, coefficient, 0}, to, total);
    const double sum = sum_of(total.first);
    if (sum >= min_weight_of_kcde) return {sum, false};
    const double origin = nearest_sum(rows.points(), i, kernel);
    total = {};
    store_weights(rows.points(), i, {kernel, coefficient, origin}, to, total);
    return {sum_of(total.first), -facts_of(kernel).decay(origin, coefficient) <= min_exponent};
}

ScoreEstimate exact_kcde(const ScoreForm& form, const ExactRows& rows, const Bandwidths& bandwidths, ThreadTeam& team,
                         RunContext& context) {
    const double coefficient = facts_of(form.kernel).coefficient(bandwidths.x);
    const NormalCells cells({rows.points().targets(), rows.size()}, bandwidths.target, context);
    RowScores scores(rows.size(), context);
    const size_t of_weights = mixtures * rows.padded(), of_density = mixtures * cells.size();
    Buffer<double> weight(context.memory(), "weights of rows", team.size() * of_weights, 0.0);
    Buffer<double> density(context.memory(), "conditional densities", team.size() * of_density);
    for_groups(rows, team, mixtures, [&](size_t begin, size_t end, int worker) {
        if (worker == 0) context.share_progress("summing all pairs", begin, rows.size());
        double* const weights = weight.data() + worker * of_weights;
        for (size_t i = begin; i < end; i += mixtures) {
            const size_t some = std::min(mixtures, end - i);
            RowTerm sums[mixtures];
            for (size_t m = 0; m < some; m++)
                sums[m] = find_weights(rows, i + m, form.kernel, coefficient, weights + m * rows.padded());
            const NormalCells::Some integrals =
                cells.integrals(weights, rows.padded(), i, density.data() + worker * of_density);
            for (size_t m = 0; m < some; m++) scores.put(i + m, integrals[m].term(sums[m].value), sums[m].underflows);
        }
    });
    return scores.mean();
}

ScoreEstimate score_of(const ScoreForm& form, const ExactRows& rows, const PairSums& sums, size_t place,
                       double bandwidth, NearestSums& nearest, ThreadTeam& team, RunContext& context) {
    const PointColumns points = rows.points();
    const KernelFacts& kernel = facts_of(form.kernel);
    const double coefficient = kernel.coefficient(bandwidth);
    const auto mean = [&](double least, const auto& term) {
        return mean_of_terms(rows, sums, place, coefficient, least, nearest, team, context, term);
    };
    if (form.kind == ScoreKind::kde) {
        const DensityWeights score(form, bandwidth, points.dimensions, rows.size());
        return mean(0, [&](size_t, const RowSums& of_row, double) {
            return RowTerm{score.term(of_row.first, of_row.second), of_row.first == 0};
        });
    }
    if (form.kind == ScoreKind::likelihood) {
        const LikelihoodOfRow term(form.kernel, bandwidth, points.dimensions, rows.size());
        return mean(min_weight, [&](size_t, const RowSums& of_row, double origin) {
            return RowTerm{term.term(of_row.first, kernel.decay(origin, coefficient)), false};
        });
    }
    return mean(min_weight, [&](size_t i, const RowSums& of_row, double origin) {
        const double residual = points.targets()[i] - of_row.second / of_row.first;
        return RowTerm{residual * residual, -kernel.decay(origin, coefficient) <= min_exponent};
    });
}

} // namespace

std::vector<ScoreEstimate> exact_scores(const ScoreForm& form, const ExactRows& rows,
                                        std::span<const Bandwidths> bandwidths, ThreadTeam& team, RunContext& context) {
    std::vector<ScoreEstimate> scores;
    if (form.kind == ScoreKind::kcde) {
        for (const Bandwidths& of : bandwidths) {
            const auto share = Share::of(context, scores.size(), bandwidths.size());
            scores.push_back(exact_kcde(form, rows, of, team, context));
        }
        return scores;
    }
    NearestSums nearest(rows, form.kernel, context);
    const size_t at_once = PairSums::bandwidths_at_once(rows, context.memory());
    for (size_t done = 0; done < bandwidths.size(); done = scores.size()) {
        const auto some = bandwidths.subspan(done, std::min(at_once, bandwidths.size() - done));
        const auto share = Share::of(context, done / at_once, (bandwidths.size() + at_once - 1) / at_once);
        const PairSums sums(form, rows, some, team, context);
        for (size_t b = 0; b < some.size(); b++)
            scores.push_back(score_of(form, rows, sums, b, some[b].x, nearest, team, context));
    }
    return scores;
}

} // namespace btml::monte_carlo
