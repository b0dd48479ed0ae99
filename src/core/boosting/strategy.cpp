#include "core/boosting/strategy.hpp"

#include "core/relational/join_rows.hpp"

#include <cmath>

namespace btml::boosting {

using namespace relational;

namespace {

// Measured on one core, in nanoseconds.
constexpr double per_join_row = 4;      // and table, and level of a tree
constexpr double per_group_product = 1; // of a group of rows with equal keys, a query and a neighbour
constexpr double per_filtered_row = 0.2;
constexpr double per_summed_row = 20; // of a node

double leaves_of(const Options& options) {
    return options.max_leaves > 0 ? options.max_leaves : 256;
}

double enumerated_nanoseconds(double join_rows, double tables, const Options& options) {
    return join_rows * tables * per_join_row * (1 + options.trees * std::log2(leaves_of(options)));
}

// A tree has a pass for every split, and a pass a query for each leaf of the earlier trees; about half of them
// contradict the node's conditions.
double factorised_nanoseconds(const Join& join, const Options& options) {
    double products = 0, rows = 0;
    for (const Table& table : join.tables()) rows += static_cast<double>(table.rows);
    for (size_t t = 0; t < join.tables().size(); t++) {
        const int parent = join.tree().nodes[t].parent;
        if (parent < 0) continue;
        // A table has no more groups than rows, and no fewer than keys.
        products += 2 * static_cast<double>(join.key_count(static_cast<int>(t), parent));
    }
    const double trees = options.trees, leaves = leaves_of(options);
    double queries = trees * trees / 2 * leaves * leaves / 2;
    if (options.criterion == Criterion::mse_sum) queries *= trees * leaves / 6;
    return trees * leaves * rows * per_summed_row + queries * (products * per_group_product + rows * per_filtered_row);
}

std::string seconds(double nanoseconds) {
    const double s = nanoseconds * 1e-9;
    return s < 1 ? "under 1 s" : s < 1e6 ? format("about %.0f s", s) : format("about %.0e s", s);
}

} // namespace

StrategyChoice choose_strategy(const Join& join, const Options& options, Strategy asked, RunContext& context) {
    const uint64_t join_rows = join.count(context);
    const auto is_fact = [&](const Table& table) { return table.rows == join_rows; };
    if (asked == Strategy::factorize) return {asked, "asked for"};
    const auto bags = join.tables().begin() + join.relations();
    const bool is_star = std::any_of(join.tables().begin(), bags, is_fact);
    const bool is_bag = std::any_of(bags, join.tables().end(), is_fact); // its rows are held already
    if (asked == Strategy::enumerate || is_star || is_bag)
        return {Strategy::enumerate,
                is_star ? "the rows of one table are the rows of the join" : "the join is held as row ids"};
    const uint64_t bytes = enumeration_bytes(join, context) + 16 * join_rows;
    const uint64_t held = context.memory().used(), limit = context.memory().limit();
    if (join_rows > max_rows || bytes > limit - std::min(held, limit))
        return {Strategy::factorize,
                format("its %llu rows would take %llu MB to hold", static_cast<unsigned long long>(join_rows),
                       static_cast<unsigned long long>(bytes >> 20))};
    const double enumerated =
        enumerated_nanoseconds(static_cast<double>(join_rows), static_cast<double>(join.tables().size()), options);
    const double factorised = factorised_nanoseconds(join, options);
    if (enumerated <= factorised)
        return {Strategy::enumerate, format("the join is held as row ids, estimated at %s against %s without",
                                            seconds(enumerated).c_str(), seconds(factorised).c_str())};
    return {Strategy::factorize, format("estimated at %s against %s with the join's rows held",
                                        seconds(factorised).c_str(), seconds(enumerated).c_str())};
}

} // namespace btml::boosting
