#include "core/kernel/pilot.hpp"

#include "core/base/rng.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace btml::kernel {

namespace {

constexpr size_t pilot_queries = QueryGroup::most_queries;
constexpr double sampling_margin = 1.3; // for the sample that sizes the others, and for those being uneven
constexpr double most_least = 0.4;      // of the keys in the smallest sample

struct Worker {
    Worker(const KeySet& keys, size_t columns, MemoryBudget& budget)
        : group(keys.distinct.frame, columns, budget), queries(keys.distinct.frame, budget) {}
    QueryGroup group;
    FramedQueries queries;
};

class Pilot {
  public:
    Pilot(const KeySet& keys, const Estimand& estimand, const QueryGroups& groups, const Points& queries, uint64_t seed,
          RunContext& context)
        : keys_(keys),
          estimand_(estimand),
          groups_(groups),
          queries_(queries),
          context_(context),
          points_(queries.dimensions(), context.memory(), "queries of a pilot"),
          sums_(context.memory(), "a pilot"),
          squares_(context.memory(), "a pilot", pilot_queries * keys.tree.leaves()) {
        RandomStream random(seed, 0);
        for (size_t i = 0; i < pilot_queries; i++) {
            const size_t position = random.below(queries.rows());
            of_group_.push_back(groups.group_of(position));
            points_.append({queries.row(groups.rows()[position]), queries.dimensions()});
        }
    }

    void evaluate(const std::function<double(uint32_t)>& importance, ThreadTeam& team);
    Plan plan(const Demand& demand) const;

  private:
    double magnitude() const;
    double typical_square() const;
    double sampling_cost() const; // of a pair, an exact one's being 1

    const KeySet& keys_;
    const Estimand& estimand_;
    const QueryGroups& groups_;
    const Points& queries_;
    RunContext& context_;
    Points points_;
    std::vector<size_t> of_group_;
    Buffer<double> sums_;    // [query][column], in the estimand's units
    Buffer<double> squares_; // [query][leaf]: the variance of a sample of 1 key in n, times 1/n
};

void Pilot::evaluate(const std::function<double(uint32_t)>& importance, ThreadTeam& team) {
    const size_t all_columns = keys_.columns(), columns = estimand_.columns(), squares = estimand_.squares(),
                 leaves = keys_.tree.leaves();
    const Buffer<double> exact = exact_sums(keys_, points_, team, context_);
    sums_.resize(pilot_queries * columns);
    for (size_t i = 0; i < pilot_queries; i++)
        for (size_t c = 0; c < columns; c++)
            sums_[i * columns + c] = exact[i * all_columns + c] / keys_.values.scale(c);
    const BlockValues weights(
        leaves, squares, [&](size_t leaf) { return keys_.tree.keys(leaf); },
        [&](uint32_t key, size_t c) { return estimand_.square(key, c) * importance(key); },
        std::vector<double>(squares, 1.0), team, context_.memory());
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<uint32_t> rows;
    for (size_t i = 0; i < pilot_queries; i++) rows.push_back(static_cast<uint32_t>(i));
    for (int i = 0; i < team.size(); i++) {
        workers.push_back(std::make_unique<Worker>(keys_, squares, context_.memory()));
        workers.back()->group.load(workers.back()->queries.load(points_, rows));
    }
    team.for_each(leaves, [&](size_t leaf, int thread) {
        QueryGroup& group = workers[static_cast<size_t>(thread)]->group;
        group.clear_sums();
        for (size_t tile = 0; tile < group.tiles(); tile++) {
            group.evaluate(tile, keys_.blocks, leaf);
            group.square();
            group.add(tile, leaf, weights);
        }
        std::vector<double> of_leaf(squares);
        for (size_t i = 0; i < pilot_queries; i++) {
            for (size_t c = 0; c < squares; c++) of_leaf[c] = group.sum(i, c);
            squares_[i * leaves + leaf] = estimand_.error(&sums_[i * columns], of_leaf.data());
        }
    });
}

double Pilot::magnitude() const {
    double sum = 0;
    for (size_t i = 0; i < pilot_queries; i++) sum += estimand_.magnitude(&sums_[i * estimand_.columns()]);
    return sum / pilot_queries;
}

double Pilot::sampling_cost() const {
    const auto dimensions = static_cast<double>(queries_.dimensions()), columns = static_cast<double>(keys_.columns());
    constexpr double of_kernel = 14;
    return (dimensions + of_kernel + columns + static_cast<double>(estimand_.squares()) + 2) /
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
Plan Pilot::plan(const Demand& demand) const {
    struct Entry {
        double distance;
        uint32_t query, leaf;
    };
    const size_t leaves = keys_.tree.leaves();
    const auto rows = static_cast<double>(queries_.rows());
    std::vector<Entry> entries;
    std::vector<double> left(pilot_queries, 0.0);
    double sum = 0, squares = 0, evaluated = 0;
    for (uint32_t i = 0; i < pilot_queries; i++) {
        for (uint32_t leaf = 0; leaf < leaves; leaf++) {
            entries.push_back({groups_.distance(of_group_[i], leaf), i, leaf});
            left[i] += squares_[i * leaves + leaf];
        }
        sum += left[i];
        squares += left[i] * left[i];
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.distance < b.distance; });
    Plan best;
    best.magnitude = magnitude();
    best.allowed = demand.budget * rows * (demand.relative ? best.magnitude : 1);
    // A sample that sees, at this confidence, one of the pairs, if as many were missed as the error has room for.
    best.least = std::min(-std::log(1 - demand.confidence) * typical_square() / best.allowed, most_least);
    best.cost = std::numeric_limits<double>::max();
    for (size_t i = 0; i < entries.size(); i++) {
        double& of_query = left[entries[i].query];
        const double before = of_query;
        of_query = std::max(0.0, of_query - squares_[entries[i].query * leaves + entries[i].leaf]);
        sum += of_query - before;
        squares += of_query * of_query - before * before;
        evaluated += static_cast<double>(keys_.blocks.keys(entries[i].leaf));
        if (i + 1 < entries.size() && entries[i + 1].distance == entries[i].distance) continue;
        // With its standard error: few of these queries may stand for all that have heavy pairs.
        const double variance = (std::max(sum, 0.0) + std::sqrt(std::max(squares, 0.0))) / pilot_queries * rows,
                     fraction = variance / (variance + best.allowed),
                     sampled = sampling_margin * std::max(fraction, best.least) + best.least,
                     near = evaluated / (pilot_queries * static_cast<double>(keys_.rows())),
                     cost = groups_.padding() * (near + sampling_cost() * sampled);
        if (cost < best.cost) {
            best.cost = cost;
            best.near = entries[i].distance;
            best.fraction = fraction;
        }
    }
    best.cost += 2 * static_cast<double>(pilot_queries) / rows;
    return best;
}

} // namespace

Plan plan_sample(const KeySet& keys, const Estimand& estimand, const QueryGroups& groups, const Points& queries,
                 const std::function<double(uint32_t key)>& importance, const Demand& demand, uint64_t seed,
                 ThreadTeam& team, RunContext& context) {
    Pilot pilot(keys, estimand, groups, queries, seed, context);
    pilot.evaluate(importance, team);
    return pilot.plan(demand);
}

} // namespace btml::kernel
