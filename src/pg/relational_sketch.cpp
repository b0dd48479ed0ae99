// Tensor sketches: btml.sketch_norm, Σ value² over a join, the aggregate btml.tensor_sketch_agg and btml.sketch_inner.
#include "core/base/run_context.hpp"
#include "core/numbers/number.hpp"
#include "core/relational/queries/sketch_hash.hpp"
#include "core/relational/queries/sketch_size.hpp"
#include "core/relational/queries/tensor_sketch.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/settings.hpp"
#include "pg/source/source.hpp"
#include "pg/values/arguments.hpp"
#include "pg/values/named_options.hpp"
#include "pg/values/number_array.hpp"
#include "pg/values/result.hpp"
#include "pg/values/values.hpp"

namespace btml::pg {

using relational::hash_bytes;
using relational::SketchHash;

using namespace relational;

namespace {

struct ValueJoin {
    Join join;
    Factors factors; // the value's column; ones elsewhere
    int table;       // of the value
};

// Rows with a NULL value are skipped, as sum() skips them.
ValueJoin load_values(const GivenSource& given, const std::string& value, RunContext& context) {
    const Source source(given);
    const int output = source.column(value);
    const Source::Column& of_value = source.columns()[output];
    if (of_value.number == NumberKind::none)
        throw Error(ErrorCode::wrong_type,
                    format("value column \"%s\" is of type %s", value.c_str(), type_name(of_value.type)),
                    "Values are numbers, booleans, dates or times.");
    LoadedSource loaded = source.read({{output, ReadAs::number}}, context, RowContents::distinct);
    const auto [table, column] = loaded.places.front();
    ValueJoin values{std::move(loaded.join), {}, table};
    const auto numbers = [&, table = table, column = column]() -> const Buffer<double>& {
        return values.join.tables()[table].columns[column].numbers;
    };
    values.join.filter(
        table, [&](RowId row) { return !is_null(numbers()[row]); }, context);
    for (int t = 0; t < values.join.relations(); t++)
        values.factors.emplace_back(context.memory(), "the values of a source");
    Buffer<double>& factor = values.factors[table];
    for (double number : numbers()) {
        if (!std::isfinite(number))
            throw Error(ErrorCode::out_of_range, format("value column \"%s\" has the value %s", value.c_str(),
                                                        std::isnan(number) ? "NaN"
                                                        : number > 0       ? "Infinity"
                                                                           : "-Infinity"));
        factor.push_back(number);
    }
    return values;
}

// The bounds hold with probability 1 − δ: |value − exact| ≤ ε·exact, so exact is between value/(1 + ε) and value/(1 −
// ε).
Estimate bounded(double value, double epsilon, uint64_t size, int tables) {
    const double most = epsilon < 1 ? value / (1 - epsilon) : value > 0 ? std::numeric_limits<double>::infinity() : 0;
    return {value, value * sketch_relative_sd(size, tables), value / (1 + epsilon), most, static_cast<int64>(size)};
}

// The measured error, as an INFO message. The values are squared in place.
void report_error(ValueJoin& values, double estimate, double epsilon, double delta, RunContext& context) {
    for (double& factor : values.factors[values.table]) factor *= factor;
    const double exact = sum_product(values.join, values.factors, SemiringName::sum_product, context);
    const double error = exact == 0 ? 0 : std::abs(estimate - exact) / exact;
    context.note(
        format("the exact sum of squares is %.10g, the relative error %.3f; promised is %.3g with probability %.3g",
               exact, error, epsilon, 1 - delta));
}

} // namespace

// btml.sketch_norm(source text, value name, sketch_size numeric, epsilon float8, delta float8, seed numeric, verify
// boolean)
//     → btml.estimate
BTML_FUNCTION(btml_sketch_norm) {
    const NamedArguments arguments(fcinfo);
    const GivenSource source = given_source(arguments);
    const std::string value = arguments.column("value");
    NormOptions options;
    read_options(arguments, norm_options_table, options);
    BackendContext context("sketch_norm", options.verify);
    ValueJoin values = load_values(source, value, context);
    const int tables = values.join.relations();
    const uint64_t size =
        TensorSketch::fast_size(options.sketch_size > 0 ? static_cast<uint64_t>(options.sketch_size)
                                                        : sketch_size(options.epsilon, options.delta, tables));
    // The size promises so much by Chebyshev's inequality.
    const double epsilon =
        options.sketch_size > 0 ? sketch_relative_sd(size, tables) / std::sqrt(options.delta) : options.epsilon;
    const double norm = TensorSketch(values.join, size, options.seed, context).squared_norm(values.factors);
    if (!std::isfinite(norm))
        throw Error(ErrorCode::out_of_range,
                    format("the sum of squares of column \"%s\" is out of range", value.c_str()));
    if (options.verify) report_error(values, norm, epsilon, options.delta, context);
    return estimate_datum(fcinfo, bounded(norm, epsilon, size, tables));
}

namespace {

// State of tensor_sketch_agg: float8[] with the number of keys, the seed in two halves, then the sketch.
constexpr int header_size = 3;
constexpr int max_numbers = static_cast<int>((MaxAllocSize - ARR_OVERHEAD_NONULLS(1)) / sizeof(float8)) - header_size;
constexpr size_t max_keys = 1000;

struct State {
    ArrayType* array;
    double* header;

