#include "core/monte_carlo/bandwidth_selection.hpp"

#include "core/monte_carlo/bandwidth_race.hpp"
#include "core/monte_carlo/score_kinds.hpp"
#include "core/numbers/usual_range.hpp"

#include <algorithm>
#include <cmath>

namespace btml::monte_carlo {

namespace {

constexpr size_t exact_selection_rows = 4'000; // up to which every score is summed over all pairs unless told otherwise
constexpr size_t rows_measured = 1'000;

struct BandwidthRange {
    double lower, upper;
};

double quantile(std::vector<double>& values, double p) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(p * (values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

BandwidthRange x_range(const VarianceTree& tree, const SelectionOptions& options, RunContext& context) {
    std::vector<double> distances;
    const size_t measured = std::min(tree.size(), rows_measured);
    for (size_t i = 0; i < measured; i++) {
        context.poll();
        const size_t row = i * tree.size() / measured;
        const double distance = std::sqrt(pairwise::sum_of<pairwise::Squares>(
            tree.row(row), tree.row(tree.nearest<pairwise::Squares>(row)), tree.rows().dimensions));
        if (distance > 0) distances.push_back(distance);
    }
    const std::vector<double> deviations = standard_deviations(tree.rows(), context);
    double squares = 0;
    for (size_t k = 0; k < tree.rows().dimensions; k++) squares += deviations[k] * deviations[k];
    const double spread = std::sqrt(squares / tree.rows().dimensions);
    if (spread == 0 && !(options.lower && options.upper))
        throw Error(ErrorCode::invalid_argument, "all points are the same: there is no range of bandwidths to search",
                    "", "Give both \"lower\" and \"upper\".");
    double nearest = distances.empty() ? spread / 500 : quantile(distances, 0.1) / 2;
    // Where most rows have an equal, those without are the rows far out.
    if (2 * distances.size() < measured) nearest = std::min(nearest, spread / 500);
    const auto valid = [](double h) { return std::clamp(h, min_bandwidth, max_bandwidth); };
    BandwidthRange range{options.lower.value_or(valid(nearest)), options.upper.value_or(valid(2 * spread))};
    if (!options.upper) range.upper = std::max(range.upper, 4 * range.lower);
    if (!options.lower) range.lower = std::min(range.lower, range.upper / 4);
    if (!(range.lower < range.upper))
        throw Error(ErrorCode::invalid_argument,
                    format("invalid range of bandwidths: from %s to %s", shortest(range.lower).c_str(),
                           shortest(range.upper).c_str()),
                    "", "\"lower\" must be less than \"upper\".");
    return range;
}

// About the bandwidth for a density of the targets alone, sd·n^(−1/5), far to both sides; of the middle half of the
// targets, so that a few extreme ones do not count.
BandwidthRange target_range(const VarianceTree& tree) {
    std::vector<double> targets;
    const size_t stride = std::max<size_t>(1, tree.size() / 10'000);
    for (size_t i = 0; i < tree.size(); i += stride) targets.push_back(tree.target(i));
    double squares = 0;
    for (const double y : targets) squares += y * y / targets.size();
    const double sd = std::sqrt(squares), middle = (quantile(targets, 0.75) - quantile(targets, 0.25)) / 1.349;
    const double scale = middle > 0 ? std::min(sd, middle) : sd > 0 ? sd : 1;
    const double usual = scale * std::pow(tree.size(), -0.2);
    return {usual / 10, std::max(scale, usual * 4)};
}

std::vector<double> grid(const BandwidthRange& range, int steps) {
    std::vector<double> points;
    for (int i = 0; i < steps; i++)
        points.push_back(range.lower * std::pow(range.upper / range.lower, steps > 1 ? i / (steps - 1.0) : 0.5));
    return points;
}

// `steps` points between the neighbours of the best of a grid, none of them on it; at an end, all on the one side.
std::vector<double> refinement(const std::vector<double>& coarse, double best, int steps) {
    const double ratio = std::pow(coarse.back() / coarse.front(), 1.0 / (coarse.size() - 1));
    const int below = best == coarse.front() ? 0 : best == coarse.back() ? steps : steps / 2, above = steps - below;
    std::vector<double> points;
    for (int i = 1; i <= below; i++) points.push_back(best / std::pow(ratio, i / (below + 1.0)));
    for (int i = 1; i <= above; i++) points.push_back(best * std::pow(ratio, i / (above + 1.0)));
    return points;
}

// Terms of one class of scores at several bandwidths. What is sampled for a row depends on the bandwidth of x alone, so
// that neighbours with the same one share it.
template <class Score>
class Evaluator : public TermEvaluator {
  public:
    Evaluator(const Scores& source, int workers) : source_(source), work_(workers) {}

    void prepare(const Bandwidths& bandwidths) override {
        scores_.emplace_back(bandwidths.x, make_score<Score>(source_, bandwidths));
    }
    void draw(std::span<const size_t> bandwidths, uint32_t row, uint64_t seed, int worker,
              std::span<Draw> draws) override {
        Workspace<Score>& work = work_[worker];
        double sampled = 0;
        for (size_t i = 0; i < bandwidths.size(); i++) {
            const auto& [x, score] = scores_[bandwidths[i]];
            if (x != sampled) sample_term(score, row, 0, seed, work);
            sampled = x;
            draws[i] = term_of(score, work);
        }
    }

  private:
    const Scores& source_;
    std::vector<std::pair<double, Score>> scores_; // with the bandwidth of x
    std::vector<Workspace<Score>> work_;
};

std::unique_ptr<TermEvaluator> evaluator(const Scores& scores, int workers) {
    return with_score_class(scores.form(),
                            [&]<class Score>(std::type_identity<Score>) -> std::unique_ptr<TermEvaluator> {
                                return std::make_unique<Evaluator<Score>>(scores, workers);
                            });
}

// Gets scores from all pairs, or from a race.
class Curve {
  public:
    // most: bandwidths that will be scored.
    Curve(Scores& scores, BandwidthRace* race, ThreadTeam& team, size_t most)
        : scores_(scores), race_(race), team_(team), most_(most) {}

    void add(const std::vector<Bandwidths>& bandwidths) {
        if (race_) {
            race_->add(bandwidths);
            return;
        }
        const auto most = static_cast<double>(most_), done = static_cast<double>(exact_.size());
        const Share share(scores_.context(), done / most, (done + static_cast<double>(bandwidths.size())) / most);
        const std::vector<ScoreEstimate> estimates = scores_.exact(bandwidths, team_);
        for (size_t i = 0; i < bandwidths.size(); i++)
            exact_.push_back({bandwidths[i], estimates[i].value, estimates[i].std_error, false});
    }
    // Returns the best of those so far.
    Bandwidths best() const {
        if (race_) return race_->bandwidths(race_->best());
        return std::min_element(exact_.begin(), exact_.end(),
                                [](const ScoredBandwidth& a, const ScoredBandwidth& b) { return a.score < b.score; })
            ->bandwidths;
    }
    std::vector<ScoredBandwidth> finish() {
        if (race_) {
            race_->run();
            for (size_t i = 0; i < race_->size(); i++)
                exact_.push_back({race_->bandwidths(i), race_->score(i), race_->std_error(i), false});
        }
        const Bandwidths winner = best();
        for (ScoredBandwidth& row : exact_)
            row.best = row.bandwidths.x == winner.x && row.bandwidths.target == winner.target;
        std::sort(exact_.begin(), exact_.end(), [](const ScoredBandwidth& a, const ScoredBandwidth& b) {
            return a.bandwidths.x != b.bandwidths.x ? a.bandwidths.x < b.bandwidths.x
                                                    : a.bandwidths.target < b.bandwidths.target;
        });
        return std::move(exact_);
    }

  private:
    Scores& scores_;
    BandwidthRace* const race_;
    ThreadTeam& team_;
    const size_t most_;
    std::vector<ScoredBandwidth> exact_;
};

void search(Curve& curve, ScoreKind kind, const BandwidthRange& range, const BandwidthRange& targets, int steps) {
    const int coarse = std::max(std::min(steps, 3), steps * 2 / 3);
    const std::vector<double> points = grid(range, coarse);
    const std::vector<double> target_points = grid(targets, steps);
    const double usual_target = kind == ScoreKind::kcde ? target_points[target_points.size() / 2] : 0;
    std::vector<Bandwidths> next;
    for (const double x : points) next.push_back({x, usual_target});
    curve.add(next);
    if (kind == ScoreKind::kcde) {
        next.clear();
        const double x = curve.best().x;
        for (const double y : target_points)
            if (y != usual_target) next.push_back({x, y});
        curve.add(next);
    }
    const Bandwidths best = curve.best();
    next.clear();
    for (const double x : refinement(points, best.x, steps - coarse)) next.push_back({x, best.target});
    curve.add(next);
}

} // namespace

std::vector<ScoredBandwidth> select_bandwidth(ScoreRows rows, ScoreKind kind, const SelectionOptions& options,
                                              ThreadTeam& team, RunContext& context) {
    Scores scores(std::move(rows), kind, options.score, context);
    scores.prepare(team);
    const BandwidthRange range = x_range(scores.tree(), options, context);
    const BandwidthRange targets = kind == ScoreKind::kcde ? target_range(scores.tree()) : BandwidthRange{1, 1};
    const bool exact = options.score.method == ScoreMethod::exact ||
                       (options.score.method == ScoreMethod::automatic && scores.rows() <= exact_selection_rows);
    std::unique_ptr<TermEvaluator> terms;
    std::unique_ptr<BandwidthRace> race;
    if (!exact) {
        terms = evaluator(scores, team.size());
        race = std::make_unique<BandwidthRace>(scores.strata(), scores.sampling(), *terms, team);
    }
    const auto steps = static_cast<size_t>(options.steps);
    Curve curve(scores, race.get(), team, kind == ScoreKind::kcde ? 2 * steps - 1 : steps);
    search(curve, kind, range, targets, options.steps);
    std::vector<ScoredBandwidth> result = curve.finish();
    for (const ScoredBandwidth& row : result)
        if (!std::isfinite(row.score))
            throw Error(ErrorCode::out_of_range, "the score is out of the range of numbers",
                        format("The bandwidth is %s.", shortest(row.bandwidths.x).c_str()),
                        "Choose a bandwidth nearer to the distances between points, or scale the columns.");
    return result;
}

namespace {

// Returns ln of (R / v²)^(1 / (d + 4)) in so many dimensions d, with the roughness R = ∫k² and the variance v of each
// coordinate, both of the kernel that integrates to 1: kernels smooth alike at bandwidths in inverse proportion to the
// variance's root and the roughness's, of which this is the canonical one (Marron, Nolan 1988).
double log_canonical_bandwidth(const pairwise::KernelFacts& kernel, double d) {
    const double log_roughness = kernel.log_square_integral(d) - 2 * kernel.log_integral(d);
    return (log_roughness - 2 * std::log(kernel.variance(d))) / (d + 4);
}

// Keeps the rows that have every number in the column's usual range, or all rows where these are not half of them. One
// far from all others is likely only at bandwidths that tell no two of them apart, and a far target weighs more than
// all others.
void drop_far_rows(ScoreRows& rows, RunContext& context) {
    const size_t width = rows.width(), count = rows.size();
    std::vector<UsualRange> usual;
    for (size_t k = 0; k < width && count > 0; k++)
        usual.push_back(usual_range(
            [&](const auto& body) { context.for_each(count, 4, [&](size_t i) { body(rows.row(i)[k]); }); }));
    const auto is_usual = [&](const double* row) {
        for (size_t k = 0; k < width; k++)
            if (!usual[k].contains(row[k])) return false;
        return true;
    };
    size_t near = 0, kept = 0;
    context.for_each(count, width, [&](size_t i) { near += is_usual(rows.row(i)); });
    if (2 * near < count) return;
    context.for_each(count, width, [&](size_t i) {
        if (is_usual(rows.row(i))) std::copy_n(rows.row(i), width, rows.values.data() + width * kept++);
    });
    rows.values.resize(kept * width);
}

// Brings equal rows together.
bool mostly_repeats(ScoreRows& rows, RunContext& context) {
    canonicalise(rows, context);
    const size_t width = rows.width();
    size_t distinct = 0;
    context.for_each(rows.size(), width, [&](uint64_t i) {
        distinct += i == 0 || !std::equal(rows.row(i), rows.row(i) + width, rows.row(i - 1));
    });
    return 2 * distinct < rows.size();
}

// Returns the median distance of neighbouring values, 0 of a constant coordinate.
double spacing(const ScoreRows& rows, size_t coordinate, RunContext& context) {
    Buffer<double> column(context.memory(), "a column of points", rows.size());
    context.for_each(rows.size(), 1, [&](uint64_t i) { column[i] = rows.row(i)[coordinate]; });
    const auto sort = [&](double* begin, double* end) {
        std::sort(begin, end, [&](double a, double b) {
            context.worked(1);
            return a < b;
        });
    };
    sort(column.begin(), column.end());
    size_t gaps = 0;
    for (size_t i = 0; i + 1 < column.size(); i++)
        if (column[i] < column[i + 1]) column[gaps++] = column[i + 1] - column[i];
    sort(column.begin(), column.begin() + gaps);
    return gaps == 0 ? 0 : column[gaps / 2];
}

double rule_of_thumb(const ScoreRows& rows, RunContext& context) {
    const auto d = static_cast<double>(rows.dimensions);
    double squares = 0, widest = 0;
    for (const double deviation : standard_deviations(rows, context)) squares += deviation * deviation;
    for (size_t k = 0; k < rows.dimensions; k++) widest = std::max(widest, spacing(rows, k, context));
    const double usual = std::pow(4 / (d + 2) / static_cast<double>(rows.size()), 1 / (d + 4));
    return std::max(std::sqrt(squares / d) * usual, widest);
}

} // namespace

BandwidthChoice choose_bandwidth(ScoreRows rows, Kernel kernel, uint64_t seed, ThreadTeam& team, RunContext& context) {
    drop_far_rows(rows, context);
    const auto d = static_cast<double>(rows.dimensions);
    const pairwise::KernelFacts& facts = facts_of(kernel);
    const ScoreKind kind = rows.target ? ScoreKind::kr : ScoreKind::likelihood;
    const bool by_gaussian = kind == ScoreKind::likelihood && facts.is_compact;
    SelectionOptions options;
    options.score.kernel = by_gaussian ? Kernel{} : kernel;
    options.score.sampling.seed = seed;
    const double ratio =
        by_gaussian ? std::exp(log_canonical_bandwidth(facts, d) - log_canonical_bandwidth(facts_of(Kernel{}), d)) : 1;
    if (kind == ScoreKind::likelihood && mostly_repeats(rows, context))
        if (const double chosen = rule_of_thumb(rows, context); chosen > 0) // else all rows are the same
            return {chosen * ratio, kind, options.score.kernel, {}};
    BandwidthChoice choice{0, kind, options.score.kernel,
                           select_bandwidth(std::move(rows), kind, options, team, context)};
    for (const ScoredBandwidth& row : choice.curve)
        if (row.best) choice.bandwidth = row.bandwidths.x * ratio;
    return choice;
}

} // namespace btml::monte_carlo
