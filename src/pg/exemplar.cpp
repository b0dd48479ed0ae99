// SQL functions of exemplars: btml.exemplars and btml.exemplars_agg.
#include "core/exemplar/exemplar_points.hpp"
#include "core/exemplar/row_sample.hpp"
#include "core/exemplar/stream_greedy.hpp"
#include "core/numbers/number.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/call_site.hpp"
#include "pg/bridge/function_rights.hpp"
#include "pg/bridge/guard.hpp"
#include "pg/source/point_source.hpp"
#include "pg/values/arguments.hpp"
#include "pg/values/expanded_state.hpp"
#include "pg/values/json.hpp"
#include "pg/values/named_options.hpp"
#include "pg/values/number_array.hpp"
#include "pg/values/result.hpp"
#include "pg/values/values.hpp"

#include <cmath>
#include <limits>

extern "C" {
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
}

namespace btml::pg {

using exemplar::Exemplar;
using exemplar::Metric;
using exemplar::ObjectiveKind;
using exemplar::PhantomKind;
using exemplar::Point;
using exemplar::RowSample;
using exemplar::Selection;
using exemplar::StreamGreedy;

namespace {

struct ExemplarRequest {
    GivenSource source;
    std::optional<std::string> target;
    exemplar::Options options; // validated
    std::string function;      // with Metric::function: its signature
    bool verbose = false;
};

void read_dissimilarity(const std::string& value, ExemplarRequest& request) {
    if (const std::optional<Metric> metric = exemplar::metric_named(value)) {
        request.options.metric = *metric;
        return;
    }
    if (value.find('(') == std::string::npos)
        throw Error(ErrorCode::invalid_argument,
                    format("invalid value for option \"dissimilarity\": \"%s\"", value.c_str()), "",
                    "Valid values are " + quoted_list({exemplar::metric_names.begin(), exemplar::metric_names.end()}) +
                        ", and a function with the types of its arguments, as in \"distance(float8[],float8[])\".");
    request.options.metric = Metric::function;
    request.function = value;
}

// NULL elements come back as NaN, which validate() refuses.
std::vector<double> read_point(const std::string& text) {
    const char* const literal = text.c_str();
    std::vector<double> numbers;
    read_numbers(pg_call([=] { return OidInputFunctionCall(F_ARRAY_IN, const_cast<char*>(literal), FLOAT8OID, -1); }),
                 "phantom", numbers);
    return numbers;
}

void read_phantom(const std::string& value, exemplar::Options& options) {
    const size_t start = value.find_first_not_of(" \t\n");
    if (start != std::string::npos && value[start] == '{') {
        options.phantom = PhantomKind::point;
        options.phantom_point = read_point(value);
        return;
    }
    static const std::vector<std::string> names = {"none", "origin", "mean", "random"};
    const auto found = std::find(names.begin(), names.end(), value);
    if (found == names.end())
        throw Error(ErrorCode::invalid_argument, format("invalid value for option \"phantom\": \"%s\"", value.c_str()),
                    "", "Valid values are " + quoted_list(names) + ", and a point, as in \"{0,1.5}\".");
    options.phantom = static_cast<PhantomKind>(found - names.begin());
}

std::vector<double> read_length_scales(const NamedArguments& arguments) {
    std::vector<double> lengths = arguments.numbers("length_scales");
    for (const double length : lengths)
        if (is_null(length)) throw Error(ErrorCode::null_value, "argument \"length_scales\" must not contain NULL");
    return lengths;
}

void check_target(const ExemplarRequest& request) {
    const exemplar::Options& options = request.options;
    if (request.target && !options.is_gp())
        throw Error(ErrorCode::invalid_argument, "objective => 'clustering' takes no target", "",
                    "Name the columns of the points in the source: SELECT id, a, b FROM ...");
    if (request.target || !options.needs_target()) return;
    if (options.objective == ObjectiveKind::prediction)
        throw Error(ErrorCode::invalid_argument, "objective \"prediction\" needs a target", "",
                    "Name a column: target => 'y'.");
    throw Error(ErrorCode::invalid_argument, "a kernel is learned from a target, and there is none", "",
                "Give target, or length_scales, signal and noise.");
}

// Errors: null_value, invalid_argument naming the option and its valid values.
ExemplarRequest read_request(const NamedArguments& arguments) {
    ExemplarRequest request;
    exemplar::Options& options = request.options;
    request.source = given_source(arguments);
    read_options(arguments, exemplar::options_table, options);
    request.target = arguments.optional_column("target");
    read_dissimilarity(arguments.string("dissimilarity"), request);
    read_phantom(arguments.string("phantom"), options);
    if (!arguments.is_null("length_scales")) options.length_scales = read_length_scales(arguments);
    request.verbose = arguments.boolean("verbose");
    options.validate();
    check_target(request);
    return request;
}

// After so many calls, or bytes, the memory that the function has left behind is given back.
constexpr unsigned calls_per_reset = 1000;
constexpr size_t max_scratch_bytes = size_t{1} << 18;

// Returns a function that the user may call, and puts its types there; InvalidOid for one that is no dissimilarity.
Oid find_function(const char* signature, Oid* type, Oid* result) {
    const Oid function = DatumGetObjectId(DirectFunctionCall1(regprocedurein, CStringGetDatum(signature)));
    require_execute(function);
    const HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for function %u", function);
    const auto* const form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple));
    const bool valid = form->pronargs == 2 && form->prokind == PROKIND_FUNCTION && !form->proretset &&
                       form->proargtypes.values[0] == form->proargtypes.values[1] &&
                       is_plain_number(number_kind(form->prorettype)) &&
                       get_typtype(form->proargtypes.values[0]) != TYPTYPE_PSEUDO;
    *result = form->prorettype;
    *type = form->proargtypes.values[0];
    ReleaseSysCache(tuple);
    return valid ? function : InvalidOid;
}