    double* sketch() const { return header + header_size; }
    int size() const { return ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) - header_size; }
};

using Header = std::array<double, header_size>;

Header header_of(size_t keys, uint64_t seed) {
    return {static_cast<double>(keys), static_cast<double>(seed >> 32), static_cast<double>(seed & UINT32_MAX)};
}

State as_state(ArrayType* array) {
    return {array, reinterpret_cast<double*>(ARR_DATA_PTR(array))};
}

bool is_whole(double x, double least, double most) {
    return x >= least && x <= most && x == std::floor(x);
}

// Anybody may call the support functions with any array.
State checked(ArrayType* array) {
    const State state = as_state(array);
    const bool valid = ARR_NDIM(array) == 1 && !ARR_HASNULL(array) && state.size() >= 1 &&
                       is_whole(state.header[0], 1, max_keys) && is_whole(state.header[1], 0, UINT32_MAX) &&
                       is_whole(state.header[2], 0, UINT32_MAX);
    if (!valid) throw Error(ErrorCode::invalid_argument, "invalid state of tensor_sketch_agg");
    return state;
}

State read_state(FunctionCallInfo fcinfo, int i) {
    const Datum value = fcinfo->args[i].value;
    return checked(pg_call([=] { return DatumGetArrayTypeP(value); }));
}

// Argument 0 to be changed: in place where this is a call of an aggregate, which alone holds the state.
State writable_state(FunctionCallInfo fcinfo) {
    const Datum value = fcinfo->args[0].value;
    const bool in_place = AggCheckCallContext(fcinfo, nullptr) != 0;
    return checked(pg_call([=] { return in_place ? DatumGetArrayTypeP(value) : DatumGetArrayTypePCopy(value); }));
}

// PostgreSQL copies the state into the aggregate's memory, and the final function copies it once more.
void require_memory(int size) {
    static constexpr uint64_t copies = 2; // at a time
    MemoryBudget(memory_limit_bytes())
        .require(copies * sizeof(float8) * static_cast<uint64_t>(size), "a tensor sketch");
}

State new_state(int size, const Header& header) {
    require_memory(size);
    const State state = as_state(new_number_array(static_cast<size_t>(header_size + size)));
    std::copy(header.begin(), header.end(), state.header);
    return state;
}

void require_same(const State& state, int size, const double* header) {
    if (state.size() != size)
        throw Error(
            ErrorCode::invalid_argument,
            format("sketch_size must be the same in every row of an aggregate, it is %d and %d", state.size(), size));
    if (state.header[0] != header[0])
        throw Error(ErrorCode::invalid_argument,
                    format("every row of an aggregate must have as many keys, one has %g and one has %g",
                           state.header[0], header[0]));
    if (state.header[1] != header[1] || state.header[2] != header[2])
        throw Error(ErrorCode::invalid_argument, "seed must be the same in every row of an aggregate");
}

std::span<const Datum> read_keys(const Arguments& arguments, int i) {
    const ArrayElements keys = elements_of(arguments.datum(i, "keys"), TEXTOID, "keys");
    if (keys.values.empty() || keys.values.size() > max_keys)
        throw Error(ErrorCode::invalid_argument, format("argument \"keys\" has %zu elements", keys.values.size()), "",
                    format("Valid numbers are 1 to %zu.", max_keys));
    if (keys.has_null())
        throw Error(ErrorCode::null_value, "argument \"keys\" must not contain NULL", "",
                    "NULL keys join to nothing: leave such rows out with FILTER (WHERE …).");
    return keys.values;
}

double read_value(const Arguments& arguments, int i) {
    if (arguments.is_null(i))
        throw Error(ErrorCode::null_value, "argument \"value\" must not be NULL", "",
                    "Leave such rows out with FILTER (WHERE …).");
    const double value = arguments.number(i, "value");
    if (!std::isfinite(value))
        throw Error(ErrorCode::out_of_range,
                    format("argument \"value\" must be finite, not %s", std::isnan(value) ? "NaN"
                                                                        : value > 0       ? "Infinity"
                                                                                          : "-Infinity"));
    return value;
}

int read_size(const Arguments& arguments, int i) {
    const int size = arguments.integer(i, "sketch_size");
    if (size < 1 || size > max_numbers)
        throw Error(ErrorCode::invalid_argument, format("invalid value for option \"sketch_size\": %d", size), "",
                    format("Valid values are 1 to %d.", max_numbers));
    return size;
}

void add_row(const State& state, double value, std::span<const Datum> keys, uint64_t seed) {
    const auto size = static_cast<uint32_t>(state.size());
    uint64_t bucket = 0;
    bool negative = false;
    for (size_t t = 0; t < keys.size(); t++) {
        const auto* const key = reinterpret_cast<const text*>(DatumGetPointer(keys[t]));
        const uint64_t bits = hash_bytes({VARDATA_ANY(key), VARSIZE_ANY_EXHDR(key)});
        const SketchHash hash(seed, t);
        bucket += hash.bucket(bits, size);
        negative ^= hash.is_negative(bits);
    }
    state.sketch()[bucket % size] += negative ? -value : value;
}

Datum null_result(FunctionCallInfo fcinfo) {
    fcinfo->isnull = true;
    return static_cast<Datum>(0);
}

} // namespace

