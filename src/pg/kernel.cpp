// SQL functions of kernel sums: btml.kernel_sum and its kin; btml.kernel_tail_ratio and btml.kernel_tail_profile, how
// much of a kernel's sums is in their largest entries; and the aggregate btml.kernel_sum_agg with its state,
// btml.kernel_sums.
#include "core/kernel/attention.hpp"
#include "core/kernel/kernel_options.hpp"
#include "core/kernel/kernel_tail.hpp"
#include "core/kernel/query_sums.hpp"
#include "pg/bandwidth_chooser.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/source/point_source.hpp"
#include "pg/values/arguments.hpp"
#include "pg/values/expanded_state.hpp"
#include "pg/values/named_options.hpp"
#include "pg/values/number_array.hpp"
#include "pg/values/result.hpp"

namespace btml::pg {

using kernel::Estimates;
using kernel::Keys;
using kernel::Method;
using kernel::Options;
using kernel::Points;
using kernel::Quantity;
using kernel::QuerySet;
using kernel::QuerySums;

namespace {

// Ids of points as text, one after the other.
class PointIds {
  public:
    explicit PointIds(MemoryBudget& budget) : ends_(budget, "ids of points"), text_(budget, "ids of points") {}

    void add(const PointRow& row) {
        for (const char c : row.id) text_.push_back(c);
        ends_.push_back(text_.size() << 1 | static_cast<uint64_t>(row.has_id));
    }
    // Returns nothing for NULL.
    std::optional<std::string_view> operator[](size_t i) const {
        if (!(ends_[i] & 1)) return std::nullopt;
        const uint64_t begin = i == 0 ? 0 : ends_[i - 1] >> 1;
        return std::string_view(text_.data() + begin, (ends_[i] >> 1) - begin);
    }
    size_t size() const { return ends_.size(); }
    void clear() {
        ends_.clear();
        text_.clear();
    }

