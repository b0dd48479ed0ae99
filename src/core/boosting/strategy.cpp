#include "core/boosting/strategy.hpp"

#include "core/base/timing.hpp"
#include "core/boosting/factorised/query_costs.hpp"
#include "core/boosting/factorised/sketched_squares.hpp"
#include "core/boosting/objectives/objective.hpp"
#include "core/relational/filtered/filtered_sums.hpp"
#include "core/relational/join/join_rows.hpp"
#include "core/relational/queries/spectrum.hpp"

#include <cmath>

namespace btml::boosting {

using namespace relational;

namespace {

// Measured on one core, in nanoseconds.
constexpr double per_held_row = 30;          // for a row and a table: to enumerate and bin
constexpr double per_tree_row = 10;          // for a row and a tree
constexpr double per_tree_feature = 0.7;     // for a row, a tree and a feature
constexpr double per_level_feature = 0.25;   // for a row, a tree, a feature and a level of the tree
constexpr double per_sketched_row = 10;      // for a row and a block of frequencies
constexpr double per_sketched_filter = 1;    // for a row, a block of frequencies and a condition
constexpr double per_sketched_product = 1.2; // for a group, a sub-query, a neighbour and a block of frequencies
constexpr double not_worth_a_choice = 1e9;

double leaves_of(const Options& options) {
    const double leaves = options.max_leaves > 0 ? options.max_leaves : 256;
    return options.max_depth > 0 ? std::min(leaves, std::exp2(options.max_depth)) : leaves;
}

// Trees that are known take next to nothing.
double enumerated_nanoseconds(const Join& join, double join_rows, const Workload& workload, const Options& options) {
    const double features = static_cast<double>(workload.features) * options.feature_fraction;
    const double of_feature = per_tree_feature + per_level_feature * std::log2(leaves_of(options));
    return join_rows *
           (static_cast<double>(join.tables().size()) * per_held_row +
            (options.trees - workload.known_trees) * (per_tree_row + options.row_fraction * features * of_feature));
}

// Groups of a table's rows by their keys. Rows whose neighbours are all met on the same keys make a group for each key;
// otherwise there may be one for each row.
double groups_of(const Join& join, size_t t) {
    const JoinTree& tree = join.tree();
    const std::vector<int> neighbours = tree.neighbours(t);
    const auto separator = [&](int neighbour) -> const std::vector<int>& {
        return tree.nodes[neighbour == tree.nodes[t].parent ? t : neighbour].separator;
    };
    if (neighbours.empty()) return 1;
    const bool one_key = std::all_of(neighbours.begin(), neighbours.end(),
                                     [&](int other) { return separator(other) == separator(neighbours[0]); });
    return one_key ? join.key_count(t, neighbours[0]) : join.tables()[t].rows;
}

// Forecasts what sketches of some queries at one node take. Leaves with conditions on few tables ask the same of the
// others.
class SketchCost {
  public:
    SketchCost(const Join& join, const Options& options) : levels_(std::log2(leaves_of(options))) {
        std::vector<double> columns_below(join.tables().size(), 0);
        const std::vector<int>& order = join.tree().order;
        for (size_t i = order.size(); i-- > 0;) {
            const size_t t = order[i];
            const JoinTree::Node& node = join.tree().nodes[t];
            columns_below[t] += join.tables()[t].columns.size();
            if (node.parent >= 0) columns_below[node.parent] += columns_below[t];
        }
        const double columns = columns_below[order[0]];
        const auto part = [&](double some) { return columns == 0 ? 1 : some / columns; }; // none: it may be any
        for (size_t t = 0; t < join.tables().size(); t++) {
            const size_t neighbours = join.tree().neighbours(t).size();
            tables_.push_back({static_cast<double>(join.tables()[t].rows), groups_of(join, t) * (1 + neighbours),
                               part(join.tables()[t].columns.size()), part(columns_below[t])});
            rows_ += tables_.back().rows;
        }
    }

    double rows() const { return rows_; }
    // Nanoseconds of so many queries, a leaf's conditions each.
    double of(double queries) const {
        double sum = 0;
        for (const OfTable& table : tables_)
            sum += table.rows * per_sketched_filter * distinct(queries, table.columns) +
                   table.products * per_sketched_product * distinct(queries, table.columns_below);
        return sum;
    }

  private:
    struct OfTable {
        double rows, products;
        double columns, columns_below; // of the table, and with those below it in the join tree: part of all
    };

