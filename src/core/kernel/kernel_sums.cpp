#include "core/kernel/kernel_sums.hpp"

#include "core/kernel/device_sums.hpp"
#include "core/kernel/key_set.hpp"
#include "core/kernel/pilot.hpp"
#include "core/kernel/sums_memory.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

namespace btml::kernel {

namespace {

constexpr double few_pairs = 1e8; // not worth a pilot
constexpr double min_gain = 0.75; // sampling that costs more than this of exact sums is not worth its error
constexpr double max_relative_variance = 0.05; // of a mean's denominator

// A key whose kernel is 2^−60 of the nearest one's no longer counts, however many there are.
constexpr double negligible = 60;

// Sums at a query so far from every key that the tiles' float32 has lost them: in double, by the nearest keys first.
class FarSums {
  public:
    // Keeps a reference. One thread's workspace.
    explicit FarSums(const KeySet& keys)
        : keys_(keys), query_(keys.distinct.points.dimensions()), sums_(keys.distinct.columns) {}

    // Sums at a query in the frame's coordinates. Afterwards column c sums to sum(c)·2^−exponent(); under a compact
    // kernel sum(c) is over the nearest keys, each as much as it weighs.
    void find(const double* of_query) {
        approach(of_query);
        const double* const query = query_.data();
        candidates_.clear();
        for (size_t block = 0; block < keys_.blocks.blocks(); block++)
            candidates_.push_back({bound_of(query, block), block});
        std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
            return a.bound != b.bound ? a.bound < b.bound : a.block < b.block;
        });
        exponent_ = std::numeric_limits<double>::max();
        std::fill(sums_.begin(), sums_.end(), 0.0);
        for (const Candidate& candidate : candidates_) {
            if (candidate.bound > exponent_ + negligible) break;
            for (const uint32_t key : keys_.tree.keys(candidate.block))
                add(key, keys_.distinct.frame.exponent(query, keys_.distinct.points.row(key)));
        }
    }
    double exponent() const noexcept { return exponent_; }
    double sum(size_t column) const noexcept { return sums_[column]; }

  private:
    struct Candidate {
        double bound; // no key of the block has a smaller exponent
        size_t block;
    };
    // Beyond this distance sums of differences in double do not tell keys apart, or overflow. The nearest keys are
    // those of a point nearer by: keys are within 10^12 of the origin.
    void approach(const double* query) {
        constexpr double farthest = 1e14, finite = 1e300;
        query_.assign(query, query + query_.size());
        double largest = 0;
        for (double& x : query_) largest = std::max(largest, std::abs(x = std::clamp(x, -finite, finite)));
        if (largest <= farthest) return;
        for (double& x : query_) x = keys_.distinct.frame.kernel.approach(x, largest, farthest);
    }

    void add(uint32_t key, double exponent) {
        const bool nearest_only = keys_.distinct.frame.kernel.is_compact;
        double factor = 1;
        if (exponent < exponent_) {
            const double rescale = nearest_only ? 0 : std::exp2(exponent - exponent_);
            for (double& sum : sums_) sum *= rescale;
            exponent_ = exponent;
        } else if (nearest_only) {
            factor = exponent == exponent_;
        } else {
            factor = std::exp2(exponent_ - exponent);
        }
        if (factor == 0) return;
        for (size_t c = 0; c < sums_.size(); c++) sums_[c] += factor * keys_.value(key, c);
    }

    double bound_of(const double* query, size_t block) const {
        const Frame& frame = keys_.distinct.frame;
        const double from_centre = frame.kernel.distance(frame.sum(query, keys_.blocks.centre(block))),
                     nearest = std::max(0.0, from_centre - keys_.blocks.radius(block));
        return frame.kernel.exponent(frame.kernel.sum_at(nearest) * (1 - 1e-9));
    }

    const KeySet& keys_;
    std::vector<Candidate> candidates_;
    std::vector<double> query_, sums_;
    double exponent_ = 0;
};

// No sum can then overflow: kernels are at most 1.
void check_totals(const Keys& keys) {
    for (size_t c = 0; c < keys.columns; c++) {
        double total = 0;
        for (size_t i = 0; i < keys.rows(); i++) total += std::abs(keys.values[i * keys.columns + c]);
        if (!std::isfinite(total))
            throw Error(ErrorCode::out_of_range, "the keys' weights or values add up to more than a number can hold",
                        {}, "Divide them by a constant.");
    }
}

