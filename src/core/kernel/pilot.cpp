#include "core/kernel/pilot.hpp"

#include "core/base/rng.hpp"
#include "core/kernel/error_freedom.hpp"
#include "core/kernel/sums_memory.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

namespace btml::kernel {

namespace {

constexpr size_t pilot_queries = QueryGroup::max_queries;
constexpr double sampling_margin = 1.3; // for the sample that sizes the others, and for those being uneven
constexpr uint64_t stream_of_pilot = 0x9170;
constexpr double worth_of_trees = 0.5; // of the plan's cost without them
constexpr double min_found = 0.1;      // of what is left to sampling, by one tree
constexpr double keys_for_freedom = 4096;
constexpr double heavy_share = 0.05;     // of a mean's denominator: beyond it one key is no small part
constexpr double min_rest = 1e-3;        // of a denominator in float32 without a key
constexpr double max_min_fraction = 0.4; // of the keys in the smallest sample

struct Worker {
    Worker(const KeySet& keys, size_t columns, MemoryBudget& budget)
        : group(keys.distinct.frame, columns, budget),
          queries(keys.distinct.frame, budget),
          squares(keys.tree.leaves()) {}
    QueryGroup group;
    FramedQueries queries;
    std::vector<double> squares; // by leaf
};

class Pilot {
  public:
    Pilot(const KeySet& keys, const Estimand& estimand, const KeyStrata& strata, const QueryGroups& groups,
          const Points& queries, uint64_t seed, RunContext& context)
        : keys_(keys),
          estimand_(estimand),
          strata_(strata),
          groups_(groups),
          queries_(queries),
          context_(context),
          points_(queries.dimensions(), context.memory(), "queries of a pilot"),
          sums_(context.memory(), "a pilot"),
          squares_(context.memory(), "a pilot", pilot_queries * keys.tree.leaves(), 0.0),
          distances_(context.memory(), "a pilot", pilot_queries * keys.tree.leaves()) {
        RandomStream random(seed, stream_of_pilot);
        for (size_t i = 0; i < pilot_queries; i++) {
            const size_t position = random.below(queries.rows());
            of_group_.push_back(groups.group_of(position));
            rows_.push_back(groups.rows()[position]);
            points_.append({queries.row(rows_.back()), queries.dimensions()});
        }
    }

    void evaluate(ThreadTeam& team);
    // From then on, pairs that meet in the trees are no part of what is left to sampling. The share that they were, the
    // groups' own leaves aside.
    double remove_pairs(const RandomTrees& trees);
    // of_pair: what the sample of a pair costs more, in units of a coordinate. unmet: the share that trees not yet
    // built would leave to sampling.
    Plan plan(const Demand& demand, double of_pair, double unmet = 1) const;
    // That for the degrees of freedom of the errors it leaves, with these trees or null.
    Plan settled_plan(const Demand& demand, const RandomTrees* trees, uint64_t seed, ThreadTeam& team);
    double cost_of_trees() const;

  private:
    double degrees_of_freedom(double near, const RandomTrees* trees, uint64_t seed, ThreadTeam& team) const;
    double error_without(size_t i, uint32_t key, double value, std::vector<double>& squares) const;
    void add_heavy_pairs(size_t tile, size_t leaf, const float* values);
    double magnitude() const;
    double typical_square() const;
    double sampling_cost(double of_pair) const; // an exact pair's being 1