    // One asks for nothing, and a leaf has a condition for each level of its tree, on any column.
    double distinct(double queries, double columns) const { return 1 + queries * (1 - std::pow(1 - columns, levels_)); }

    const double levels_;
    double rows_ = 0;
    std::vector<OfTable> tables_;
};

// Returns how many leaves of the earlier trees do not contradict a node, on average.
double queries_of_node(const Options& options) {
    return options.trees / 2.0 * leaves_of(options) * relevant_part(leaves_of(options));
}

// Every node is sketched, with the earlier leaves that do not contradict it. Half of the rows are in a node.
double sketching_nanoseconds(const Join& join, const Options& options) {
    if (!sketches_squares(options)) return 0;
    double bins = 0;
    for (const Table& table : join.tables()) {
        const double rows = table.rows;
        const double max_bins = 1 + (options.max_bins > 0 ? std::min<double>(options.max_bins, rows) : rows);
        bins += max_bins * table.columns.size();
    }
    const SketchPlan plan = plan_sketches(options, static_cast<uint64_t>(bins), join.relations());
    const double blocks = 1 + static_cast<double>(plan.size) / (2 * Spectrum::width);
    const SketchCost cost(join, options);
    const double nodes = 2 * leaves_of(options) * options.trees;
    return nodes / 2 * plan.sketches * blocks * (cost.rows() * per_sketched_row + cost.of(queries_of_node(options)));
}

// Forecasts the best case, where conditions touch few tables, and a node costs what adding up rows does. Rows with
// equal keys and bins are one; how many are, only training knows. Of two siblings, one is summed.
double factorised_nanoseconds(const Join& join, int known_trees, const Options& options) {
    static constexpr double most_in_one = 4096;
    double of_node = 0;
    for (size_t t = 0; t < join.tables().size(); t++) {
        const Table& table = join.tables()[t];
        const double rows = std::max(groups_of(join, t), static_cast<double>(table.rows) / most_in_one);
        of_node += rows * summed_row_nanoseconds(static_cast<double>(table.columns.size()) * options.feature_fraction);
    }
    return (options.trees - known_trees) * leaves_of(options) / 2 * of_node +
           sketching_nanoseconds(join, options) * left_of_squares(known_trees, options.trees);
}

// Roughly what FactorisedSet::bytes will ask for once equal rows are one: sums and counts by row, a bit for every leaf
// by row of a table with features, and the messages of as many leaves at a time as a block holds.
double factorised_bytes(const Join& join, const Options& options) {
    const bool squares = options.criterion == Criterion::mse_sum;
    const double queries = options.trees * leaves_of(options);
    double sums = 0, filters = 0, messages = 0;
    for (size_t t = 0; t < join.tables().size(); t++) {
        const double rows = join.tables()[t].rows;
        sums += rows * sizeof(double) * (squares ? 7 : 5);
        if (!join.tables()[t].columns.empty()) filters += rows * queries / 8;
        messages += groups_of(join, t) * sizeof(double);
    }
    return sums + filters + std::min(queries * messages, static_cast<double>(FilteredSums::block_memory));
}

std::string megabytes(double bytes) {
    return format("%.0f MB", bytes / (1 << 20));
}

// What holding the join's rows takes; row ids apart from the rest.
uint64_t held_bytes(uint64_t row_ids, uint64_t join_rows, size_t labels, const Options& options) {
    return row_ids + (objective_of(options.objective).row_bytes(labels) + 2) * join_rows;
}

StrategyChoice hold_or_sample(const Join& join, size_t labels, const Options& options, const std::string& reason,
                              RunContext& context) {
    const WideCount rows = join.wide_count(context);
    const bool fits = rows <= max_rows && held_bytes(enumeration_bytes(join, context), static_cast<uint64_t>(rows),
                                                     labels, options) <= context.memory().left();
    if (fits || options.strategy == Strategy::enumerate) return {Strategy::enumerate, reason};
    return {Strategy::sample, reason + ", and its join is too large to hold"};
}

} // namespace

static void refuse_distributed(Strategy asked) {
    if (asked == Strategy::distributed)
        throw Error(ErrorCode::not_supported, "strategy => 'distributed' is not valid here", {},
                    "btml.boost_fit and btml.tree_fit have it.");
}

StrategyChoice choose_strategy(const Join& join, const Workload& workload, const Options& options,
                               RunContext& context) {
    const Strategy asked = options.strategy;
    refuse_distributed(asked);
    if (asked == Strategy::sample) return {asked, "asked for"};
    if (needs_rows(options)) {
        const std::string reason = !objective_of(options.objective).factorises
                                       ? format("objective '%s' does not factorise", name_of(options.objective))
                                   : options.learn_deviation ? "learned deviations need the rows"
                                                             : "the metric of held-out rows needs the rows";
        return hold_or_sample(join, workload.labels, options, reason, context);
    }
    const uint64_t join_rows = join.count(context);
    const auto is_fact = [&](const Table& table) { return table.rows == join_rows; };
    if (asked == Strategy::factorize) return {asked, "asked for"};
    const auto bags = join.tables().begin() + join.relations();
    const bool is_table = std::any_of(join.tables().begin(), bags, is_fact);
    const uint64_t row_ids = enumeration_bytes(join, context);
    const uint64_t bytes = held_bytes(row_ids, join_rows, workload.labels, options);
    const std::string held = format("the join is held as row ids (%" PRIu64 " kB)", (row_ids + 1023) / 1024);
    const double enumerated = enumerated_nanoseconds(join, join_rows, workload, options);
    const bool is_bag = std::any_of(bags, join.tables().end(), is_fact); // its rows are held already
    const bool fits = join_rows <= max_rows && bytes <= context.memory().left();
    if (is_table && (fits || asked == Strategy::enumerate))
        return {Strategy::enumerate, "the rows of one table are the rows of the join"};
    if (asked == Strategy::enumerate || is_bag || (fits && enumerated <= not_worth_a_choice))
        return {Strategy::enumerate, held};
    const double without = factorised_bytes(join, options);
    const bool fits_without = without <= context.memory().left();
    if (!fits && !fits_without)
        return {Strategy::sample, format("join's %" PRIu64 " rows would take %" PRIu64
                                         " MB to hold, and training without them %s, more than is left",
                                         join_rows, bytes >> 20, megabytes(without).c_str())};
    if (!fits)
        return {Strategy::factorize,
                format("the join's %" PRIu64 " rows would take %" PRIu64 " MB to hold", join_rows, bytes >> 20)};
    if (!fits_without)
        return {Strategy::enumerate,
                format("%s, training without would take %s", held.c_str(), megabytes(without).c_str())};
    // Holding takes bins and records beside the rows, and who gives up for want of time must not end for want of
    // memory.
    const bool may_give_up = 2 * bytes <= context.memory().left();
    const double factorised = factorised_nanoseconds(join, workload.known_trees, options);
    const std::string with_rows = about_seconds(enumerated * 1e-9), without_rows = about_seconds(factorised * 1e-9);
    if (enumerated <= factorised)
        return {Strategy::enumerate, format("%s, estimated at %s against %s at best without", held.c_str(),
                                            with_rows.c_str(), without_rows.c_str())};
    return {
        Strategy::factorize,
        format("estimated at %s at best against %s with the join's rows held", without_rows.c_str(), with_rows.c_str()),
        {.max_nanoseconds = may_give_up ? enumerated : std::numeric_limits<double>::infinity(),
         .sketching_nanoseconds = sketching_nanoseconds(join, options),
         .known_trees = workload.known_trees}};
}

StrategyChoice choose_held_rows(const Join& join, const Options& options, const std::string& reason,
                                RunContext& context, size_t labels) {
    refuse_distributed(options.strategy);
    if (options.strategy == Strategy::sample) return {options.strategy, "asked for"};
    if (options.strategy == Strategy::factorize)
        throw Error(ErrorCode::invalid_argument, "strategy => 'factorize' is not valid here: " + reason, "",
                    "Valid are \"auto\", \"enumerate\" and \"sample\".");
    return hold_or_sample(join, labels, options, reason, context);
}

FitResult fit_or_enumerate(Options& options, RunContext& context, const std::function<FitResult(Options&)>& fit) {
    std::string given_up;
    double seconds = 0;
    try {
        const Stopwatch watch(seconds);
        return fit(options);
    } catch (const factorised::NotWorthIt& found) {
        given_up = found.reason;
    }
    context.note(given_up);
    context.begin_again();
    options.strategy = Strategy::enumerate;
    FitResult result = fit(options);
    result.model.strategy_reason += "; " + given_up;
    result.timings.insert(result.timings.begin(), {"factorising, given up", seconds});
    return result;
}

double sketching_seconds(const Join& join, const Options& options, RunContext& context) {
    return sketching_nanoseconds(join, options) * 1e-9 / context.threads();
}

} // namespace btml::boosting
