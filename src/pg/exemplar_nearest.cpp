// btml.nearest_exemplar: exemplars as JSON, [{"id": …, "x": […]}, …], and which of them is nearest to a point.
#include "core/base/buffer.hpp"
#include "core/exemplar/exemplar_options.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/call_site.hpp"
#include "pg/bridge/settings.hpp"
#include "pg/values/arguments.hpp"
#include "pg/values/result.hpp"

#include <algorithm>
#include <cmath>

extern "C" {
#include "access/detoast.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"
}

namespace btml::pg {

using exemplar::Metric;

namespace {

// Lives as long as its call site, and so does its budget.
struct ExemplarList {
    MemoryBudget budget{memory_limit_bytes()};
    Buffer<char> json{budget, "exemplars"};      // that it was parsed from; empty until the list is whole
    std::vector<std::optional<std::string>> ids; // nothing for null
    Buffer<double> x{budget, "exemplars"};       // exemplar by exemplar
    size_t width = 0;
    Reservation held{budget, "exemplars"}; // counts the ids

    void clear() {
        json.clear();
        ids.clear();
        x.clear();
        width = 0;
        held = Reservation(budget, "exemplars");
    }
};

[[noreturn]] void invalid(const std::string& detail) {
    throw Error(ErrorCode::invalid_argument, "exemplars must be a JSON array of objects with \"id\" and \"x\"", detail,
                "As btml.exemplars_agg returns them, or jsonb_agg(jsonb_build_object('id', id, 'x', x)).");
}

class Parser {
  public:
    // Fills an empty list.
    Parser(Jsonb* json, ExemplarList& list, RunContext& context) : list_(list), context_(context) {
        pg_call([&] { iterator_ = JsonbIteratorInit(&json->root); });
    }

    void parse() {
        // A scalar is an array of one element, marked as such.
        if (next() != WJB_BEGIN_ARRAY || value_.val.array.rawScalar) invalid("It is no array.");
        const auto count = static_cast<size_t>(value_.val.array.nElems);
        list_.held.grow(count * sizeof(list_.ids[0]));
        list_.ids.reserve(count);
        for (JsonbIteratorToken token = next(); token != WJB_END_ARRAY; token = next()) {
            if (token != WJB_BEGIN_OBJECT) invalid("An element is no object.");
            parse_exemplar();
        }
    }

  private:
    static constexpr uint64_t units_per_token = 20; // of work, a number's conversion among it

    JsonbIteratorToken next(bool skip_nested = false) {
        context_.worked(units_per_token);
        return pg_call([&] { return JsonbIteratorNext(&iterator_, &value_, skip_nested); });
    }

    void parse_exemplar() {
        bool has_id = false, has_x = false;
        while (next() == WJB_KEY) {
            const std::string key(value_.val.string.val, static_cast<size_t>(value_.val.string.len));
            if (key == "id")
                has_id = true, parse_id();
            else if (key == "x")
                has_x = true, parse_x();
            else
                next(true);
        }
        if (!has_id || !has_x) invalid(format("An object has no \"%s\".", has_id ? "x" : "id"));
    }

    void parse_id() {
        if (next() != WJB_VALUE) invalid("An \"id\" is no scalar.");
        if (value_.type == jbvNull)
            list_.ids.emplace_back();
        else if (value_.type == jbvString)
            add_id({value_.val.string.val, static_cast<size_t>(value_.val.string.len)});
        else if (value_.type == jbvBool)
            add_id(value_.val.boolean ? "true" : "false");
        else
            add_id(pg_call([&] {
                return DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value_.val.numeric)));
            }));
    }

    void add_id(std::string_view id) {
        list_.held.grow(id.size());
        list_.ids.emplace_back(id);
    }

    void parse_x() {
        if (next() != WJB_BEGIN_ARRAY) invalid("An \"x\" is no array.");
        const size_t before = list_.x.size();
        for (JsonbIteratorToken token = next(); token != WJB_END_ARRAY; token = next()) {
            if (token != WJB_ELEM || value_.type != jbvNumeric) invalid("An \"x\" has an element that is no number.");
            list_.x.push_back(pg_call([&] {
                return DatumGetFloat8(DirectFunctionCall1(numeric_float8, NumericGetDatum(value_.val.numeric)));
            }));
        }
        const size_t width = list_.x.size() - before;
        if (width == 0) invalid("An \"x\" is empty.");
        if (list_.width == 0) list_.width = width;
        if (width != list_.width) invalid(format("One \"x\" has %zu elements, another %zu.", list_.width, width));
    }

    ExemplarList& list_;
    RunContext& context_;
    JsonbIterator* iterator_ = nullptr;
    JsonbValue value_;
};

