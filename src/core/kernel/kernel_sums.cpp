#include "core/kernel/kernel_sums.hpp"

#include "core/kernel/exact_sums.hpp"
#include "core/kernel/far_sums.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace btml::kernel {

namespace {

void check_keys(const Keys& keys, Quantity quantity) {
    if (keys.rows() == 0) throw Error(ErrorCode::invalid_argument, "there are no keys");
    const size_t least = quantity == Quantity::mean ? 2 : 1;
    if (keys.columns < least)
        throw Error(ErrorCode::invalid_argument,
                    format("keys have %zu values, at least %zu are needed", keys.columns, least));
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
    if (!(total > 0 && std::isfinite(total)))
        throw Error(ErrorCode::invalid_argument,
                    format("the keys' weights sum to %s, not to a positive number", shortest(total).c_str()));
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
        results = quantity == Quantity::mean ? keys.columns - 1 : 1;
        DistinctKeys distinct = merge_equal_keys(std::move(keys), options, team, context);
        if (distinct.rows() == 0) return; // every weight is 0: so is every sum
        if (quantity == Quantity::density)
            log_normaliser =
                std::log(total_weight(distinct)) + distinct.frame.log_integral() + distinct.frame.log_volume;
        const bool magnitudes = quantity == Quantity::sum && signs_differ(distinct);
        set = std::make_unique<KeySet>(std::move(distinct), magnitudes, team, context);
    }

    // Whether a query's sums in float32 have lost keys that matter.
    bool is_far(const double* sums) const {
        const size_t mass = set->magnitudes ? set->columns() - 1 : 0;
        const double scaled = std::abs(sums[mass]) / set->values.scale(mass);
        if (options.kernel == Kernel::epanechnikov) return quantity == Quantity::mean && scaled == 0;
        return scaled < static_cast<double>(set->rows()) * 0x1p-80;
    }
    // What the quantity makes of sums that are to be multiplied by 2^−exponent.
    template <class Sum>
    void finish(const Sum& sum, double exponent, double* values) const {
        if (quantity == Quantity::mean)
            for (size_t c = 0; c < results; c++) values[c] = sum(c + 1) / sum(0);
        else if (quantity == Quantity::density)
            values[0] = sum(0) > 0 ? std::exp(std::log(sum(0)) - exponent * std::numbers::ln2 - log_normaliser) : 0;
        else
            values[0] = exponent == 0 ? sum(0) : sum(0) * std::exp2(-exponent);
    }
    Estimates exact(const Points& queries);
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
    double log_normaliser = 0;   // of densities
    std::unique_ptr<KeySet> set; // none when every weight is 0
};

Estimates KernelSums::State::exact(const Points& queries) {
    Estimates estimates = nothing(queries.rows());
    const Buffer<double> sums = exact_sums(*set, queries, team, context);
    Buffer<uint32_t> far(context.memory(), "queries far from every key");
    for (size_t i = 0; i < queries.rows(); i++) {
        const double* const of_row = &sums[i * set->columns()];
        if (is_far(of_row))
            far.push_back(static_cast<uint32_t>(i));
        else
            finish([&](size_t c) { return of_row[c]; }, 0, &estimates.values[i * results]);
    }
    find_far(queries, far, estimates);
    estimates.report = {Method::exact, "asked for", set->rows(), 1, 0};
    return estimates;
}

void KernelSums::State::find_far(const Points& queries, const Buffer<uint32_t>& rows, Estimates& estimates) {
    std::vector<FarSums> finders(static_cast<size_t>(team.size()), FarSums(*set));
    team.for_each(rows.size(), [&](size_t item, int thread) {
        FarSums& finder = finders[static_cast<size_t>(thread)];
        std::vector<double> query(dimensions);
        set->distinct.frame.apply(queries.row(rows[item]), query.data());
        finder.find(query.data());
        finish([&](size_t c) { return finder.sum(c); }, options.kernel == Kernel::epanechnikov ? 0 : finder.exponent(),
               &estimates.values[rows[item] * results]);
        estimates.std_errors[rows[item]] = 0;
    });
}

KernelSums::KernelSums(Keys keys, Quantity quantity, const Options& options, RunContext& context)
    : state_(std::make_unique<State>(std::move(keys), quantity, options, context)) {}
KernelSums::~KernelSums() = default;
KernelSums::KernelSums(KernelSums&&) noexcept = default;

Estimates KernelSums::evaluate(const Points& queries) {
    if (queries.dimensions() != state_->dimensions)
        throw Error(ErrorCode::invalid_argument,
                    format("queries have %zu coordinates, keys have %zu", queries.dimensions(), state_->dimensions));
    if (!state_->set || queries.rows() == 0) return state_->nothing(queries.rows());
    return state_->exact(queries);
}

} // namespace btml::kernel
