#include "core/monte_carlo/bandwidth_choice.hpp"

#include "core/numbers/usual_range.hpp"

#include <algorithm>
#include <cmath>

namespace btml::monte_carlo {

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