void check_keys(const Keys& keys, Quantity quantity) {
    if (keys.rows() == 0) throw Error(ErrorCode::invalid_argument, "there are no keys");
    const size_t least = quantity == Quantity::mean ? 2 : 1;
    if (keys.columns < least)
        throw Error(ErrorCode::invalid_argument,
                    format("keys have %zu values, at least %zu are needed", keys.columns, least));
    check_totals(keys);
    if (quantity == Quantity::sum) return;
    double total = 0;
    for (size_t i = 0; i < keys.rows(); i++) {
        const double weight = keys.values[i * keys.columns];
        if (weight < 0)
            throw Error(ErrorCode::invalid_argument,
                        format("row %zu of the keys has the negative weight %s", i + 1, shortest(weight).c_str()), {},
                        "Only sums may have negative weights.");
        total += weight;
    }
    if (!(total > 0))
        throw Error(ErrorCode::invalid_argument,
                    format("the keys' weights sum to %s, not to a positive number", shortest(total).c_str()));
}

// Returns what body does, of which nobody knows what part of the call it will be.
template <class Body>
auto unshared(RunContext& context, const Body& body) {
    const Share unknown(context, 0, 0);
    return body();
}

double total_weight(const DistinctKeys& keys) {
    double total = 0;
    for (size_t i = 0; i < keys.rows(); i++) total += keys.values[i * keys.columns];
    return total;
}

bool signs_differ(const DistinctKeys& keys) {
    bool negative = false, positive = false;
    for (size_t i = 0; i < keys.rows(); i++) (keys.values[i * keys.columns] < 0 ? negative : positive) = true;
    return negative && positive;
}

} // namespace

struct KernelSums::State {
    State(Keys keys, Quantity quantity_, const Options& options_, RunContext& context_)
        : quantity(quantity_), options(options_), context(context_), team(context_) {
        options.check();
        check_keys(keys, quantity);
        dimensions = keys.points.dimensions();
        context.memory().require(
            bytes_to_prepare({keys.rows(), 0, dimensions, keys.columns, quantity == Quantity::mean, team.size()}),
            "the keys of kernel sums");
        results = quantity == Quantity::mean ? keys.columns - 1 : 1;
        DistinctKeys distinct = merge_equal_keys(std::move(keys), options, context);
        if (distinct.rows() == 0) return; // every weight is 0: so is every sum
        if (quantity == Quantity::density)
            log_normaliser =
                std::log(total_weight(distinct)) + distinct.frame.log_integral() + distinct.frame.log_volume;
        const bool magnitudes = quantity == Quantity::sum && signs_differ(distinct);
        set = std::make_unique<KeySet>(std::move(distinct), magnitudes, team, context);
        device = device::opened(context, [&](const device::Library& library) {
            return std::make_unique<DeviceSums>(library, *set, context);
        });
    }

    SumSizes sizes(size_t queries) const {
        return {set->rows(), queries, dimensions, set->columns(), quantity == Quantity::mean, team.size()};
    }

    // Tells whether a query's sums in float32 have lost keys that matter.
    bool is_far(const double* sums) const {
        const size_t mass = set->magnitudes ? set->columns() - 1 : 0;
        return is_far_mass(sums[mass] / set->values.scale(mass));
    }
    bool is_far_mass(double scaled) const {
        const KernelFacts& kernel = set->distinct.frame.kernel;
        if (kernel.is_compact) return quantity == Quantity::mean && scaled <= 0;
        constexpr double digits = 0x1p20;
        return std::abs(scaled) < set->rows() * (digits * kernel.least);
    }
    // Returns what the quantity makes of sums that are to be multiplied by 2^−exponent.
    template <class Sum>
    void finish(const Sum& sum, double exponent, double* values) const {
        if (quantity == Quantity::mean)
            for (size_t c = 0; c < results; c++) values[c] = sum(c + 1) / sum(0);
        else if (quantity == Quantity::density)
            values[0] = sum(0) > 0 ? std::exp(std::log(sum(0)) - exponent * std::numbers::ln2 - log_normaliser) : 0;
        else
            values[0] = exponent == 0 ? sum(0) : sum(0) * std::exp2(-exponent);
    }
    Estimates evaluate(const Points& queries, uint64_t all);
    Estimates exact(const Points& queries, std::string reason);
    Estimates sampled(const Points& queries, const SampledSums& sums, const Estimand& estimand, const Plan& plan,
                      double norm);
    void sum_exactly(const Points& queries, const Buffer<uint32_t>& rows, Estimates& estimates);
    Buffer<double> all_sums(const Points& queries);
    void find_far(const Points& queries, const Buffer<uint32_t>& rows, Estimates& estimates);
    Estimates nothing(size_t rows) {
        return {results,
                Buffer<double>(context.memory(), "estimates", rows * results, 0.0),
                Buffer<double>(context.memory(), "estimates", rows, 0.0),
                {}};
    }

