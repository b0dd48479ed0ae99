#include "pg/exemplar_options.hpp"

#include "core/base/number.hpp"
#include "pg/options.hpp"

extern "C" {
#include "utils/fmgroids.h"
}

namespace btml::pg {

using exemplar::Metric;
using exemplar::ObjectiveKind;
using exemplar::Options;
using exemplar::PhantomKind;

std::optional<Metric> metric_of(const std::string& dissimilarity) {
    static const std::vector<std::string> names = {"squared_euclidean", "euclidean", "cosine", "manhattan"};
    const auto found = std::find(names.begin(), names.end(), dissimilarity);
    if (found == names.end()) return std::nullopt;
    return static_cast<Metric>(found - names.begin());
}

namespace {

void read_dissimilarity(const std::string& value, ExemplarRequest& request) {
    if (const std::optional<Metric> metric = metric_of(value)) {
        request.options.metric = *metric;
        return;
    }
    if (value.find('(') == std::string::npos)
        throw Error(ErrorCode::invalid_argument,
                    format("invalid value for option \"dissimilarity\": \"%s\"", value.c_str()), "",
                    format("Valid values are %s, and a function with the types of its arguments, as in "
                           "\"distance(float8[],float8[])\".",
                           built_in_dissimilarities));
    request.options.metric = Metric::function;
    request.function = value;
}

// NULL elements come back as NaN, which validate() refuses.
std::vector<double> read_point(const std::string& text) {
    const char* const literal = text.c_str();
    ArrayType* const array = pg_call([=] {
        const Datum value = OidInputFunctionCall(F_ARRAY_IN, const_cast<char*>(literal), FLOAT8OID, -1);
        return DatumGetArrayTypeP(value);
    });
    require_one_dimension(array, "phantom");
    std::vector<double> numbers(static_cast<size_t>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array))), null_number);
    if (!ARR_HASNULL(array) && !numbers.empty())
        memcpy(numbers.data(), ARR_DATA_PTR(array), numbers.size() * sizeof(double));
    return numbers;
}

void read_phantom(const std::string& value, Options& options) {
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
    const Options& options = request.options;
    if (request.target && !options.is_gp())
        throw Error(ErrorCode::invalid_argument, "option \"target\" does not go with objective \"clustering\"", "",
                    "Name the columns of the points in the source: SELECT id, a, b FROM ...");
    if (request.target || !options.needs_target()) return;
    if (options.objective == ObjectiveKind::prediction)
        throw Error(ErrorCode::invalid_argument, "objective \"prediction\" needs a target", "",
                    "Name a column: target => 'y'.");
    throw Error(ErrorCode::invalid_argument, "a kernel is learned from a target, and there is none", "",
                "Give target, or length_scales, signal and noise.");
}

} // namespace

ExemplarRequest read_exemplar_request(const NamedArguments& arguments) {
    ExemplarRequest request;
    Options& options = request.options;
    request.source = arguments.string("source");
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

} // namespace btml::pg