// btml_internal.tensor_sketch_accumulate(state float8[], value float8, keys text[], sketch_size bigint, seed bigint) →
// float8[]
BTML_FUNCTION(btml_tensor_sketch_accumulate) {
    const Arguments arguments(fcinfo);
    const double value = read_value(arguments, 1);
    const std::span<const Datum> keys = read_keys(arguments, 2);
    const int size = read_size(arguments, 3);
    const auto seed = static_cast<uint64_t>(arguments.bigint(4, "seed"));
    const Header header = header_of(keys.size(), seed);
    const State state = arguments.is_null(0) ? new_state(size, header) : writable_state(fcinfo);
    require_same(state, size, header.data());
    add_row(state, value, keys, seed);
    return PointerGetDatum(state.array);
}

// btml_internal.tensor_sketch_combine(float8[], float8[]) → float8[]
BTML_FUNCTION(btml_tensor_sketch_combine) {
    const Arguments arguments(fcinfo);
    if (arguments.is_null(0) && arguments.is_null(1)) return null_result(fcinfo);
    if (arguments.is_null(0)) return PointerGetDatum(read_state(fcinfo, 1).array);
    if (arguments.is_null(1)) return PointerGetDatum(read_state(fcinfo, 0).array);
    const State sum = writable_state(fcinfo), other = read_state(fcinfo, 1);
    require_same(sum, other.size(), other.header);
    for (int i = 0; i < sum.size(); i++) sum.sketch()[i] += other.sketch()[i];
    return PointerGetDatum(sum.array);
}

// btml_internal.tensor_sketch_final(float8[]) → float8[]: NULL when no row was aggregated
BTML_FUNCTION(btml_tensor_sketch_final) {
    const Arguments arguments(fcinfo);
    if (arguments.is_null(0)) return null_result(fcinfo);
    const State state = read_state(fcinfo, 0);
    if (!std::all_of(state.sketch(), state.sketch() + state.size(), [](double x) { return std::isfinite(x); }))
        throw Error(ErrorCode::out_of_range, "a sum of the sketch overflows");
    return number_array({state.sketch(), static_cast<size_t>(state.size())});
}

// btml.sketch_inner(a float8[], b float8[]) → float8: NULL if either is, as a sketch of no rows is
BTML_FUNCTION(btml_sketch_inner) {
    const Arguments arguments(fcinfo);
    if (arguments.is_null(0) || arguments.is_null(1)) return null_result(fcinfo);
    const std::vector<double> a = arguments.numbers(0, "a"), b = arguments.numbers(1, "b");
    if (a.size() != b.size())
        throw Error(ErrorCode::invalid_argument,
                    format("the sketches have %zu and %zu numbers, they must be of one size", a.size(), b.size()));
    if (a.empty()) throw Error(ErrorCode::invalid_argument, "a sketch has at least one number");
    for (const std::vector<double>* sketch : {&a, &b})
        if (std::any_of(sketch->begin(), sketch->end(), [](double x) { return btml::is_null(x); }))
            throw Error(ErrorCode::null_value, "a sketch must not contain NULL");
    double inner = 0;
    for (size_t i = 0; i < a.size(); i++) inner += a[i] * b[i];
    if (!std::isfinite(inner)) throw Error(ErrorCode::out_of_range, "the inner product is not finite");
    return pg_call([=] { return Float8GetDatum(inner); });
}

} // namespace btml::pg