    const KeySet& keys_;
    const Estimand& estimand_;
    const KeyStrata& strata_;
    const QueryGroups& groups_;
    const Points& queries_;
    RunContext& context_;
    Points points_;
    std::vector<uint32_t> rows_; // among the queries
    std::vector<size_t> of_group_;
    Buffer<double> sums_;      // [query][column], in the estimand's units
    Buffer<double> squares_;   // [query][leaf]: the variance of a sample of 1 key in n, times 1/n
    Buffer<double> distances_; // [query][leaf]: from the query's group
    double degrees_of_freedom_ = std::numeric_limits<double>::infinity(); // of the sampled sums' errors
};

void Pilot::evaluate(ThreadTeam& team) {
    const size_t all_columns = keys_.columns(), columns = estimand_.columns(), squares = estimand_.squares(),
                 leaves = keys_.tree.leaves();
    const Buffer<double> exact = exact_sums(keys_, points_, team, context_);
    sums_.resize(pilot_queries * columns);
    for (size_t i = 0; i < pilot_queries; i++)
        for (size_t c = 0; c < columns; c++)
            sums_[i * columns + c] = exact[i * all_columns + c] / keys_.values.scale(c);
    const BlockValues weights(
        leaves, squares, [&](size_t leaf) { return keys_.tree.keys(leaf); },
        [&](uint32_t key, size_t c) { return estimand_.square(key, c) * strata_.inflation(key); },
        std::vector<double>(squares, 1.0), team, context_.memory());
    std::vector<std::unique_ptr<Worker>> workers;
    for (int i = 0; i < team.size(); i++)
        workers.push_back(std::make_unique<Worker>(keys_, squares, context_.memory()));
    team.for_each(pilot_queries, [&](size_t i, int thread) {
        Worker& worker = *workers[static_cast<size_t>(thread)];
        groups_.look(of_group_[i], queries_, worker.queries, worker.group,
                     {{&distances_[i * leaves], leaves}, worker.squares});
    });
    std::vector<uint32_t> rows(pilot_queries);
    std::iota(rows.begin(), rows.end(), 0U);
    for (const auto& worker : workers) worker->group.load(worker->queries.load(points_, rows));
    team.for_each(leaves, [&](size_t leaf, int thread) {
        QueryGroup& group = workers[static_cast<size_t>(thread)]->group;
        group.clear_sums();
        for (size_t tile = 0; tile < group.tiles(); tile++) {
            group.evaluate(tile, keys_.blocks, leaf);
            if (estimand_.is_mean()) add_heavy_pairs(tile, leaf, group.values());
            group.square();
            group.add(tile, leaf, weights);
        }
        std::vector<double> of_leaf(squares);
        for (size_t i = 0; i < pilot_queries; i++) {
            for (size_t c = 0; c < squares; c++) of_leaf[c] = group.sum(i, c);
            squares_[i * leaves + leaf] += estimand_.error(&sums_[i * columns], of_leaf.data());
        }
    });
}

// The squared error of a query's result where a sample lacks one key. Means without a share p of their denominator err
// 1/(1 − p) times as much as by the delta method.
double Pilot::error_without(size_t i, uint32_t key, double value, std::vector<double>& squares) const {
    const double* const sums = &sums_[i * estimand_.columns()];
    for (size_t c = 0; c < squares.size(); c++) squares[c] = value * value * estimand_.square(key, c);
    const double error = estimand_.error(sums, squares.data());
    if (!estimand_.is_mean() || !(sums[0] > 0)) return error;
    const double rest = 1 - value * estimand_.value(key, 0) / sums[0];
    return rest > min_rest ? error / (rest * rest) : estimand_.spread();
}

// To what the delta method makes of a tile's queries and a leaf's keys.
void Pilot::add_heavy_pairs(size_t tile, size_t leaf, const float* values) {
    const std::span<const uint32_t> keys = keys_.tree.keys(leaf);
    std::vector<double> squares(estimand_.squares());
    for (size_t q = 0; q < tile_queries; q++) {
        const size_t i = tile * tile_queries + q;
        const double *const sums = &sums_[i * estimand_.columns()], heavy = heavy_share * sums[0];
        for (size_t j = 0; j < keys.size(); j++) {
            const auto value = static_cast<double>(values[q * block_keys + j]);
            if (!(value > heavy && value * estimand_.value(keys[j], 0) > heavy)) continue; // values are at most 1
            const double without = error_without(i, keys[j], value, squares);
            squares_[i * keys_.tree.leaves() + leaf] +=
                strata_.inflation(keys[j]) * std::max(0.0, without - estimand_.error(sums, squares.data()));
        }
    }
}

double Pilot::remove_pairs(const RandomTrees& trees) {
    const Frame& frame = keys_.distinct.frame;
    const size_t leaves = keys_.tree.leaves();
    std::vector<double> query(points_.dimensions()), of_pair(estimand_.squares());
    double all = 0, removed = 0;
    for (size_t i = 0; i < pilot_queries; i++) {
        context_.poll();
        const size_t own = groups_.leaf(of_group_[i]);
        for (size_t leaf = 0; leaf < leaves; leaf++)
            if (leaf != own) all += squares_[i * leaves + leaf];
        frame.apply(points_.row(i), query.data());
        for (size_t t = 0; t < trees.trees(); t++)
            for (const uint32_t key : trees.keys(t, trees.of_query(t, rows_[i]))) {
                if (trees.leaf(key) == own || trees.met_before(t, rows_[i], key)) continue;
                const double value = frame.value(query.data(), keys_.distinct.points.row(key));
                double& left = squares_[i * leaves + trees.leaf(key)];
                const double part = std::min(left, strata_.inflation(key) * error_without(i, key, value, of_pair));
                removed += part;
                left -= part;
                if (left < 1e-6 * part) left = 0; // what float32 leaves of a difference
            }
    }
    return all > 0 ? removed / all : 0;
}

// Building the trees and packing their leaves, leading the queries through them and summing over the pairs, as measured
// in nanoseconds.
double Pilot::cost_of_trees() const {
    const auto rows = static_cast<double>(queries_.rows()), keys = static_cast<double>(keys_.rows()),
               dimensions = static_cast<double>(queries_.dimensions());
    const double levels = std::max(1.0, std::log2(keys / RandomTrees::leaf_keys)), exact = 0.02 * (dimensions + 14),
                 of_key = levels * (40 + 2 * dimensions) + 4 * dimensions,
                 of_query = levels * (20 + dimensions) + 2 * dimensions,
                 of_pairs = static_cast<double>(RandomTrees::leaf_keys) * (exact + 1);
    return static_cast<double>(RandomTrees::max_trees) * (keys * of_key + rows * (of_query + of_pairs)) /
           (rows * keys * exact);
}

double Pilot::magnitude() const {
    double sum = 0;
    for (size_t i = 0; i < pilot_queries; i++) sum += estimand_.magnitude(&sums_[i * estimand_.columns()]);
    return sum / pilot_queries;
}

double Pilot::sampling_cost(double of_pair) const {
    const auto dimensions = static_cast<double>(queries_.dimensions()), columns = static_cast<double>(keys_.columns());
    constexpr double of_kernel = 14;
    return (dimensions + of_kernel + columns + static_cast<double>(estimand_.squares()) + 2 + of_pair) /
           (dimensions + of_kernel + columns);
}

// The squared error of a result from which a typical pair of kernel 1 is missing.
double Pilot::typical_square() const {
    if (estimand_.is_mean()) return magnitude();
    double sum = 0;
    for (size_t i = 0; i < keys_.rows(); i++) sum += estimand_.square(static_cast<uint32_t>(i), 0);
    return sum / static_cast<double>(keys_.rows());
}

// Which leaves are near is for the least cost: from the nearest pairs of a query and a leaf on, what would be left to
// sampling if all so far were summed exactly.
Plan Pilot::plan(const Demand& demand, double of_pair, double unmet) const {
    struct Entry {
        double distance;
        uint32_t query, leaf;
    };
    const size_t leaves = keys_.tree.leaves();
    const auto rows = static_cast<double>(queries_.rows());
    Buffer<Entry> entries(context_.memory(), "a pilot");
    entries.reserve(pilot_queries * leaves);
    std::vector<double> left(pilot_queries, 0.0);
    double sum = 0, squares = 0, evaluated = 0;
    for (uint32_t i = 0; i < pilot_queries; i++) {
        context_.worked(leaves);
        for (uint32_t leaf = 0; leaf < leaves; leaf++) {
            entries.push_back({distances_[i * leaves + leaf], i, leaf});
            left[i] += unmet * squares_[i * leaves + leaf];
        }
        sum += left[i];
        squares += left[i] * left[i];
    }
    std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
        context_.worked(1);
        return a.distance < b.distance;
    });
    const double padding = groups_.padding();
    Plan best;
    best.magnitude = magnitude();
    best.allowed = share_of_budget(demand.confidence, degrees_of_freedom_) * demand.budget * rows *
                   (demand.relative ? best.magnitude : 1);
    // A sample that sees, at this confidence, one of the pairs, if as many were missed as the error has room for.
    best.least = std::min(-std::log(1 - demand.confidence) * typical_square() / best.allowed, max_min_fraction);
    best.cost = std::numeric_limits<double>::max();
    for (size_t i = 0; i < entries.size(); i++) {
        context_.worked(1);
        double& of_query = left[entries[i].query];
        const double before = of_query;
        of_query = std::max(0.0, of_query - unmet * squares_[entries[i].query * leaves + entries[i].leaf]);
        sum += of_query - before;
        squares += of_query * of_query - before * before;
        evaluated += static_cast<double>(keys_.blocks.keys(entries[i].leaf));
        if (i + 1 < entries.size() && entries[i + 1].distance == entries[i].distance) continue;
        // With its standard error: few of these queries may stand for all that have heavy pairs.
        const double variance = (std::max(sum, 0.0) + std::sqrt(std::max(squares, 0.0))) / pilot_queries * rows,
                     fraction = variance / (variance + best.allowed),
                     sampled = sampling_margin * std::max(fraction, best.least) + best.least,
                     near = evaluated / (pilot_queries * static_cast<double>(keys_.rows())),
                     cost = padding * (near + sampling_cost(of_pair) * sampled);
        if (cost < best.cost) {
            best.cost = cost;
            best.near = entries[i].distance;
            best.fraction = fraction;
        }
    }
    best.cost += 2 * static_cast<double>(pilot_queries) / rows;
    return best;
}