    Quantity quantity;
    Options options;
    RunContext& context;
    ThreadTeam team;
    size_t dimensions = 0, results = 0;
    double log_normaliser = 0;          // of densities
    std::unique_ptr<KeySet> set;        // none when every weight is 0
    std::unique_ptr<DeviceSums> device; // none: the processor sums
};

// all: the queries that these are a part of.
Estimates KernelSums::State::evaluate(const Points& queries, uint64_t all) {
    const double rows = queries.rows(), pairs = rows * set->rows();
    if (options.method == Method::exact) return exact(queries, "exact sums were asked for");
    if (options.method == Method::automatic && device) return exact(queries, "a CUDA device evaluates them");
    if (options.method == Method::automatic && pairs < few_pairs) return exact(queries, "there are few pairs");
    const uint64_t bytes = bytes_to_sample(sizes(queries.rows()));
    if (options.method == Method::automatic && bytes > context.memory().left())
        return exact(queries, "a sample would not fit in memory");
    context.memory().require(bytes, "sampled kernel sums");
    const Estimand estimand(quantity, *set);
    const KeyStrata strata(*set, estimand, context);
    const bool relative = quantity != Quantity::sum;
    const double norm = set->distinct.norm / set->values.scale(0), share = norm * norm / all;
    const bool automatic = options.method == Method::automatic;
    const Demand demand{options.epsilon * options.epsilon * (relative ? 1 : share), relative, options.confidence,
                        automatic ? min_gain : std::numeric_limits<double>::infinity()};
    const PilotTask looked_at{*set, estimand, strata, queries, options.seed, team, context};
    const double least = automatic ? unshared(context, [&] { return min_cost(looked_at, demand); }) : 0;
    if (least > demand.worth)
        return exact(queries, format("sampling would cost %.2g times as much as exact sums or more", least));
    const QueryGroups groups(*set, queries, team, context);
    const SampleTask task{looked_at, groups};
    const Plan plan = unshared(context, [&] { return plan_sample(task, demand); });
    if (plan.cost > demand.worth)
        return exact(queries, format("sampling would cost %.2g times as much as exact sums", plan.cost));
    return sampled(queries, sampled_sums(task, plan), estimand, plan,
                   std::sqrt(rows * (relative ? plan.magnitude : share)));
}

// norm: of the errors, relative to which epsilon is.
Estimates KernelSums::State::sampled(const Points& queries, const SampledSums& sampled, const Estimand& estimand,
                                     const Plan& plan, double norm) {
    Estimates estimates = nothing(queries.rows());
    const size_t columns = estimand.columns(), squares = estimand.squares();
    const double unit = quantity == Quantity::mean      ? set->values.scale(1) / set->values.scale(0)
                        : quantity == Quantity::density ? std::exp(std::log(set->values.scale(0)) - log_normaliser)
                                                        : set->values.scale(0);
    Buffer<uint32_t> unsure(context.memory(), "queries to sum exactly");
    for (size_t i = 0; i < queries.rows(); i++) {
        const double *const sums = &sampled.sums[i * columns], *const variances = &sampled.squares[i * squares];
        // Of a ratio whose denominator is hardly known neither the value nor the error is.
        if (quantity == Quantity::mean &&
            (is_far_mass(sums[0]) || variances[0] > max_relative_variance * sums[0] * sums[0])) {
            unsure.push_back(i);
            continue;
        }
        finish([&](size_t c) { return sums[c] * set->values.scale(c); }, 0, &estimates.values[i * results]);
        estimates.std_errors[i] = unit * std::sqrt(sampled.errors[i] / results);
    }
    sum_exactly(queries, unsure, estimates);
    estimates.report = {Method::sampled, format("sampling costs about %.2g of exact sums", plan.cost), set->rows(),
                        sampled.evaluated + unsure.size() / static_cast<double>(queries.rows()),
                        std::sqrt(sampled.error) / norm};
    return estimates;
}

