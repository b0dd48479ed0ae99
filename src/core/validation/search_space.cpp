#include "core/validation/search_space.hpp"

#include "core/numbers/elementary.hpp"
#include "core/numbers/rng.hpp"

#include <cmath>
#include <cstdlib>

namespace btml::validation {

namespace {

[[noreturn]] void refuse(const Dimension& dimension, const char* what, const char* hint) {
    throw Error(ErrorCode::invalid_argument, format("space of option \"%s\" %s", dimension.name.c_str(), what), "",
                hint);
}

double four_digits(double x) {
    return std::strtod(format("%.4g", x).c_str(), nullptr);
}

// Returns from^(1 − unit) · to^unit, the same on every processor. Both are positive.
double logarithmic_mean(double from, double to, double unit) {
    constexpr double min_normal = std::numeric_limits<double>::min(); // below, logarithm() is not defined
    const double log_from = logarithm(std::max(from, min_normal)), log_to = logarithm(std::max(to, min_normal));
    return exponential(std::min(log_from + unit * (log_to - log_from), -min_exponent));
}

// The number of points, or nothing where it is above the limit.
std::optional<uint64_t> points_in(const std::vector<Dimension>& space, uint64_t limit) {
    uint64_t points = 1;
    for (const Dimension& dimension : space) {
        const uint64_t size = dimension.size();
        if (size == 0 || size > limit / points) return {};
        points *= size;
    }
    return points;
}

Point point_at(const std::vector<Dimension>& space, uint64_t number) {
    Point point;
    for (const Dimension& dimension : space) {
        point.push_back(dimension.at(number % dimension.size()));
        number /= dimension.size();
    }
    return point;
}

// More points than there are values are drawn again, within reason: numbers of four digits may be few.
std::vector<Point> draw_points(const std::vector<Dimension>& space, size_t count, uint64_t seed) {
    static constexpr uint64_t draws_per_point = 100;
    std::vector<Point> points;
    for (uint64_t draw = 0; points.size() < count && draw < draws_per_point * count; draw++) {
        Point point;
        for (size_t d = 0; d < space.size(); d++) point.push_back(space[d].draw(random_unit(seed, draw, d)));
        if (std::find(points.begin(), points.end(), point) == points.end()) points.push_back(std::move(point));
    }
    return points;
}

} // namespace

uint64_t Dimension::size() const {
    if (!values.empty()) return values.size();
    if (from == to) return 1;
    return is_integer ? static_cast<uint64_t>(to - from) + 1 : 0;
}

OptionValue Dimension::at(uint64_t i) const {
    if (!values.empty()) return values[i];
    if (!is_integer) return from;
    return static_cast<int64_t>(from) + static_cast<int64_t>(i);
}

OptionValue Dimension::draw(double unit) const {
    if (!values.empty()) return values[std::min(values.size() - 1, static_cast<size_t>(unit * values.size()))];
    // Each integer is as wide as any other.
    const double min = is_integer ? from - 0.5 : from, max = is_integer ? to + 0.5 : to;
    const double x = is_log ? logarithmic_mean(from, to, unit) : min + unit * (max - min);
    if (is_integer) return static_cast<int64_t>(std::clamp(std::nearbyint(x), from, to));
    return std::clamp(four_digits(x), from, to);
}

void check(const Dimension& dimension) {
    if (!dimension.values.empty()) return;
    static constexpr double max_integer = 9007199254740992; // 2^53
    if (!std::isfinite(dimension.from) || !std::isfinite(dimension.to))
        refuse(dimension, "is not finite", "Give from and to as finite numbers.");
    if (dimension.from > dimension.to) refuse(dimension, "is empty: from is greater than to", "Exchange from and to.");
    if (dimension.is_log && dimension.from <= 0)
        refuse(dimension, "has no logarithms: from is not greater than 0", "Leave scale out, or begin above 0.");
    if (!dimension.is_integer) return;
    const bool whole = dimension.from == std::floor(dimension.from) && dimension.to == std::floor(dimension.to);
    if (!whole || std::max(std::abs(dimension.from), std::abs(dimension.to)) > max_integer)
        refuse(dimension, "has bounds that are no integers", "Give from and to as integers.");
}

std::vector<Point> points_of(const std::vector<Dimension>& space, size_t count, uint64_t seed) {
    const std::optional<uint64_t> all = points_in(space, count);
    if (!all) return draw_points(space, count, seed);
    std::vector<Point> points;
    for (uint64_t i = 0; i < *all; i++) points.push_back(point_at(space, i));
    return points;
}

} // namespace btml::validation