// An SQL function that says how unlike two values are.
class SqlDissimilarity : public exemplar::DissimilarityFunction {
  public:
    // `signature` as for regprocedure: 'schema.function(type,type)'. Errors: PostgreSQL's own for what it cannot find
    // or the user may not call; wrong_type unless it takes two arguments of one type and returns a number.
    explicit SqlDissimilarity(const std::string& signature) : signature_(signature) {
        const char* const text = signature_.c_str();
        const Oid function = pg_call([=, this] { return find_function(text, &type_, &result_); });
        if (!OidIsValid(function))
            throw Error(ErrorCode::wrong_type, format("%s cannot be a dissimilarity", text), "",
                        "It must be a function of two arguments of one type that returns a number.");
        pg_call([&] {
            fmgr_info(function, &function_);
            get_typlenbyval(type_, &length_, &by_value_);
            collation_ = get_typcollation(type_);
            scratch_ = AllocSetContextCreate(CurrentMemoryContext, "btml dissimilarity", ALLOCSET_DEFAULT_SIZES);
        });
    }

    Oid type() const { return type_; } // of the arguments

    // Errors: null_value for NULL, out_of_range for a number below 0, NaN or infinite, and what the function raises.
    double operator()(std::span<const std::byte> row, std::span<const std::byte> exemplar) override {
        const Datum a = datum(row), b = datum(exemplar);
        bool null = false;
        const double value = pg_call([&] {
            if (calls_++ % calls_per_reset == 0 || MemoryContextMemAllocated(scratch_, false) > max_scratch_bytes)
                MemoryContextReset(scratch_);
            const MemoryContext before = MemoryContextSwitchTo(scratch_);
            LOCAL_FCINFO(call, 2);
            InitFunctionCallInfoData(*call, &function_, 2, collation_, nullptr, nullptr);
            call->args[0] = {a, false};
            call->args[1] = {b, false};
            const Datum result = FunctionCallInvoke(call);
            null = call->isnull;
            const double number = null ? 0 : to_number(result, number_kind(result_), nullptr);
            MemoryContextSwitchTo(before);
            return number;
        });
        if (null) throw Error(ErrorCode::null_value, format("dissimilarity %s returned NULL", signature_.c_str()));
        if (!(value >= 0 && value <= std::numeric_limits<float>::max()))
            throw Error(ErrorCode::out_of_range,
                        format("dissimilarity %s returned %s", signature_.c_str(),
                               std::isnan(value)   ? "NaN"
                               : std::isinf(value) ? "an infinite number"
                                                   : shortest(value).c_str()),
                        "", "A dissimilarity is a number from 0 to 3.4e38.");
        return value;
    }

