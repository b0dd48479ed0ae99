#include "pg/gp_options.hpp"

#include "pg/option_values.hpp"

namespace btml::pg {

using gp::Combine;
using gp::Options;
using gp::Outside;
using gp::Search;

namespace {

// In the order of the enumerations.
Combine combine_of(const std::string& value) {
    return static_cast<Combine>(choice(value, "combine", {"auto", "mixture", "kernel_sum", "boosted"}));
}

Search search_of(const std::string& value) {
    return static_cast<Search>(choice(value, "search", {"local", "bfgs", "none"}));
}

Outside outside_of(const std::string& value) {
    return static_cast<Outside>(choice(value, "outside", {"clamp", "prior"}));
}

// What the core takes for "not given" is no value of its own.
int given(int value, const char* option, const char* valid) {
    if (value == 0)
        throw Error(ErrorCode::invalid_argument, format("invalid value for option \"%s\": 0", option), "",
                    format("Valid values are %s.", valid));
    return value;
}

constexpr const char* valid_bits = "NULL, and 1 to 30";
constexpr const char* valid_members = "NULL, and 1 to 1000";
constexpr const char* valid_evaluations = "NULL, and 1 and more";

// Reads arguments one after the other.
class ArgumentList {
  public:
    ArgumentList(const Arguments& arguments, int first) : arguments_(arguments), next_(first) {}

    void columns(std::optional<std::vector<std::string>>& to, const char* name) {
        if (const int i = next_++; !arguments_.is_null(i)) to = arguments_.columns(i, name);
    }
    void column(std::optional<std::string>& to, const char* name) {
        if (const int i = next_++; !arguments_.is_null(i)) to = arguments_.column(i, name);
    }
    void integer(int& to, const char* name, const char* valid) {
        if (const int i = next_++; !arguments_.is_null(i)) to = given(arguments_.integer(i, name), name, valid);
    }
    void number(std::optional<double>& to, const char* name) {
        if (const int i = next_++; !arguments_.is_null(i)) to = arguments_.number(i, name);
    }
    std::string string(const char* name) { return arguments_.string(next_++, name); }
    int64_t bigint(const char* name) { return arguments_.bigint(next_++, name); }
    bool boolean(const char* name) { return arguments_.boolean(next_++, name); }

  private:
    const Arguments& arguments_;
    int next_;
};

// Arguments from features on; of gp_fit_members, which has no combine and no holdout, when `one_model` is false.
void read_common(ArgumentList list, bool one_model, ProcessRequest& request) {
    Options& options = request.options;
    list.columns(request.features, "features");
    std::optional<std::vector<std::string>> categorical;
    list.columns(categorical, "categorical");
    if (categorical) request.categorical = *categorical;
    list.integer(options.bits, "bits", valid_bits);
    list.integer(options.members, "members", valid_members);
    if (one_model) options.combine = combine_of(list.string("combine"));
    options.search = search_of(list.string("search"));
    list.integer(options.evaluations, "evaluations", valid_evaluations);
    list.number(options.noise, "noise");
    list.number(options.signal, "signal");
    options.outside = outside_of(list.string("outside"));
    if (one_model) list.column(request.holdout, "holdout");
    options.seed = list.bigint("seed");
    request.verbose = list.boolean("verbose");
    list.column(request.weight, "weight");
    options.validate();
}

ProcessRequest read_source(const Arguments& arguments) {
    ProcessRequest request;
    request.source = arguments.string(0, "source");
    request.target = arguments.column(1, "target");
    return request;
}

} // namespace

ProcessRequest read_process_request(const Arguments& arguments) {
    ProcessRequest request = read_source(arguments);
    read_common(ArgumentList(arguments, 2), true, request);
    return request;
}

ProcessRequest read_members_request(const Arguments& arguments) {
    ProcessRequest request = read_source(arguments);
    request.options.combine = Combine::mixture;
    read_common(ArgumentList(arguments, 2), false, request);
    return request;
}

ProcessRequest read_regression_request(const Arguments& arguments) {
    ProcessRequest request = read_source(arguments);
    request.queries = arguments.string(2, "queries");
    read_common(ArgumentList(arguments, 3), true, request);
    return request;
}

Options parse_process_options(const std::string& json) {
    static const std::vector<std::string> names = {"bits",  "members", "combine", "search", "evaluations",
                                                   "noise", "signal",  "outside", "seed"};
    Options options;
    for (const JsonOption& option : json_options(json)) {
        if (option.name == "bits")
            options.bits = given(integer_of<int>(option), "bits", valid_bits);
        else if (option.name == "members")
            options.members = given(integer_of<int>(option), "members", valid_members);
        else if (option.name == "combine")
            options.combine = combine_of(option.text);
        else if (option.name == "search")
            options.search = search_of(option.text);
        else if (option.name == "evaluations")
            options.evaluations = given(integer_of<int>(option), "evaluations", valid_evaluations);
        else if (option.name == "noise")
            options.noise = number_of(option);
        else if (option.name == "signal")
            options.signal = number_of(option);
        else if (option.name == "outside")
            options.outside = outside_of(option.text);
        else if (option.name == "seed")
            options.seed = integer_of<int64_t>(option);
        else
            unknown_option(option, names);
    }
    options.validate();
    return options;
}

} // namespace btml::pg
