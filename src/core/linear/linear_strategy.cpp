#include "core/linear/linear_strategy.hpp"

#include "core/linear/join_products.hpp"
#include "core/relational/join/row_groups.hpp"
#include "core/relational/join/semiring.hpp"

#include <algorithm>

namespace btml::linear {

using relational::DataColumn;
using relational::Join;

namespace {

// What a fit has to do, in nanoseconds on a server of 2020: for a row, for a number of it, for a product of two, and
// for a group of a table in a query for another table.
constexpr double row_cost = 150, number_cost = 20, product_cost = 0.2, step_cost = 100;

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

// Returns a lower bound of how many groups of rows with equal keys a table has.
double min_groups(const Join& join, int table) {
    uint64_t groups = 1;
    for (const int neighbour : join.tree().neighbours(table))
        groups = std::max(groups, join.key_count(table, neighbour));
    return static_cast<double>(groups);
}

// Counts them, which looks at each row.
double count_groups(const Join& join, int table, RunContext& context) {
    if (join.tree().neighbours(table).size() < 2) return min_groups(join, table);
    return static_cast<double>(group_rows(join, table, context).count());
}

double square(double x) {
    return x * x;
}

double cost_of_rows(const Join& join, const relational::DatasetPlan& plan, double join_rows) {
    const auto tables = static_cast<double>(join.tables().size()), features = static_cast<double>(plan.features.size());
    return join_rows * (row_cost + number_cost * tables + product_cost * square(features));
}

double cost_of_tables(const Join& join, const relational::DatasetPlan& plan, const std::vector<double>& groups) {
    const std::vector<size_t> dense = columns_of(join, plan, false), all = columns_of(join, plan, true);
    const auto tables = static_cast<double>(groups.size());
    double cost = 2 * product_cost * products_across(join.tree(), groups, all);
    for (size_t t = 0; t < groups.size(); t++) {
        const auto columns = static_cast<double>(dense[t]);
        cost += static_cast<double>(join.tables()[t].rows) *
                    (row_cost + number_cost * columns + product_cost * square(columns)) +
                groups[t] * tables * step_cost;
    }
    return cost;
}

// Looks at the tables' rows only where it depends on them.
bool is_faster_by_tables(const Join& join, const relational::DatasetPlan& plan, double join_rows, RunContext& context) {
    static constexpr double surely = 1.2;
    const double by_rows = cost_of_rows(join, plan, join_rows);
    std::vector<double> groups;
    const auto is_faster = [&] { return by_rows > surely * cost_of_tables(join, plan, groups); };
    for (int t = 0; t < static_cast<int>(join.tables().size()); t++) groups.push_back(min_groups(join, t));
    if (!is_faster()) return false;
    for (size_t t = 0; t < groups.size(); t++) groups[t] = count_groups(join, static_cast<int>(t), context);
    return is_faster();
}

double rows_of_tables(const Join& join) {
    double rows = 0;
    for (int t = 0; t < join.relations(); t++) rows += static_cast<double>(join.tables()[t].rows);
    return rows;
}

// One reason, so that a join and its materialised rows give the same model.
constexpr const char* by_rows_as_fast = "sums over rows take no longer than sums over tables";

// Returns why the rows are needed; null where they are not.
const char* need_of_rows(const Join& join, const relational::DatasetPlan& plan, const Options& options,
                         double join_rows) {
    return options.family != Family::gaussian                            ? "only least squares are sums over tables"
           : options.std_error != StdError::model                        ? "robust errors need every row of the join"
           : plan.offset                                                 ? "an offset needs every row of the join"
           : join.tables().size() == 1                                   ? by_rows_as_fast
           : join_rows > static_cast<double>(relational::Counting::most) ? "the join has more rows than can be counted"
                                                                         : nullptr;
}

// Returns a rough number of the bytes that factorising holds.
double bytes_of_tables(const Join& join, const relational::DatasetPlan& plan) {
    const std::vector<size_t> columns = columns_of(join, plan, true);
    double bytes = 0;
    for (int t = 0; t < static_cast<int>(columns.size()); t++)
        bytes +=
            static_cast<double>(join.tables()[t].rows) * 5 * sizeof(double) +
            min_groups(join, t) * static_cast<double>(9 * 2 + 2 * columns[static_cast<size_t>(t)]) * sizeof(double);
    return bytes;
}

} // namespace

StrategyChoice choose_strategy(const Join& join, const relational::DatasetPlan& plan, const Options& options,
                               RunContext& context) {
    const auto join_rows = static_cast<double>(join.wide_count(context));
    if (const char* const need = need_of_rows(join, plan, options, join_rows)) return {false, need};
    const auto left = static_cast<double>(context.memory().left());
    const bool fits = join_rows <= static_cast<double>(relational::max_rows) &&
                      static_cast<double>(enumeration_bytes(join, context)) <= left;
    if (fits && bytes_of_tables(join, plan) > left)
        return {false, "the tables' sums do not fit into btml.memory_limit"};
    if (fits && !is_faster_by_tables(join, plan, join_rows, context)) return {false, by_rows_as_fast};
    return {true, format("the join has %.0f rows, its tables have %.0f", join_rows, rows_of_tables(join))};
}

} // namespace btml::linear