  private:
    Buffer<uint64_t> ends_; // twice, plus one where there is an id
    Buffer<char> text_;
};

// The sources of a call, which have its args in common.
struct Sources {
    GivenSource keys, queries;
};

Sources read_sources(const NamedArguments& call) {
    const std::string keys = call.string("keys"), queries = call.string("queries");
    List* const args = source_args(call, {keys, queries});
    return {{keys, args}, {queries, args}};
}

struct Request {
    Sources sources;
    std::optional<std::string> values; // a column of the keys
    bool arrays = false;               // whose values may be arrays
    Quantity quantity = Quantity::sum;
    Options options = {};
    bool verbose = false;
    bool weighted = false; // by a column of the keys
};

// Appends a key with its weight and its other values, as `quantity` wants them.
void append_key(const PointRow& row, const Request& request, std::vector<double>& scratch, Keys& keys) {
    scratch.clear();
    if (!request.arrays) scratch.push_back(row.weight);
    for (const double value : row.values) {
        scratch.push_back(request.arrays ? value : row.weight * value);
        if (!std::isfinite(scratch.back()))
            throw Error(ErrorCode::out_of_range,
                        format("row %" PRIu64 " of the keys has a weight and a target whose product is infinite",
                               row.number + 1),
                        "", "Divide the weights by a constant.");
    }
    keys.append(row.x, scratch);
}

// Returns nothing where there are no keys. A key whose target is NULL is left out. The chooser of a bandwidth, which
// may be null, is given the keys, too.
std::optional<Keys> read_keys(const PointSource& source, const Request& request, BandwidthChooser* chooser,
                              RunContext& context) {
    std::optional<Keys> keys;
    std::vector<double> scratch;
    source.read(
        [&](const PointRow& row) {
            if (request.values && row.values.empty()) {
                if (!request.arrays) return true;
                throw Error(ErrorCode::null_value,
                            format("row %" PRIu64 " of the keys has NULL in column \"%s\"", row.number + 1,
                                   request.values->c_str()),
                            "", "Leave such rows out with WHERE.");
            }
            if (!keys) keys.emplace(row.x.size(), row.values.size() + (request.arrays ? 0 : 1), context.memory());
            append_key(row, request, scratch, *keys);
            if (chooser) chooser->add(row);
            return true;
        },
        context);
    return keys;
}

// Tells how the sums were made. Where queries are answered in parts, the report is that of the first part, of so many
// queries; `first` is 0 where there are no others.
void report(const kernel::Report& report, uint64_t first, bool weighted, RunContext& context) {
    std::string text = first > 0 ? format("the first %" PRIu64 " queries: ", first) : "";
    text += format("%s sums over %" PRIu64 " distinct keys: %s; %.3g %% of the pairs were evaluated",
                   report.method == Method::exact ? "exact" : "sampled", report.keys, report.reason.c_str(),
                   100 * report.evaluated);
    if (report.method == Method::sampled)
        text += format("; the estimated relative error is %.2g", report.relative_error);
    if (weighted) text += "; column \"weight\" of the keys is how much each counts";
    context.note(text);
}

// Answers queries as they are read, many at a time, so that what is held does not grow with their number. Where there
// are no keys there are no sums either, and every query has the answer of none.
template <class Sums>
class Stream {
  public:
    Stream(const Request& request, const PointSource& queries, std::optional<Sums>& sums, uint64_t keys,
           size_t dimensions, ResultRows& rows, RunContext& context)
        : queries_(queries),
          sums_(sums),
          dimensions_(dimensions),
          request_(request),
          rows_(rows),
          ids_(context.memory()),
          points_(sums ? dimensions : 1, context.memory(), "queries"),
          context_(context),
          exact_(request.options.method == Method::exact || !sums),
          at_once_(exact_ ? min_at_once
                          : std::max(min_at_once, sums->queries_that_fit(std::max<uint64_t>(131'072, keys),
                                                                         bytes_of_query(dimensions)))) {}

    void answer() {
        if (exact_) {
            answer_parts(0);
            return;
        }
        // A sample is for a number of queries; to know it, those that are too many to hold are read twice.
        const uint64_t all = queries_.read(
            [&](const PointRow& row) {
                if (ids_.size() < at_once_) add(row);
                return true;
            },
            context_);
        if (all <= at_once_) {
            answer_part(all, all);
            return;
        }
        clear();
        const uint64_t parts = (all + at_once_ - 1) / at_once_;
        at_once_ = (all + parts - 1) / parts;
        answer_parts(all);
    }

  private:
    static constexpr uint64_t min_at_once = 16'384;

    // Counts its coordinates and its id, in arrays that grow to twice what is needed.
    static uint64_t bytes_of_query(size_t dimensions) { return 2 * sizeof(double) * (dimensions + 3); }

    void add(const PointRow& row) {
        if (sums_) {
            if (row.x.size() != dimensions_)
                throw Error(
                    ErrorCode::invalid_argument,
                    format("the queries are of dimension %zu, the keys of dimension %zu", row.x.size(), dimensions_));
            points_.append(row.x);
        }
        ids_.add(row);
    }
    void answer_parts(uint64_t all) {
        queries_.read(
            [&](const PointRow& row) {
                add(row);
                if (ids_.size() == at_once_) answer_part(all, all);
                return true;
            },
            context_);
        answer_part(all, answered_ + ids_.size());
    }
    // known: how many queries there are, or 0; all: for how many the sample is, or 0.
    void answer_part(uint64_t all, uint64_t known) {
        if (ids_.size() == 0) return;
        const Share share(context_, part_of(known, answered_), part_of(known, answered_ + ids_.size()));
        answered_ += ids_.size();
        if (sums_) {
            const Estimates estimates = sums_->evaluate(points_, all);
            for (size_t i = 0; i < ids_.size(); i++) {
                const std::span<const double> values = {estimates.values.data() + i * estimates.columns,
                                                        estimates.columns};
                if (request_.arrays)
                    rows_.add_row(ids_[i], values, estimates.std_errors[i]);
                else
                    rows_.add_row(ids_[i], values[0], estimates.std_errors[i]);
            }
            if (!std::exchange(reported_, true))
                report(estimates.report, all > ids_.size() ? ids_.size() : 0, request_.weighted, context_);
        } else {
            // Without keys a sum is 0, and there is no mean and no density.
            const std::optional<double> value = null_if(request_.quantity != Quantity::sum || request_.arrays, 0.0);
            for (size_t i = 0; i < ids_.size(); i++) rows_.add_row(ids_[i], value, value);
        }
        clear();
    }
    static double part_of(uint64_t all, uint64_t some) {
        return all == 0 ? 0 : static_cast<double>(some) / static_cast<double>(all);
    }
    void clear() {
        points_.clear();
        ids_.clear();
    }

    const PointSource& queries_;
    std::optional<Sums>& sums_;
    const size_t dimensions_;
    const Request& request_;
    ResultRows& rows_;
    PointIds ids_;
    Points points_;
    RunContext& context_;
    const bool exact_;
    uint64_t at_once_, answered_ = 0;
    bool reported_ = false;
};

template <class Sums, class... Which>
void answer(const Request& request, const PointSource& queries, std::optional<Keys> keys, ResultRows& rows,
            RunContext& context, Which... which) {
    const Options& options = request.options;
    const size_t dimensions = keys ? keys->points.dimensions() : 0;
    const uint64_t count = keys ? keys->rows() : 0;
    std::optional<Sums> sums;
    if (keys) sums.emplace(std::move(*keys), which..., options, context);
    keys.reset();
    Stream<Sums>(request, queries, sums, count, dimensions, rows, context).answer();
    tell_device_failure(context);
}

Datum kernel_sums(FunctionCallInfo fcinfo, const char* function, Request request) {
    if (request.quantity == Quantity::sum) request.options.check(); // nothing chooses a bandwidth
    ResultRows rows(fcinfo);
    BackendContext context(function, request.verbose);
    const PointSource key_source(request.sources.keys, "keys",
                                 {false, !request.arrays, request.values, request.arrays});
    request.weighted = key_source.has_weights();
    const PointSource query_source(request.sources.queries, "queries", {true, false, {}, false}, key_source);
    std::optional<BandwidthChooser> chooser;
    if (request.options.bandwidth == 0) chooser.emplace(request.values.has_value(), context.memory());
    std::optional<Keys> keys = read_keys(key_source, request, chooser ? &*chooser : nullptr, context);
    if (chooser && keys) request.options.bandwidth = chooser->choose(request.options, context);
    chooser.reset();
    if (request.arrays)
        answer<kernel::Attention>(request, query_source, std::move(keys), rows, context);
    else
        answer<kernel::KernelSums>(request, query_source, std::move(keys), rows, context, request.quantity);
    return rows.done();
}

} // namespace

// (keys, queries, …) → table(id text, value float8, std_error float8). `column` is the argument that names a column of
// the keys, whose mean is asked for; without it, sums and densities are of the keys' weights. `arrays` is for
// attention, which has no argument for a bandwidth: the core takes its own.
static Datum sums(FunctionCallInfo fcinfo, const char* function, Quantity quantity, const char* column = nullptr,
                  bool arrays = false) {
    const NamedArguments arguments(fcinfo);
    Request request{read_sources(arguments), {}, arrays, quantity};
    if (column) {
        request.values = arguments.column(column);
        request.options.bandwidth = 1;
    }
    read_options(arguments, kernel::options_table, request.options);
    request.verbose = arguments.boolean("verbose");
    return kernel_sums(fcinfo, function, std::move(request));
}

// btml.kernel_sum(keys, queries, bandwidth, …) → table(id text, value float8, std_error float8)
BTML_FUNCTION(btml_kernel_sum) {
    return sums(fcinfo, "kernel_sum", Quantity::sum);
}

// btml.density(keys, queries, bandwidth, …) → table(id text, value float8, std_error float8)
BTML_FUNCTION(btml_density) {
    return sums(fcinfo, "density", Quantity::density);
}

// btml.kernel_regression(keys, target, queries, bandwidth, …) → table(id text, value float8, std_error float8)
BTML_FUNCTION(btml_kernel_regression) {
    return sums(fcinfo, "kernel_regression", Quantity::mean, "target");
}

// btml.attention(keys, queries, value, epsilon, confidence, method, seed, scale, verbose) → table(id text, value
// float8[], std_error float8)
BTML_FUNCTION(btml_attention) {
    return sums(fcinfo, "attention", Quantity::mean, "value", true);
}

namespace {

Points read_points(const PointSource& source, const char* what, RunContext& context) {
    std::optional<Points> points;
    source.read(
        [&](const PointRow& row) {
            if (!points) points.emplace(row.x.size(), context.memory(), what);
            points->append(row.x);
            return true;
        },
        context);
    if (!points) throw Error(ErrorCode::invalid_argument, format("there are no %s", what));
    return std::move(*points);
}

std::pair<Points, Points> read_keys_and_queries(const Sources& sources, RunContext& context) {
    const PointSource key_source(sources.keys, "keys", {}), query_source(sources.queries, "queries", {}, key_source);
    Points key_points = read_points(key_source, "keys", context);
    return {std::move(key_points), read_points(query_source, "queries", context)};
}

Options read_checked_options(const NamedArguments& arguments) {
    Options options;
    read_options(arguments, kernel::options_table, options);
    options.check();
    return options;
}

} // namespace

// btml.kernel_tail_ratio(keys, queries, bandwidth, method, seed, scale, kernel) → estimate
BTML_FUNCTION(btml_kernel_tail_ratio) {
    const NamedArguments arguments(fcinfo);
    const Sources sources = read_sources(arguments);
    const Options options = read_checked_options(arguments);
    BackendContext context("kernel_tail_ratio");
    const auto [key_points, query_points] = read_keys_and_queries(sources, context);
    const kernel::TailRatio ratio = kernel::kernel_tail_ratio(key_points, query_points, options, context);
    constexpr double z = 1.96; // of 95 %
    return estimate_datum(fcinfo, {ratio.value, ratio.std_error, std::max(0.0, ratio.value - z * ratio.std_error),
                                   ratio.value + z * ratio.std_error, static_cast<int64>(ratio.evaluations)});
}

// btml.kernel_tail_profile(keys, queries, bandwidth, prefixes, scale, kernel) → table(prefix int, tail_ratio float8,
// nth_to_next float8, nth_to_2nth float8)
BTML_FUNCTION(btml_kernel_tail_profile) {
    const NamedArguments arguments(fcinfo);
    const Sources sources = read_sources(arguments);
    const Options options = read_checked_options(arguments);
    std::vector<uint64_t> prefixes;
    if (!arguments.is_null("prefixes"))
        for (const int64 prefix : arguments.whole_numbers("prefixes")) {
            if (prefix < 1)
                throw Error(ErrorCode::invalid_argument, format("prefixes contains %" PRId64, prefix), "",
                            "Prefixes are numbers of points, from 1.");
            prefixes.push_back(static_cast<uint64_t>(prefix));
        }
    ResultRows rows(fcinfo);
    BackendContext context("kernel_tail_profile");
    const auto [key_points, query_points] = read_keys_and_queries(sources, context);
    for (const kernel::TailOfPrefix& tail :
         kernel::kernel_tail_profile(key_points, query_points, options, prefixes, context)) {
        rows.add_row(static_cast<int>(tail.prefix), tail.tail_ratio, tail.nth_to_next, tail.nth_to_2nth);
    }
    return rows.done();
}

namespace {

constexpr StateNames names{"btml.kernel_sums", "the sums", "Ask for fewer queries at a time."};
using State = ExpandedState<QuerySums, names>;

pairwise::Kernel kernel_named(const std::string& name) {
    const OptionFacts& option = *kernel::options_table.find("kernel");
    option.check(name);
    return pairwise::Kernel{static_cast<uint8_t>(option.index_of(name))};
}

// Numbers of an array where they lie: queries come with every row, and are many.
std::span<const double> numbers_of(const Arguments& arguments, int i, const char* name) {
    const Datum value = arguments.datum(i, name);
    ArrayType* const array = pg_call([=] { return DatumGetArrayTypeP(value); });
    require_one_dimension(array, name);
    if (pg_call([=] { return ARR_HASNULL(array) && array_contains_nulls(array); }))
        throw Error(ErrorCode::null_value, format("argument \"%s\" must not contain NULL", name));
    return {reinterpret_cast<const double*>(ARR_DATA_PTR(array)),
            static_cast<size_t>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)))};
}

} // namespace

// btml_internal.kernel_sums_accumulate(state, x float8[], weight float8, queries float8[], bandwidth float8,
//     kernel text) → state, where a call without the last argument means a Gaussian kernel
BTML_FUNCTION(btml_kernel_sums_accumulate) {
    const Arguments arguments(fcinfo);
    State* const state = State::writable(fcinfo);
    const QuerySet set{numbers_of(arguments, 3, "queries"), arguments.number(4, "bandwidth"),
                       arguments.count() > 5 ? kernel_named(arguments.string(5, "kernel"))
                                             : pairwise::kernel_of<pairwise::Gaussian>};
    state->content().add(numbers_of(arguments, 1, "x"), arguments.number(2, "weight"), set);
    return state->datum();
}

// btml_internal.kernel_sums_final(state) → float8[]; NULL when there was no row
BTML_FUNCTION(btml_kernel_sums_final) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    MemoryBudget budget(memory_limit_bytes());
    std::optional<QuerySums> parsed;
    const QuerySums& sums = State::read(fcinfo, parsed, budget);
    if (sums.empty()) PG_RETURN_NULL();
    return number_array(sums.values());
}

BTML_STATE_TYPE(kernel_sums, State)

} // namespace btml::pg
