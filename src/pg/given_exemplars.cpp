#include "pg/given_exemplars.hpp"

#include "core/gp/fit.hpp"
#include "pg/source/query_points.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace btml::pg {

namespace {

bool has_null(const FeatureColumn& feature, RunContext& context) {
    bool has = false;
    context.for_each(feature.numbers.size(), 1, [&](uint64_t row) { has = has || is_null(feature.numbers[row]); });
    return has;
}

// Says what makes a value one that no row can be compared with; null where nothing does.
const char* flaw_of(double x, bool is_category, bool may_be_null) {
    if (is_category) return x < 0 ? "of a category that no row has" : nullptr;
    if (is_null(x)) return may_be_null ? nullptr : "NULL";
    return std::isfinite(x) ? nullptr : "not finite";
}

// Refuses points that are like no row.
void check(const QueryPoints& points, const Dataset& dataset, RunContext& context) {
    for (size_t f = 0; f < dataset.features.size(); f++) {
        const FeatureColumn& feature = dataset.features[f];
        const bool is_category = feature.categorical, may_be_null = has_null(feature, context);
        for (uint64_t row = 0; row < points.rows(); row++)
            if (const char* const flaw = flaw_of(points.values(row)[f], is_category, may_be_null))
                throw Error(ErrorCode::invalid_argument,
                            format("feature \"%s\" is %s in a row of exemplar_source", feature.name.c_str(), flaw),
                            "No row can be compared with such an exemplar.", "Leave it out of exemplar_source.");
    }
}

// Puts points into an order that only their values decide.
std::vector<double> sorted(const QueryPoints& points, size_t width) {
    std::vector<std::span<const double>> rows;
    for (uint64_t row = 0; row < points.rows(); row++) rows.push_back(points.values(row));
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
        return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
            return std::bit_cast<uint64_t>(x) < std::bit_cast<uint64_t>(y);
        });
    });
    std::vector<double> values;
    values.reserve(rows.size() * width);
    for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
    return values;
}

} // namespace

std::optional<GivenSource> read_exemplar_source(const FitArguments& arguments, List* args, gp::Options& options) {
    const std::optional<std::string> source = arguments.source("exemplar_source");
    if (!source) return std::nullopt;
    options.given_exemplars = std::make_shared<const std::vector<double>>();
    return GivenSource{*source, args};
}

Reservation read_exemplars(const std::optional<GivenSource>& source, const Dataset& dataset, gp::Options& options,
                           RunContext& context) {
    constexpr uint64_t max = gp::SparseModel::max_inducing_points;
    Reservation held(context.memory(), "exemplars");
    if (!source) return held;
    const QueryPoints points(*source, gp::features_of(dataset), {.name = "exemplar_source"}, context);
    if (points.rows() == 0)
        throw Error(ErrorCode::invalid_argument, "exemplar_source has no rows", "Its rows are the exemplars.");
    if (points.rows() > max)
        throw Error(ErrorCode::limit_exceeded,
                    format("exemplar_source has %" PRIu64 " rows, more than %" PRIu64, points.rows(), max), "",
                    "Choose among them by btml.exemplars.");
    check(points, dataset, context);
    held.grow(points.values().size_bytes());
    options.given_exemplars = std::make_shared<const std::vector<double>>(sorted(points, dataset.features.size()));
    return held;
}

} // namespace btml::pg
