#include "core/kernel/pilot.hpp"

#include "core/kernel/key_sample.hpp"
#include "core/kernel/query_group.hpp"
#include "core/monte_carlo/stratified_mean.hpp"
#include "core/numbers/rng.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace btml::kernel {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr size_t pilot_queries = QueryGroup::max_queries, first_queries = 64; // the latter at a first look
constexpr double sampling_margin = 1.3; // for the sample that sizes the others, and for those being uneven
constexpr uint64_t stream_of_pilot = 0x9170;
constexpr double keys_for_freedom = 4096, keys_at_first_look = 1024;
constexpr double heavy_share = 0.05;     // of a mean's denominator: beyond it one key is no small part
constexpr double min_rest = 1e-3;        // of a denominator in float32 without a key
constexpr double max_min_fraction = 0.4; // of the keys in the smallest sample

// How far the squared error of all queries together may be from its expectation, where they share a sample.
// Tells the degrees of freedom of ‖e‖², e the errors at all queries and targets with covariance C: (tr C)²/tr C². It is
// about tr C·χ²_ν/ν (Satterthwaite). They are 1 where a sample's key moves all results alike, the number of results
// where each key moves its own.
struct ErrorFreedom {
    const KeySet& keys;
    const Estimand& estimand;
    const KeySample& sample; // of about `fraction` of all keys
    double fraction;
    // Tells whether a query and a key of the sample's block, at that place, are no part of what is sampled.
    std::function<bool(size_t query, size_t block, size_t place)> is_exact;

    // Estimated from queries that were drawn at random, with replacement, from all (at least 2; those beyond
    // max_queries are not looked at), and their exact sums: [query][column], in the estimand's units.
    static constexpr size_t max_queries = 64;
    double estimate(const Points& queries, const double* sums, RunContext& context) const;
};

// [query][place among the sample's keys]: what a key adds to the error of one result, in units in which the
// covariance of two of these is the product of their rows.
class Deviations {
  public:
    Deviations(const ErrorFreedom& of, size_t queries, RunContext& context)
        : of_(of),
          places_(of.sample.blocks().blocks() * block_keys),
          values_(context.memory(), "a pilot", queries * places_, 0.0F) {}

    void find(const Points& queries, size_t count, const double* sums, MemoryBudget& budget) {
        const Frame& frame = of_.keys.distinct.frame;
        QueryGroup group(frame, 0, budget);
        std::vector<uint32_t> rows(count);
        std::iota(rows.begin(), rows.end(), 0U);
        group.load(queries, rows);
        const KeyStrata& strata = of_.sample.strata();
        for (size_t stratum = 0; stratum < strata.strata(); stratum++) {
            const size_t keys = strata.sampled(stratum, of_.fraction), begin = of_.sample.first_block(stratum);
            for (size_t tile = 0; tile < group.tiles(); tile++)
                for (size_t k = 0; k < keys; k++) {
                    const size_t block = begin + k / block_keys, place = k % block_keys;
                    if (place == 0) group.evaluate(tile, of_.sample.blocks(), block);
                    for (size_t i = tile * tile_queries; i < std::min(count, (tile + 1) * tile_queries); i++)
                        if (!of_.is_exact(i, block, place))
                            values_[i * places_ + block * block_keys + place] =
                                static_cast<float>(group.values()[i % tile_queries * block_keys + place] *
                                                   deviation(i, sums + i * of_.estimand.columns(), block, place));
                }
            for (size_t i = 0; i < count; i++) centre(i, stratum, keys);
        }
    }

    // Over every second place from the first on.
    double product(size_t a, size_t b, size_t first) const noexcept {
        double sum = 0;
        for (size_t j = first; j < places_; j += 2)
            sum += values_[a * places_ + j] * static_cast<double>(values_[b * places_ + j]);
        return sum;
    }

  private:
    // Takes one target of a mean, which is the query's turn.
    double deviation(size_t query, const double* sums, size_t block, size_t place) const noexcept {
        const BlockValues& values = of_.sample.values();
        const double weight = values.of(block, 0)[place];
        if (!of_.estimand.is_mean()) return weight;
        if (!(sums[0] > 0)) return 0;
        const size_t c = 1 + query % of_.estimand.targets();
        return (values.of(block, c)[place] - sums[c] / sums[0] * weight) / sums[0];
    }