    // A value as operator() takes it; valid until the next call.
    std::span<const std::byte> bytes(Datum value) {
        const std::span<const std::byte> stored = pg_call([&] {
            if (by_value_) return std::span<const std::byte>();
            const Datum plain = length_ == -1 ? PointerGetDatum(PG_DETOAST_DATUM(value)) : value;
            const auto* const data = reinterpret_cast<const std::byte*>(DatumGetPointer(plain));
            return std::span<const std::byte>(data, datumGetSize(plain, by_value_, length_));
        });
        if (by_value_) {
            bytes_.resize(sizeof(value));
            memcpy(bytes_.data(), &value, sizeof(value));
        } else
            bytes_.assign(stored.begin(), stored.end());
        return bytes_;
    }

  private:
    Datum datum(std::span<const std::byte> bytes) const {
        if (!by_value_) return PointerGetDatum(bytes.data());
        Datum value;
        memcpy(&value, bytes.data(), sizeof(value));
        return value;
    }

    const std::string signature_;
    FmgrInfo function_;
    Oid type_ = InvalidOid, result_ = InvalidOid, collation_ = InvalidOid;
    int16 length_ = 0;
    bool by_value_ = false;
    std::vector<std::byte> bytes_;
    MemoryContext scratch_;
    unsigned calls_ = 0;
};

// The rows of a source as the core takes them.
class ExemplarSource {
  public:
    ExemplarSource(const ExemplarRequest& request, SqlDissimilarity* function)
        : request_(request),
          function_(function),
          takes_array_(function && function->type() == FLOAT8ARRAYOID),
          points_(request.source, "points", parts(request)) {}

    template <class Take>
    void read(Take&& take, RunContext& context) const {
        const auto take_row = [&](const PointRow& row) {
            Point point;
            point.number = row.number;
            point.x = row.x;
            point.weight = row.weight;
            point.id = row.id;
            point.has_id = row.has_id;
            if (request_.options.needs_target()) {
                if (row.values.empty()) return true;
                point.target = row.values[0];
            }
            if (function_) point.value = function_->bytes(takes_array_ ? number_array(row.x) : row.plain_x);
            return take(point);
        };
        const bool by_blocks = request_.options.scan_order == exemplar::ScanOrder::random_blocks;
        points_.read(take_row, context, by_blocks ? std::optional<uint64_t>(request_.options.seed) : std::nullopt);
    }

  private:
    PointParts parts(const ExemplarRequest& request) const {
        PointParts parts;
        parts.ids = parts.weights = true;
        parts.values = request.target;
        if (function_ && !takes_array_) parts.plain_x = function_->type();
        return parts;
    }

    const ExemplarRequest& request_;
    SqlDissimilarity* const function_;
    const bool takes_array_;
    const PointSource points_;
};

Selection select(const ExemplarRequest& request, RunContext& context) {
    std::optional<SqlDissimilarity> function;
    if (request.options.metric == Metric::function) function.emplace(request.function);
    const ExemplarSource source(request, function ? &*function : nullptr);
    StreamGreedy greedy(request.options, function ? &*function : nullptr, context);
    source.read([&](const Point& point) { return greedy.sample(point), true; }, context);
    if (greedy.start()) do
            source.read([&](const Point& point) { return greedy.offer(point); }, context);
        while (greedy.finish_pass());
    return greedy.finish();
}

} // namespace

