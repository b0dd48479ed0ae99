#include "core/boosting/strategy.hpp"

#include "core/boosting/sketched_squares.hpp"
#include "core/relational/join_rows.hpp"
#include "core/relational/spectrum.hpp"

#include <cmath>

namespace btml::boosting {

using namespace relational;

namespace {

// Measured on one core, in nanoseconds.
constexpr double per_join_row = 4;      // and table, and level of a tree
constexpr double per_group_product = 1; // of a group of rows with equal keys, a query and a neighbour
constexpr double per_filtered_row = 0.5;
constexpr double per_summed_row = 25;   // of a node
constexpr double per_sketched_row = 20; // of a node, a query and a block of frequencies
constexpr double per_sketched_message = 8;
constexpr double not_worth_a_choice = 1e9;

double leaves_of(const Options& options) {
    return options.max_leaves > 0 ? options.max_leaves : 256;
}

double enumerated_nanoseconds(double join_rows, double tables, const Options& options) {
    return join_rows * tables * per_join_row * (1 + options.trees * std::log2(leaves_of(options)));
}

// Steps of one query: of each table's groups, for each neighbour. Rows whose neighbours are all met on the same keys
// make a group for each key; otherwise there may be one for each row.
double products_of_query(const Join& join) {
    double products = 0;
    for (size_t t = 0; t < join.tables().size(); t++) {
        const JoinTree::Node& node = join.tree().nodes[t];
        std::vector<std::pair<int, const std::vector<int>*>> neighbours;
        if (node.parent >= 0) neighbours.emplace_back(node.parent, &node.separator);
        for (const int child : node.children)
            neighbours.emplace_back(child, &join.tree().nodes[static_cast<size_t>(child)].separator);
        const bool one_key = std::all_of(neighbours.begin(), neighbours.end(), [&](const auto& neighbour) {
            return *neighbour.second == *neighbours.front().second;
        });
        const double groups = neighbours.empty() ? 1
                              : one_key ? static_cast<double>(join.key_count(static_cast<int>(t), neighbours[0].first))
                                        : static_cast<double>(join.tables()[t].rows);
        products += groups * static_cast<double>(1 + neighbours.size());
    }
    return products;
}

// Part of the leaves that do not contradict a node: the larger the trees, the more do.
double relevant_part(const Options& options) {
    return 1.5 / std::max(1.5, std::log2(leaves_of(options)));
}

// Every node but the last leaves is sketched for each table with features, with the earlier leaves that do not
// contradict it as the vector's terms. Half of the rows are in a node, and half of those in such a leaf.
double sketching_nanoseconds(const Join& join, const Options& options) {
    if (!sketches_squares(options)) return 0;
    double bins = 0, with_features = 0, for_rows = 0;
    for (size_t t = 0; t < join.tables().size(); t++) {
        const Table& table = join.tables()[t];
        const auto rows = static_cast<double>(table.rows);
        const double most_bins = 1 + (options.max_bins > 0 ? std::min<double>(options.max_bins, rows) : rows);
        bins += most_bins * static_cast<double>(table.columns.size());
        with_features += table.columns.empty() ? 0 : 1;
        const JoinTree::Node& node = join.tree().nodes[t];
        const auto neighbours = static_cast<double>(node.children.size() + (node.parent >= 0 ? 1 : 0));
        for_rows += rows * (per_sketched_row / 4 + per_sketched_message / 2 * (1 + neighbours));
    }
    const SketchPlan plan = plan_sketches(options, static_cast<uint64_t>(bins), join.tables().size());
    const double blocks = 1 + static_cast<double>(plan.size) / (2 * Spectrum::width);
    const double trees = options.trees, leaves = leaves_of(options);
    const double nodes = 2 * leaves * trees, terms = 1 + trees / 2 * leaves * relevant_part(options);
    return nodes * with_features * plan.sketches * blocks * terms * for_rows;
}

// A tree has a pass over the tables for every split, and a pass a query for each leaf of the earlier trees that does
// not contradict the node.
double factorised_nanoseconds(const Join& join, const Options& options) {
    double rows = 0;
    for (const Table& table : join.tables()) rows += static_cast<double>(table.rows);
    const double trees = options.trees, leaves = leaves_of(options);
    const double relevant = relevant_part(options);
    double queries = trees * trees / 2 * leaves * leaves * relevant;
    if (options.criterion == Criterion::mse_sum && !options.sketch_residuals)
        queries *= trees * leaves * relevant / 6; // pairs of leaves
    return trees * leaves * rows * per_summed_row +
           queries * (products_of_query(join) * per_group_product + rows * per_filtered_row) +
           sketching_nanoseconds(join, options);
}

std::string seconds(double nanoseconds) {
    const double s = nanoseconds * 1e-9;
    return s < 10 ? format("about %.1g s", s) : format("about %.0f s", s);
}

} // namespace

StrategyChoice choose_strategy(const Join& join, const Options& options, Strategy asked, RunContext& context) {
    const uint64_t join_rows = join.count(context);
    const auto is_fact = [&](const Table& table) { return table.rows == join_rows; };
    if (asked == Strategy::factorize) return {asked, "asked for"};
    const auto bags = join.tables().begin() + join.relations();
    if (std::any_of(join.tables().begin(), bags, is_fact))
        return {Strategy::enumerate, "the rows of one table are the rows of the join"};
    const uint64_t row_ids = enumeration_bytes(join, context), bytes = row_ids + 10 * join_rows;
    const std::string held =
        format("the join is held as row ids (%llu kB)", static_cast<unsigned long long>((row_ids + 1023) / 1024));
    const double enumerated =
        enumerated_nanoseconds(static_cast<double>(join_rows), static_cast<double>(join.tables().size()), options);
    const bool is_bag = std::any_of(bags, join.tables().end(), is_fact); // its rows are held already
    const uint64_t limit = context.memory().limit(), room = limit - std::min(context.memory().used(), limit);
    const bool fits = join_rows <= max_rows && bytes <= room;
    if (asked == Strategy::enumerate || is_bag || (fits && enumerated <= not_worth_a_choice))
        return {Strategy::enumerate, held};
    if (!fits)
        return {Strategy::factorize,
                format("the join's %llu rows would take %llu MB to hold", static_cast<unsigned long long>(join_rows),
                       static_cast<unsigned long long>(bytes >> 20))};
    const double factorised = factorised_nanoseconds(join, options);
    if (enumerated <= factorised)
        return {Strategy::enumerate, format("%s, estimated at %s against %s without", held.c_str(),
                                            seconds(enumerated).c_str(), seconds(factorised).c_str())};
    return {Strategy::factorize, format("estimated at %s against %s with the join's rows held",
                                        seconds(factorised).c_str(), seconds(enumerated).c_str())};
}

double sketching_seconds(const Join& join, const Options& options, RunContext& context) {
    return sketching_nanoseconds(join, options) * 1e-9 / context.threads();
}

} // namespace btml::boosting
