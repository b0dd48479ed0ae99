#include "core/linear/linear_strategy.hpp"

#include "core/linear/join_products.hpp"
#include "core/relational/join/semiring.hpp"

#include <algorithm>

namespace btml::linear {

using relational::DataColumn;
using relational::Join;

namespace {

// What a fit has to do, in nanoseconds, as measured on a server of 2020 with one thread.
struct Costs {
    double rows, tables; // of enumerating, of factorising
};

// Returns how many columns of the design each table has, categories one by one where `of_categories` is set.
std::vector<size_t> columns_of(const Join& join, const relational::DatasetPlan& plan, bool of_categories) {
    std::vector<size_t> columns(join.tables().size());
    for (const relational::FeatureRef& feature : plan.features) {
        const DataColumn& column = column_at(join, feature.place);
        const bool is_category = column.kind == DataColumn::Kind::category;
        columns[feature.place.table] += is_category && of_categories ? column.categories.size() : 1;
    }
    return columns;
}

// Returns how many groups of rows with equal keys each table has at most.
std::vector<double> groups_of(const Join& join) {
    std::vector<double> groups;
    for (int t = 0; t < static_cast<int>(join.tables().size()); t++) {
        double keys = 1;
        for (const int neighbour : join.tree().neighbours(t)) keys *= static_cast<double>(join.key_count(t, neighbour));
        groups.push_back(std::min(keys, static_cast<double>(join.tables()[t].rows)));
    }
    return groups;
}

double square(double x) {
    return x * x;
}

Costs costs_of(const Join& join, const relational::DatasetPlan& plan, double join_rows) {
    static constexpr double product = 0.2, number = 20, row = 150, step = 100; // step: of a query, by group
    const std::vector<double> groups = groups_of(join);
    const auto tables = static_cast<double>(groups.size());
    const auto features = static_cast<double>(plan.features.size());
    Costs costs{join_rows * (row + number * tables + product * square(features)), 0};
    const std::vector<size_t> dense = columns_of(join, plan, false), all = columns_of(join, plan, true);
    for (size_t t = 0; t < groups.size(); t++) {
        const auto columns = static_cast<double>(dense[t]);
        costs.tables +=
            static_cast<double>(join.tables()[t].rows) * (row * 2 + number * columns + product * square(columns));
        costs.tables += groups[t] * tables * step;
    }
    costs.tables += products_across(join.tree(), groups, all) * product * 2;
    return costs;
}

double rows_of_tables(const Join& join) {
    double rows = 0;
    for (int t = 0; t < join.relations(); t++) rows += static_cast<double>(join.tables()[t].rows);
    return rows;
}

} // namespace

StrategyChoice choose_strategy(const Join& join, const relational::DatasetPlan& plan, const Options& options,
                               RunContext& context) {
    static constexpr double far = 2; // faster, since forecasts are rough
    StrategyChoice choice{false, "sums are over every row of the join"};
    const auto join_rows = static_cast<double>(join.wide_count(context));
    if (options.family != Family::gaussian || options.std_error != StdError::model || join.tables().size() == 1 ||
        join_rows > static_cast<double>(relational::Counting::most))
        return choice;
    const Costs costs = costs_of(join, plan, join_rows);
    const bool fits = join_rows <= static_cast<double>(relational::max_rows) &&
                      enumeration_bytes(join, context) <= context.memory().left();
    if (fits && costs.rows < far * costs.tables) return choice;
    choice.factorises = true;
    choice.reason = format("the join has %.0f rows, its tables have %.0f", join_rows, rows_of_tables(join));
    return choice;
}

} // namespace btml::linear