    // Strata are sampled each for itself, at rates of which inflation is the reciprocal.
    void centre(size_t query, size_t stratum, size_t count) noexcept {
        if (count == 0) return;
        const KeyStrata& strata = of_.sample.strata();
        float* const first = values_.data() + query * places_ + of_.sample.first_block(stratum) * block_keys;
        const double mean = std::accumulate(first, first + count, 0.0) / count,
                     unit = std::sqrt(strata.inflation_of(stratum) * strata.keys(stratum) / count);
        for (size_t k = 0; k < count; k++) first[k] = static_cast<float>(unit * (first[k] - mean));
    }

    const ErrorFreedom& of_;
    size_t places_;
    Buffer<float> values_;
};

double ErrorFreedom::estimate(const Points& queries, const double* sums, RunContext& context) const {
    const size_t count = std::min(max_queries, queries.rows());
    Deviations deviations(*this, count, context);
    deviations.find(queries, count, sums, context.memory());
    double variance = 0, covariances = 0; // the squares' mean: halves of the sample err independently of each other
    for (size_t i = 0; i < count; i++) {
        context.poll();
        variance += (deviations.product(i, i, 0) + deviations.product(i, i, 1)) / count;
        for (size_t j = 0; j < i; j++) covariances += 4 * deviations.product(i, j, 0) * deviations.product(i, j, 1);
    }
    covariances /= count * (count - 1) / 2;
    if (!(variance > 0) || !(covariances > 0)) return std::numeric_limits<double>::infinity();
    return std::max(1.0, variance * variance / covariances);
}

// The share of a bound on ‖e‖² that its expectation may be for the bound to hold with this confidence. With many
// degrees of freedom it is 0.49 at a confidence of 0.99: a sample that misses heavy pairs underestimates its own error.
double share_of_budget(double confidence, double degrees_of_freedom) {
    // Wilson and Hilferty's approximation of the quantile of χ²_ν/ν.
    const double spread = 2 / (9 * degrees_of_freedom),
                 quantile = std::pow(1 - spread + monte_carlo::normal_quantile(confidence) * std::sqrt(spread), 3),
                 of_heavy_pairs = 1 + 0.141 * std::sqrt(-2 * std::log(1 - confidence));
    return 1 / (std::max(1.0, quantile) - 1 + of_heavy_pairs * of_heavy_pairs);
}

class Pilot {
  public:
    explicit Pilot(const SampleTask& task) : Pilot(task, &task.groups, pilot_queries) {}
    // A first look, without groups of queries.
    explicit Pilot(const PilotTask& task) : Pilot(task, nullptr, first_queries) {}

    void evaluate() {
        const size_t all_columns = task_.keys.columns(), columns = task_.estimand.columns(),
                     squares = task_.estimand.squares(), leaves = task_.keys.tree.leaves();
        const Buffer<double> exact = exact_sums(task_.keys, points_, task_.team, task_.context);
        sums_.resize(count_ * columns);
        for (size_t i = 0; i < count_; i++)
            for (size_t c = 0; c < columns; c++)
                sums_[i * columns + c] = exact[i * all_columns + c] / task_.keys.values.scale(c);
        // At a first look, of sums, half of the keys say how near a leaf is and the other half how much there is of it.
        const size_t of_weights = groups_ ? squares : 2;
        const BlockValues weights(
            leaves, of_weights, [&](size_t leaf) { return task_.keys.tree.keys(leaf); },
            [&](uint32_t key, size_t c) {
                if (!groups_) return key % 2 == c ? 2 * task_.estimand.square(key, 0) * task_.strata.inflation(key) : 0;
                return task_.estimand.square(key, c) * task_.strata.inflation(key);
            },
            std::vector<double>(of_weights, 1.0), task_.team, task_.context.memory());
        std::vector<QueryGroup> workers =
            QueryGroup::of_team(task_.team, task_.keys.distinct.frame, of_weights, task_.context.memory());
        if (groups_)
            task_.team.for_each(count_, [&](size_t i, int thread) {
                groups_->look(of_group_[i], task_.queries, workers[thread], {&distances_[i * leaves], leaves}, {});
            });
        std::vector<uint32_t> rows(count_);
        std::iota(rows.begin(), rows.end(), 0U);
        for (QueryGroup& group : workers) group.load(points_, rows);
        const std::vector<size_t> own = groups_ ? std::vector<size_t>() : own_leaves();
        task_.team.for_each(leaves, [&](size_t leaf, int thread) {
            QueryGroup& group = workers[thread];
            group.clear_sums();
            for (size_t tile = 0; tile < group.tiles(); tile++) {
                group.evaluate(tile, task_.keys.blocks, leaf);
                if (task_.estimand.is_mean()) add_heavy_pairs(tile, leaf, group.values());
                group.square();
                group.add(tile, leaf, weights);
            }
            std::vector<double> of_leaf(of_weights);
            for (size_t i = 0; i < count_; i++) {
                for (size_t c = 0; c < of_weights; c++) of_leaf[c] = group.sum(i, c);
                squares_[i * leaves + leaf] += task_.estimand.error(&sums_[i * columns], of_leaf.data());
                if (!groups_) distances_[i * leaves + leaf] = leaf == own[i] ? -infinity : -of_leaf[1];
            }
        });
    }

