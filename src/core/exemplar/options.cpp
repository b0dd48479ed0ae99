#include "core/exemplar/options.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace btml::exemplar {

namespace {

// A caller's function is called for every pair of a validation row and a candidate.
constexpr uint64_t max_function_calls = 10'000'000;

[[noreturn]] void invalid(const char* option, const std::string& value, const std::string& valid) {
    throw Error(ErrorCode::invalid_argument, format("invalid value for option \"%s\": %s", option, value.c_str()), "",
                "Valid values are " + valid + ".");
}

void check_range(const char* option, int64_t value, int64_t least, int64_t most) {
    if (value < least || value > most)
        invalid(option, std::to_string(value),
                format("%lld to %lld", static_cast<long long>(least), static_cast<long long>(most)));
}

void check_positive(const char* option, double value) {
    if (!(value > 0 && std::isfinite(value))) invalid(option, shortest(value), "finite numbers above 0");
}

// An option that has no meaning for the objective.
void refuse(bool given, const char* option, const char* objective) {
    if (given)
        throw Error(ErrorCode::invalid_argument,
                    format("option \"%s\" does not go with objective \"%s\"", option, objective), "",
                    objective == std::string("clustering")
                        ? "It goes with the objectives \"information\", \"variance\" and \"prediction\"."
                        : "It goes with the objective \"clustering\".");
}

const char* name_of(ObjectiveKind objective) {
    static constexpr const char* names[] = {"clustering", "information", "variance", "prediction"};
    return names[static_cast<int>(objective)];
}

} // namespace

size_t Options::sample_size() const {
    if (validation) return static_cast<size_t>(*validation);
    const auto k = static_cast<size_t>(exemplars);
    if (metric == Metric::function) return std::max<size_t>(1000, 10 * k);
    // Each candidate for an active set costs time in proportion to validation rows and exemplars.
    return is_process() ? std::max<size_t>(2000, 10 * k) : std::max<size_t>(5000, 100 * k);
}

// A cell costs for each row of the source, and several times for those of the sample, what a validation row or a
// candidate costs. With few rows in a cell there is no telling what is the mean's error and what is the cell's shape.
size_t Options::cells() const {
    constexpr size_t share = 8;
    size_t most = sample_size();
    if (max_candidates) most = static_cast<size_t>(std::min<uint64_t>(most, static_cast<uint64_t>(*max_candidates)));
    return std::clamp<size_t>(most / share, 1, static_cast<size_t>(exemplars));
}

uint64_t Options::candidates(uint64_t rows) const {
    uint64_t most = rows * static_cast<uint64_t>(passes);
    if (max_candidates) most = std::min(most, static_cast<uint64_t>(*max_candidates));
    if (metric == Metric::function && !max_candidates) {
        const uint64_t calls = std::min<uint64_t>(sample_size(), rows);
        most = std::min(most, std::max<uint64_t>(max_function_calls / std::max<uint64_t>(calls, 1),
                                                 2 * static_cast<uint64_t>(exemplars)));
    }
    return most;
}

void Options::validate() const {
    check_range("k", exemplars, 1, max_exemplars);
    if (validation) check_range("validation", *validation, 2, 100'000'000);
    check_range("passes", passes, 1, 1'000'000);
    if (max_candidates) check_range("max_candidates", *max_candidates, 1, INT64_MAX);
    check_range("batch", batch, 1, 100'000);
    if (!(eta >= 0 && std::isfinite(eta))) invalid("eta", shortest(eta), "finite numbers from 0");
    if (!(confidence > 0 && confidence < 1)) invalid("confidence", shortest(confidence), "numbers between 0 and 1");
    const char* const objective_name = name_of(objective);
    if (is_process()) {
        refuse(phantom != PhantomKind::none, "phantom", objective_name);
        refuse(metric != Metric::squared_euclidean, "dissimilarity", objective_name);
        refuse(racing, "racing", objective_name);
        if (length_scales) {
            if (length_scales->empty()) invalid("length_scales", "{}", "one finite number above 0 for each coordinate");
            for (const double length : *length_scales) check_positive("length_scales", length);
        }
        if (signal) check_positive("signal", *signal);
        if (noise) check_positive("noise", *noise);
    } else {
        refuse(length_scales.has_value(), "length_scales", objective_name);
        refuse(signal.has_value(), "signal", objective_name);
        refuse(noise.has_value(), "noise", objective_name);
    }
    if (phantom == PhantomKind::point)
        for (const double x : phantom_point)
            if (!std::isfinite(x)) invalid("phantom", "an array with " + shortest(x), "finite numbers in an array");
    if (metric == Metric::function && phantom != PhantomKind::none && phantom != PhantomKind::random)
        throw Error(ErrorCode::invalid_argument, "this phantom does not go with a function as dissimilarity", "",
                    "Valid values are \"none\" and \"random\".");
}

} // namespace btml::exemplar
