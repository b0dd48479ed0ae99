#include "pg/score_options.hpp"

#include "pg/option_values.hpp"
#include "pg/point_source.hpp"

namespace btml::pg {

using monte_carlo::ScoreMethod;
using monte_carlo::ScoreOptions;
using monte_carlo::ScoreRows;

namespace {

[[noreturn]] void invalid(const char* option, const std::string& value, const char* valid) {
    throw Error(ErrorCode::invalid_argument, format("invalid value for option \"%s\": %s", option, value.c_str()), "",
                valid);
}

double read_fraction(const Arguments& arguments, int position, const char* name) {
    const double value = arguments.number(position, name);
    if (!(value > 0 && value < 1)) invalid(name, shortest(value), "Valid values are greater than 0 and less than 1.");
    return value;
}

void scale_coordinates(ScoreRows& rows, RunContext& context) {
    const std::vector<double> deviations = monte_carlo::standard_deviations(rows, context);
    const size_t width = rows.width();
    for (size_t i = 0; i < rows.size(); i++) {
        for (size_t k = 0; k < rows.dimensions; k++)
            if (deviations[k] > 0) rows.values[i * width + k] /= deviations[k];
        context.worked(width);
    }
}

} // namespace

double read_bandwidth(const Arguments& arguments, int position, const char* name) {
    const double value = arguments.number(position, name);
    if (!(value >= monte_carlo::min_bandwidth && value <= monte_carlo::max_bandwidth))
        invalid(name, shortest(value), "Valid values are from 1e-150 to 1e150.");
    return value;
}

int read_count(const Arguments& arguments, int position, const char* name, int least, int most) {
    const int value = arguments.integer(position, name);
    if (value < least || value > most)
        invalid(name, std::to_string(value), format("Valid values are integers from %d to %d.", least, most).c_str());
    return value;
}

ScoreOptions read_score_options(const Arguments& arguments, int first) {
    static const std::vector<std::string> methods = {"auto", "exact", "sampled"};
    ScoreOptions options;
    options.sampling.epsilon = read_fraction(arguments, first, "epsilon");
    options.sampling.confidence = read_fraction(arguments, first + 1, "confidence");
    options.method = static_cast<ScoreMethod>(choice(arguments.string(first + 2, "method"), "method", methods));
    if (!arguments.is_null(first + 3)) options.sampling.strata = read_count(arguments, first + 3, "strata", 1, 10'000);
    if (!arguments.is_null(first + 4))
        options.sampling.min_samples =
            static_cast<uint64_t>(read_count(arguments, first + 4, "min_samples", 2, 1'000'000'000));
    if (!arguments.is_null(first + 5)) {
        options.sampling.tolerance = arguments.number(first + 5, "tolerance");
        if (!(options.sampling.tolerance >= 0 && std::isfinite(options.sampling.tolerance)))
            invalid("tolerance", shortest(options.sampling.tolerance), "Valid values are finite and at least 0.");
    }
    options.sampling.seed = static_cast<uint64_t>(arguments.bigint(first + 6, "seed"));
    return options;
}

ScoreRows read_score_rows(const std::string& source, const std::optional<std::string>& target, bool scaled,
                          RunContext& context) {
    PointParts parts;
    parts.values = target;
    const PointSource points(source, "points", std::move(parts));
    ScoreRows rows(points.dimensions().value_or(1), target.has_value(), context.memory());
    uint64_t skipped = 0;
    points.read(
        [&](const PointRow& point) {
            if (target && point.values.empty()) {
                skipped++;
                return;
            }
            rows.dimensions = point.x.size();
            rows.values.reserve(rows.values.size() + rows.width());
            for (const double x : point.x) rows.values.append_reserved(x);
            if (target) rows.values.append_reserved(point.values[0]);
        },
        context);
    if (skipped)
        pg_call([=] {
            ereport(NOTICE,
                    (errmsg("%llu rows with a NULL target are left out", static_cast<unsigned long long>(skipped))));
        });
    if (scaled) scale_coordinates(rows, context);
    return rows;
}

void report_underflows(uint64_t underflows, uint64_t rows_seen) {
    if (underflows == 0) return;
    pg_call([=] {
        ereport(NOTICE,
                (errmsg("the bandwidth is so small that all weights of some rows underflow"),
                 errdetail("They do for %llu of the %llu rows looked at, of which the nearest other row alone "
                           "says something, or none for a density.",
                           static_cast<unsigned long long>(underflows), static_cast<unsigned long long>(rows_seen))));
    });
}

} // namespace btml::pg
