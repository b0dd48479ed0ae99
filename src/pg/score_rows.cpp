#include "pg/score_rows.hpp"

#include "pg/bridge/guard.hpp"
#include "pg/point_source.hpp"

namespace btml::pg {

using monte_carlo::ScoreRows;

namespace {

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
