#include "pg/bandwidth_chooser.hpp"

#include "pg/bridge/guard.hpp"

#include <algorithm>
#include <cstdlib>

namespace btml::pg {

using monte_carlo::BandwidthChoice;
using monte_carlo::ScoredBandwidth;
using monte_carlo::ScoreKind;

void report_ends_of_search(const std::vector<ScoredBandwidth>& curve, ScoreKind kind) {
    if (std::all_of(curve.begin(), curve.end(), [&](const auto& row) { return row.score == curve[0].score; })) return;
    const auto best = std::find_if(curve.begin(), curve.end(), [](const auto& row) { return row.best; });
    const auto report = [](const char* what, const char* end, const char* hint) {
        notice(format("the best %s is at the %s end of its range", what, end), "", hint);
    };
    const auto by_target = [](const auto& a, const auto& b) { return a.bandwidths.target < b.bandwidths.target; };
    const auto [least, most] = std::minmax_element(curve.begin(), curve.end(), by_target);
    if (best->bandwidths.x == curve.front().bandwidths.x)
        report("bandwidth", "lower",
               kind == ScoreKind::kde
                   ? "Where points or coordinates repeat, least squares prefer ever smaller "
                     "bandwidths: score \"likelihood\" does only where all points do."
                   : "btml.select_bandwidth with a smaller \"lower\" shows whether the score falls further.");
    if (best->bandwidths.x == curve.back().bandwidths.x)
        report("bandwidth", "upper",
               "btml.select_bandwidth with a larger \"upper\" shows whether the score falls further.");
    if (least->bandwidths.target == most->bandwidths.target) return;
    const char* const hint = "btml.kcde_score at others shows whether the score falls further.";
    if (best->bandwidths.target == least->bandwidths.target) report("target bandwidth", "lower", hint);
    if (best->bandwidths.target == most->bandwidths.target) report("target bandwidth", "upper", hint);
}

// Whoever left the bandwidth out can give one.
static BandwidthChoice choose_or_ask(monte_carlo::ScoreRows rows, const kernel::Options& options, ThreadTeam& team,
                                     RunContext& context) {
    const Share unknown(context, 0, 0);
    try {
        return monte_carlo::choose_bandwidth(std::move(rows), options.kernel, options.seed, team, context);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_argument) throw;
        throw Error(error.code(), "no bandwidth can be chosen: " + error.message(), error.detail(),
                    "Give a bandwidth.");
    }
}

void BandwidthChooser::add(const PointRow& row) {
    if (row.weight == 0) return;
    weighted_ = weighted_ || row.weight != 1;
    rows_.dimensions = row.x.size();
    rows_.values.reserve(rows_.values.size() + rows_.width());
    for (const double x : row.x) rows_.values.append_reserved(x);
    if (rows_.target) rows_.values.append_reserved(row.values[0]);
}

double BandwidthChooser::choose(const kernel::Options& options, RunContext& context) {
    if (rows_.size() < 2)
        throw Error(ErrorCode::invalid_argument, "no bandwidth can be chosen by fewer than two keys", "",
                    "Give a bandwidth.");
    if (options.scale == kernel::Scale::sd) monte_carlo::standardise(rows_, context);
    ThreadTeam team(context);
    const BandwidthChoice choice = choose_or_ask(std::move(rows_), options, team, context);
    const bool by_rule = choice.curve.empty();
    if (!by_rule) report_ends_of_search(choice.curve, choice.kind);
    std::string how = choice.kind == ScoreKind::kr ? "It has the least squared error of keys that the others predict"
                      : by_rule ? "Most keys equal another, so it is Silverman's rule, or the distance of neighbours"
                                : "It has the largest likelihood of keys by the others' density";
    const bool by_another = choice.scored != options.kernel;
    const std::string scored = facts_of(choice.scored).name;
    if (by_another) how += " with the kernel \"" + scored + "\", made as wide as this one must be to smooth alike";
    if (weighted_) how += "; weights do not count in it";
    const std::string rounded = format("%.6g", choice.bandwidth); // so that it can be typed
    std::string hint = "bandwidth => " + rounded + " repeats it";
    if (!by_rule)
        hint += format("; btml.select_bandwidth with score \"%s\"%s shows the curve", name_of(choice.kind),
                       by_another ? (" and kernel \"" + scored + "\"").c_str() : "");
    notice("bandwidth " + rounded + " was chosen", how + ".", hint + ".");
    return std::strtod(rounded.c_str(), nullptr);
}

} // namespace btml::pg