// btml.exemplars(source, k, objective, …) → table(slot, id, x, members, mean_dissimilarity, utility, utility_std_error)
BTML_FUNCTION(btml_exemplars) {
    const ExemplarRequest request = read_request(NamedArguments(fcinfo));
    ResultRows rows(fcinfo);
    BackendContext context("exemplars", request.verbose);
    const Selection selection = select(request, context);
    const auto found = static_cast<int>(selection.exemplars.size()), wanted = request.options.exemplars;
    if (found < wanted && selection.rows > 0)
        notice(format("%d of %d exemplars: no other row that was tried adds to the utility", found, wanted));
    for (size_t slot = 0; slot < selection.exemplars.size(); slot++) {
        const Exemplar& exemplar = selection.exemplars[slot];
        rows.add_row(static_cast<int>(slot) + 1, null_if(!exemplar.has_id, exemplar.id),
                     null_if(exemplar.x.empty(), exemplar.x), exemplar.members, exemplar.mean_dissimilarity,
                     selection.utility, null_if(std::isnan(selection.utility_std_error), selection.utility_std_error));
    }
    return rows.done();
}

namespace {

constexpr StateNames names{"btml.exemplar_sample", "the rows", "Ask for fewer exemplars, or use btml.exemplars."};
using State = ExpandedState<RowSample, names>;

Datum json_of(const Selection& selection, bool ids_are_numbers, RunContext& context) {
    JsonWriter json(context);
    json.begin_array();
    for (const Exemplar& exemplar : selection.exemplars) {
        json.begin_object();
        if (!exemplar.has_id)
            json.add_json("id", "null");
        else if (ids_are_numbers)
            json.add_json("id", exemplar.id);
        else
            json.add("id", exemplar.id);
        json.begin_array("x");
        for (const double x : exemplar.x) json.add_item(x);
        json.end_array();
        json.add("members", exemplar.members);
        json.end_object();
    }
    json.end_array();
    return json.datum();
}

// The body of a transition function, where read_id(arguments) is the id as text.
template <class ReadId>
Datum accumulate(FunctionCallInfo fcinfo, bool ids_are_numbers, const ReadId& read_id) {
    const Arguments arguments(fcinfo);
    State* const state = State::writable(fcinfo);
    const std::vector<double> x = arguments.numbers(2, "x");
    const int k = arguments.integer(3, "k");
    const bool has_id = !arguments.is_null(1);
    const std::string id = has_id ? read_id(arguments) : std::string();
    BackendContext context;
    state->content().add({.x = x, .id = id, .has_id = has_id}, k, ids_are_numbers, context);
    return state->datum();
}

} // namespace

// btml_internal.exemplars_accumulate(state, id bigint | text | uuid, x float8[], k bigint) → state, a function for each
// type of ids, since engines that ship partial aggregates call it without telling a polymorphic argument's type
BTML_FUNCTION(btml_exemplars_accumulate_bigint) {
    return accumulate(fcinfo, true, [](const Arguments& arguments) {
        return std::to_string(DatumGetInt64(arguments.datum(1, "id")));
    });
}

BTML_FUNCTION(btml_exemplars_accumulate_text) {
    return accumulate(fcinfo, false, [](const Arguments& arguments) { return arguments.string(1, "id"); });
}

BTML_FUNCTION(btml_exemplars_accumulate_uuid) {
    return accumulate(fcinfo, false, [](const Arguments& arguments) {
        const Datum id = arguments.datum(1, "id");
        return std::string(pg_call([=] { return DatumGetCString(DirectFunctionCall1(uuid_out, id)); }));
    });
}

// btml_internal.exemplars_final(state) → jsonb; NULL when there was no row
BTML_FUNCTION(btml_exemplars_final) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    BackendContext context("exemplars_agg");
    std::optional<RowSample> parsed;
    const RowSample& sample = State::read(fcinfo, parsed, context.memory());
    if (sample.rows() == 0) PG_RETURN_NULL();
    return json_of(sample.select(context), sample.ids_are_numbers(), context);
}

BTML_STATE_TYPE(exemplar_sample, State)

} // namespace btml::pg