    // Plans for as many degrees of freedom of the errors as could be, until settled_plan() has found out how many.
    // Which leaves are near is for the least cost: from the nearest pairs of a query and a leaf on, what would be left
    // to sampling if all so far were summed exactly.
    Plan plan(const Demand& demand) const {
        struct Entry {
            double distance;
            uint32_t query, leaf;
        };
        const size_t leaves = task_.keys.tree.leaves();
        const double rows = task_.queries.rows();
        Buffer<Entry> entries(task_.context.memory(), "a pilot");
        entries.reserve(count_ * leaves);
        std::vector<double> left(count_, 0.0);
        double sum = 0, squares = 0, evaluated = 0;
        for (uint32_t i = 0; i < count_; i++) {
            task_.context.worked(leaves);
            for (uint32_t leaf = 0; leaf < leaves; leaf++) {
                entries.push_back({distances_[i * leaves + leaf], i, leaf});
                left[i] += squares_[i * leaves + leaf];
            }
            sum += left[i];
            squares += left[i] * left[i];
        }
        std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
            task_.context.worked(1);
            return a.distance < b.distance;
        });
        const double padding = groups_ ? groups_->padding() : 1,
                     caution = std::sqrt(static_cast<double>(count_) / pilot_queries);
        Plan best;
        best.magnitude = magnitude();
        best.allowed = share_of_budget(demand.confidence, degrees_of_freedom_) * demand.budget * rows *
                       (demand.relative ? best.magnitude : 1);
        // A sample that sees, at this confidence, one of the pairs, if as many were missed as the error has room for.
        best.least = std::min(-std::log(1 - demand.confidence) * typical_square() / best.allowed, max_min_fraction);
        best.cost = std::numeric_limits<double>::max();
        for (size_t i = 0; i < entries.size(); i++) {
            task_.context.worked(1);
            double& of_query = left[entries[i].query];
            const double before = of_query;
            of_query = std::max(0.0, of_query - squares_[entries[i].query * leaves + entries[i].leaf]);
            sum += of_query - before;
            squares += of_query * of_query - before * before;
            evaluated += task_.keys.blocks.keys(entries[i].leaf);
            if (i + 1 < entries.size() && entries[i + 1].distance == entries[i].distance) continue;
            // With the standard error of a pilot: few of these queries may stand for all that have heavy pairs.
            const double variance = (std::max(sum, 0.0) + caution * std::sqrt(std::max(squares, 0.0))) / count_ * rows,
                         fraction = variance / (variance + best.allowed),
                         sampled = sampling_margin * std::max(fraction, best.least) + best.least,
                         near = evaluated / (count_ * static_cast<double>(task_.keys.rows())),
                         cost = padding * (near + sampling_cost() * sampled);
            if (cost < best.cost) {
                best.cost = cost;
                best.near_cost = padding * near;
                best.near = entries[i].distance;
                best.fraction = fraction;
            }
        }
        best.cost += 2 * count_ / rows;
        return best;
    }

    Plan settled_plan(const Demand& demand) {
        degrees_of_freedom_ = degrees_of_freedom(plan(demand).near);
        return plan(demand);
    }

  private:
    Pilot(const PilotTask& task, const QueryGroups* groups, size_t count)
        : task_(task),
          groups_(groups),
          count_(count),
          points_(task.queries.dimensions(), task.context.memory(), "queries of a pilot"),
          sums_(task.context.memory(), "a pilot"),
          squares_(task.context.memory(), "a pilot", count * task.keys.tree.leaves(), 0.0),
          distances_(task.context.memory(), "a pilot", count * task.keys.tree.leaves()) {
        RandomStream random(task.seed, stream_of_pilot);
        for (size_t i = 0; i < count; i++) {
            const size_t position = random.below(task.queries.rows());
            if (groups) of_group_.push_back(groups->group_of(position));
            rows_.push_back(groups ? groups->rows()[position] : static_cast<uint32_t>(position));
            points_.append({task.queries.row(rows_.back()), task.queries.dimensions()});
        }
    }

    // Returns the leaves that the queries lead to.
    std::vector<size_t> own_leaves() const {
        std::vector<size_t> leaves;
        std::vector<double> query(points_.dimensions());
        for (size_t i = 0; i < count_; i++) {
            task_.keys.distinct.frame.apply(points_.row(i), query.data());
            leaves.push_back(task_.keys.tree.leaf_of(query.data()));
        }
        return leaves;
    }

    double degrees_of_freedom(double near) const {
        const double fraction = std::min(1.0, (groups_ ? keys_for_freedom : keys_at_first_look) / task_.keys.rows());
        const KeySample sample(task_.keys, task_.estimand, task_.strata, fraction,
                               random_bits(task_.seed, stream_of_pilot, 0), task_.team, task_.context);
        const auto is_exact = [&](size_t i, size_t block, size_t place) {
            return distances_[i * task_.keys.tree.leaves() + sample.leaves(block)[place]] <= near;
        };
        return ErrorFreedom{task_.keys, task_.estimand, sample, fraction, is_exact}.estimate(points_, sums_.data(),
                                                                                             task_.context);
    }

    // The squared error of a query's result where a sample lacks one key. Means without a share p of their denominator
    // err 1/(1 − p) times as much as by the delta method.
    double error_without(size_t i, uint32_t key, double value, std::vector<double>& squares) const {
        const double* const sums = &sums_[i * task_.estimand.columns()];
        for (size_t c = 0; c < squares.size(); c++) squares[c] = value * value * task_.estimand.square(key, c);
        const double error = task_.estimand.error(sums, squares.data());
        if (!task_.estimand.is_mean() || !(sums[0] > 0)) return error;
        const double rest = 1 - value * task_.estimand.value(key, 0) / sums[0];
        return rest > min_rest ? error / (rest * rest) : task_.estimand.spread();
    }

    // Adds what the delta method makes of a tile's queries and a leaf's keys.
    void add_heavy_pairs(size_t tile, size_t leaf, const float* values) {
        const std::span<const uint32_t> keys = task_.keys.tree.keys(leaf);
        std::vector<double> squares(task_.estimand.squares());
        for (size_t q = 0; q < tile_queries; q++) {
            const size_t i = tile * tile_queries + q;
            const double *const sums = &sums_[i * task_.estimand.columns()], heavy = heavy_share * sums[0];
            for (size_t j = 0; j < keys.size(); j++) {
                const double value = values[q * block_keys + j];
                if (!(value > heavy && value * task_.estimand.value(keys[j], 0) > heavy))
                    continue; // values are at most 1
                const double without = error_without(i, keys[j], value, squares);
                squares_[i * task_.keys.tree.leaves() + leaf] +=
                    task_.strata.inflation(keys[j]) *
                    std::max(0.0, without - task_.estimand.error(sums, squares.data()));
            }
        }
    }

    double magnitude() const {
        double sum = 0;
        for (size_t i = 0; i < count_; i++) sum += task_.estimand.magnitude(&sums_[i * task_.estimand.columns()]);
        return sum / count_;
    }

    // The squared error of a result from which a typical pair of kernel 1 is missing.
    double typical_square() const {
        if (task_.estimand.is_mean()) return magnitude();
        double sum = 0;
        for (size_t i = 0; i < task_.keys.rows(); i++) sum += task_.estimand.square(i, 0);
        return sum / task_.keys.rows();
    }

    // an exact pair's being 1
    double sampling_cost() const {
        const double dimensions = task_.queries.dimensions(), columns = task_.keys.columns();
        constexpr double of_kernel = 14;
        return (dimensions + of_kernel + columns + task_.estimand.squares() + 2) / (dimensions + of_kernel + columns);
    }

    const PilotTask& task_;
    const QueryGroups* const groups_;
    const size_t count_; // of queries
    Points points_;
    std::vector<uint32_t> rows_; // among the queries
    std::vector<size_t> of_group_;
    Buffer<double> sums_;      // [query][column], in the estimand's units
    Buffer<double> squares_;   // [query][leaf]: the variance of a sample of 1 key in n, times 1/n
    Buffer<double> distances_; // [query][leaf]: from the query's group; at a first look, minus a sum of squares
    double degrees_of_freedom_ = infinity; // of the sampled sums' errors
};

} // namespace

double min_cost(const PilotTask& task, const Demand& demand) {
    if (demand.relative) return 0;
    Pilot pilot(task);
    pilot.evaluate();
    const double cost = pilot.plan(demand).cost;
    return cost <= demand.worth ? pilot.settled_plan(demand).cost : cost;
}

Plan plan_sample(const SampleTask& task, const Demand& demand) {
    Pilot pilot(task);
    pilot.evaluate();
    Plan plan = pilot.plan(demand);
    return plan.cost <= demand.worth ? pilot.settled_plan(demand) : plan;
}

} // namespace btml::kernel