double Pilot::degrees_of_freedom(double near, const RandomTrees* trees, uint64_t seed, ThreadTeam& team) const {
    const double fraction = std::min(1.0, keys_for_freedom / static_cast<double>(keys_.rows()));
    const KeySample sample(keys_, estimand_, strata_, trees, fraction, random_bits(seed, stream_of_pilot, 0), team,
                           context_);
    const auto is_exact = [&](size_t i, size_t block, size_t place) {
        if (distances_[i * keys_.tree.leaves() + sample.leaves(block)[place]] <= near) return true;
        for (size_t t = 0; trees && t < trees->trees(); t++)
            if (sample.marks(t, block)[place] == trees->of_query(t, rows_[i])) return true;
        return false;
    };
    return ErrorFreedom{keys_, estimand_, sample, fraction, is_exact}.estimate(points_, sums_.data(), context_);
}

Plan Pilot::settled_plan(const Demand& demand, const RandomTrees* trees, uint64_t seed, ThreadTeam& team) {
    const double of_pair = trees ? 2 * static_cast<double>(trees->trees()) : 0;
    degrees_of_freedom_ = degrees_of_freedom(plan(demand, of_pair).near, trees, seed, team);
    return plan(demand, of_pair);
}

} // namespace

Plan plan_sample(const KeySet& keys, const Estimand& estimand, const QueryGroups& groups, const Points& queries,
                 const KeyStrata& strata, const Demand& demand, uint64_t seed, ThreadTeam& team, RunContext& context) {
    Pilot pilot(keys, estimand, strata, groups, queries, seed, context);
    pilot.evaluate(team);
    Plan plan = pilot.settled_plan(demand, nullptr, seed, team);
    const double cost = pilot.cost_of_trees();
    const SumSizes sizes{keys.rows(),    queries.rows(),     queries.dimensions(),
                         keys.columns(), estimand.is_mean(), team.size()};
    if (cost > worth_of_trees * std::min(plan.cost, 1.0) ||
        bytes_of_random_trees(sizes) + bytes_to_sample(sizes) > context.memory().left())
        return plan;
    constexpr auto trees_of_all = static_cast<double>(RandomTrees::max_trees);
    // One tree shows what all of them may find.
    const RandomTrees first(keys, queries, 1, seed, team, context);
    const double unmet = 1 - pilot.remove_pairs(first);
    const Plan hoped_for = pilot.plan(demand, 2 * trees_of_all, std::pow(unmet, trees_of_all - 1));
    if (unmet > 1 - min_found || hoped_for.cost + cost >= plan.cost) return plan;
    auto trees = std::make_unique<RandomTrees>(keys, queries, RandomTrees::max_trees, seed, team, context);
    pilot.remove_pairs(*trees);
    Plan with_trees = pilot.settled_plan(demand, trees.get(), seed, team);
    with_trees.cost += cost;
    if (with_trees.cost >= plan.cost) return plan;
    with_trees.trees = std::move(trees);
    return with_trees;
}

} // namespace btml::kernel
