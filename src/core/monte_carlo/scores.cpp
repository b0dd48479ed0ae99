#include "core/monte_carlo/scores.hpp"

#include "core/monte_carlo/pair_sums.hpp"
#include "core/monte_carlo/score_kinds.hpp"

#include <cmath>

namespace btml::monte_carlo {

namespace {

constexpr size_t exact_rows = 10'000; // up to which all pairs are summed unless told otherwise

// A sampled term costs about as much as so many pairs of the exact sum, which takes over once the terms seen have cost
// as much; if it is left to choose, at half of that.
double pairs_per_term(ScoreKind kind) {
    return kind == ScoreKind::kcde ? 40 : 80;
}

void require_memory(const ScoreRows& rows, RunContext& context) {
    const double n = rows.size(), d = rows.dimensions;
    const double sorted = n * 16 + n * rows.width() * 8;
    const double tree = n / 12 * (16 + 16 * d), strata = n * (4 * (d + 2) + 4);
    context.memory().require(std::max(sorted, tree + strata), "a score's points and kd-tree");
}

// The units of the columns add to a likelihood, and make it 0 or large: no error is relative to it.
ScoreOptions options_for(ScoreKind kind, ScoreOptions options) {
    options.sampling.is_logarithm = kind == ScoreKind::likelihood;
    return options;
}

} // namespace

Scores::Scores(ScoreRows rows, ScoreKind kind, const ScoreOptions& options, RunContext& context)
    : form_(kind, options.kernel, rows.dimensions),
      options_(options_for(kind, options)),
      context_(context),
      rows_(std::move(rows)) {
    if (rows_.size() < 2)
        throw Error(ErrorCode::invalid_argument,
                    format("a score needs two rows or more, the source has %zu", rows_.size()), "",
                    "A row is scored by what the others say of it.");
    if (rows_.size() > UINT32_MAX - 1)
        throw Error(ErrorCode::limit_exceeded,
                    format("a score is of at most %u rows, the source has %zu", UINT32_MAX - 1, rows_.size()));
    for (const double x : rows_.values) {
        context.worked(1);
        if (!(std::abs(x) <= max_bandwidth))
            throw Error(ErrorCode::out_of_range,
                        format("a score has a coordinate or target of %s", shortest(x).c_str()), "",
                        "Numbers must be within 1e150 of 0.");
    }
    require_memory(rows_, context);
    canonicalise(rows_, context);
}

Scores::~Scores() = default;

void Scores::prepare(ThreadTeam& team) {
    if (tree_) return;
    tree_ = std::make_unique<VarianceTree>(std::move(rows_), team, context_);
    strata_ = std::make_unique<OuterStrata>(
        outer_strata(*tree_, form_.kind, options_.sampling.strata, options_.sampling.seed, team, context_));
}

ScoreEstimate Scores::estimate(const Bandwidths& bandwidths, ThreadTeam& team) {
    ScoreEstimate estimate;
    if (options_.method == ScoreMethod::exact || (options_.method == ScoreMethod::automatic && rows() <= exact_rows)) {
        estimate = exact({&bandwidths, 1}, team).front();
    } else {
        prepare(team);
        estimate = with_score_class(form_, [&]<class Score>(std::type_identity<Score>) {
            return sampled(make_score<Score>(*this, bandwidths), bandwidths, team);
        });
    }
    if (!std::isfinite(estimate.value))
        throw Error(ErrorCode::out_of_range, "the score is out of the range of numbers",
                    format("The bandwidth is %s.", shortest(bandwidths.x).c_str()),
                    "Choose a bandwidth nearer to the distances between points, or scale the columns.");
    return estimate;
}

std::vector<ScoreEstimate> Scores::exact(std::span<const Bandwidths> bandwidths, ThreadTeam& team) {
    if (!exact_) exact_ = std::make_unique<ExactRows>(tree_ ? tree_->rows() : rows_, context_);
    return exact_scores(form_, *exact_, bandwidths, team, context_);
}

template <class Score>
ScoreEstimate Scores::sampled(const Score& score, const Bandwidths& bandwidths, ThreadTeam& team) {
    MeanSampler<Score> sampler(score, *strata_, options_.sampling, team);
    const double pairs = static_cast<double>(rows()) * (rows() - 1);
    const double most = pairs / pairs_per_term(form_.kind) / (options_.method == ScoreMethod::automatic ? 2 : 1);
    if (!sampler.run(most)) return exact({&bandwidths, 1}, team).front();
    const MeanEstimate mean = sampler.result();
    const double half = normal_quantile((1 + options_.sampling.confidence) / 2) * mean.standard_error;
    return {mean.mean,  mean.standard_error, mean.mean - half, mean.mean + half,
            mean.terms, mean.draws,          mean.remarkable};
}

} // namespace btml::monte_carlo