double largest_of(std::span<const double> x) {
    double largest = 0;
    for (const double value : x) largest = std::max(largest, std::abs(value));
    return largest;
}

double cosine(std::span<const double> a, const double* b) {
    const double a_unit = largest_of(a), b_unit = largest_of({b, a.size()}); // squares stay numbers
    if (a_unit == 0 || b_unit == 0)
        throw Error(ErrorCode::invalid_argument, "a point is zero, so it has no direction", "",
                    "Use another dissimilarity than \"cosine\".");
    double inner = 0, aa = 0, bb = 0;
    for (size_t f = 0; f < a.size(); f++) {
        const double p = a[f] / a_unit, q = b[f] / b_unit;
        inner += p * q, aa += p * p, bb += q * q;
    }
    return 1 - inner / std::sqrt(aa) / std::sqrt(bb);
}

double dissimilarity_of(Metric metric, std::span<const double> a, const double* b) {
    if (metric == Metric::cosine) return cosine(a, b);
    double sum = 0;
    for (size_t f = 0; f < a.size(); f++)
        sum += metric == Metric::manhattan ? std::abs(a[f] - b[f]) : (a[f] - b[f]) * (a[f] - b[f]);
    return sum; // the nearest is the same for Euclidean distances and their squares
}

// Returns the exemplars of a call site's jsonb, parsed once as long as the value stays the same.
const ExemplarList& cached_exemplars(FunctionCallInfo fcinfo, Datum jsonb, RunContext& context) {
    ExemplarList& list = kept_at_call_site<ExemplarList>(fcinfo, [] { return std::make_unique<ExemplarList>(); });
    const Reservation read(list.budget, "exemplars", pg_call([=] { return toast_raw_datum_size(jsonb); }));
    Jsonb* const json = pg_call([=] { return DatumGetJsonbP(jsonb); });
    const auto size = static_cast<size_t>(VARSIZE(json));
    if (list.json.size() == size && memcmp(list.json.data(), json, size) == 0) return list;
    list.clear();
    Buffer<char> bytes(list.budget, "exemplars", size);
    memcpy(bytes.data(), json, size);
    Parser(json, list, context).parse();
    list.json = std::move(bytes);
    return list;
}

// Returns the nearest one, of several the first; nothing where there is none.
std::optional<size_t> find_nearest(const ExemplarList& exemplars, std::span<const double> x,
                                   const std::string& dissimilarity) {
    const std::optional<Metric> metric = exemplar::metric_named(dissimilarity);
    if (!metric)
        throw Error(ErrorCode::invalid_argument,
                    format("invalid value for option \"dissimilarity\": \"%s\"", dissimilarity.c_str()), "",
                    "Valid values are " + quoted_list({exemplar::metric_names.begin(), exemplar::metric_names.end()}) +
                        ".");
    for (const double value : x)
        if (!std::isfinite(value))
            throw Error(ErrorCode::invalid_argument, "x has an element that is NULL, NaN or infinite");
    if (exemplars.ids.empty()) return std::nullopt;
    if (x.size() != exemplars.width)
        throw Error(ErrorCode::invalid_argument,
                    format("x has %zu elements, the exemplars have %zu", x.size(), exemplars.width));
    size_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (size_t s = 0; s < exemplars.ids.size(); s++) {
        const double d = dissimilarity_of(*metric, x, exemplars.x.data() + s * exemplars.width);
        if (d < least) least = d, nearest = s;
    }
    if (!std::isfinite(least))
        throw Error(ErrorCode::out_of_range, "x is too far from the exemplars to tell which is nearest", "",
                    "Scale them.");
    return nearest;
}

} // namespace

// btml.nearest_exemplar(x float8[], exemplars btml.json, dissimilarity text) → text
BTML_FUNCTION(btml_nearest_exemplar) {
    const Arguments arguments(fcinfo);
    const std::string dissimilarity = arguments.string(2, "dissimilarity");
    if (arguments.is_null(0) || arguments.is_null(1)) PG_RETURN_NULL();
    const std::vector<double> x = arguments.numbers(0, "x");
    BackendContext context;
    const ExemplarList& exemplars = cached_exemplars(fcinfo, arguments.datum(1, "exemplars"), context);
    const std::optional<size_t> nearest = find_nearest(exemplars, x, dissimilarity);
    if (!nearest || !exemplars.ids[*nearest]) PG_RETURN_NULL();
    return text_datum(*exemplars.ids[*nearest]);
}

} // namespace btml::pg