void KernelSums::State::sum_exactly(const Points& queries, const Buffer<uint32_t>& rows, Estimates& estimates) {
    if (rows.empty()) return;
    Points some(dimensions, context.memory(), "queries");
    some.reserve(rows.size());
    for (const uint32_t row : rows) some.append({queries.row(row), dimensions});
    const Estimates exact_ones = exact(some, {});
    for (size_t i = 0; i < rows.size(); i++)
        std::copy_n(&exact_ones.values[i * results], results, &estimates.values[rows[i] * results]);
}

Estimates KernelSums::State::exact(const Points& queries, std::string reason) {
    context.memory().require(bytes_to_sum_exactly(sizes(queries.rows())) +
                                 (device ? DeviceSums::bytes(queries.rows(), dimensions) : 0),
                             "exact kernel sums");
    Estimates estimates = nothing(queries.rows());
    const bool asks_device = device != nullptr;
    const Buffer<double> sums = all_sums(queries);
    if (asks_device && !device) reason = "the CUDA device failed";
    constexpr const char* what = "queries far from every key";
    Buffer<uint8_t> is_far_one(context.memory(), what, queries.rows());
    for_each_row(queries.rows(), team, [&](size_t i, int) {
        const double* const of_row = &sums[i * set->columns()];
        is_far_one[i] = is_far(of_row);
        if (!is_far_one[i]) finish([&](size_t c) { return of_row[c]; }, 0, &estimates.values[i * results]);
    });
    Buffer<uint32_t> far(context.memory(), what);
    for (size_t i = 0; i < queries.rows(); i++)
        if (is_far_one[i]) far.push_back(i);
    find_far(queries, far, estimates);
    estimates.report = {Method::exact, std::move(reason), set->rows(), 1, 0};
    return estimates;
}

Buffer<double> KernelSums::State::all_sums(const Points& queries) {
    std::optional<Buffer<double>> sums;
    if (device && !device::attempt(context, [&] { sums = device->sums(queries, team); })) device.reset();
    return sums ? std::move(*sums) : exact_sums(*set, queries, team, context);
}

void KernelSums::State::find_far(const Points& queries, const Buffer<uint32_t>& rows, Estimates& estimates) {
    std::vector<FarSums> finders(team.size(), FarSums(*set));
    team.for_each(rows.size(), [&](size_t item, int thread) {
        FarSums& finder = finders[thread];
        std::vector<double> query(dimensions);
        set->distinct.frame.apply(queries.row(rows[item]), query.data());
        finder.find(query.data());
        finish([&](size_t c) { return finder.sum(c); }, set->distinct.frame.kernel.is_compact ? 0 : finder.exponent(),
               &estimates.values[rows[item] * results]);
        estimates.std_errors[rows[item]] = 0;
    });
}

KernelSums::KernelSums(Keys keys, Quantity quantity, const Options& options, RunContext& context)
    : state_(std::make_unique<State>(std::move(keys), quantity, options, context)) {}
KernelSums::~KernelSums() = default;
KernelSums::KernelSums(KernelSums&&) noexcept = default;

Estimates KernelSums::evaluate(const Points& queries, uint64_t all) {
    if (queries.dimensions() != state_->dimensions)
        throw Error(ErrorCode::invalid_argument,
                    format("queries have %zu coordinates, keys have %zu", queries.dimensions(), state_->dimensions));
    if (!state_->set || queries.rows() == 0) {
        Estimates none = state_->nothing(queries.rows());
        none.report.reason = state_->set ? "there are no queries" : "every weight is 0";
        return none;
    }
    return state_->evaluate(queries, std::max<uint64_t>(all, queries.rows()));
}

uint64_t KernelSums::queries_that_fit(uint64_t wanted, uint64_t bytes_of_query) const {
    if (!state_->set) return 0;
    const uint64_t left = state_->context.memory().left();
    while (wanted > 0 && wanted * bytes_of_query + bytes_to_sample(state_->sizes(wanted)) > left)
        wanted = wanted * 7 / 8;
    return wanted;
}

} // namespace btml::kernel
