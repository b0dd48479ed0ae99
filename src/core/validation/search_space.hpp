// The values of options that tuning tries.
#pragma once

#include "core/base/options_table.hpp"

namespace btml::validation {

// The values of one option: a list, or what lies between two numbers.
struct Dimension {
    std::string name;
    std::vector<OptionValue> values; // empty: a range
    double from = 0, to = 0;         // inclusive
    bool is_log = false, is_integer = false;

    // Returns how many values there are; 0 for infinitely many.
    uint64_t size() const;
    // Returns a value by a random number from 0 to 1: of a list and of a range each as likely, of a logarithmic range
    // in proportion to its logarithm. What is no integer has four digits.
    OptionValue draw(double unit) const;
    OptionValue at(uint64_t i) const; // of a finite one
};

// Checks a dimension. Errors invalid_argument naming the option: an empty list, from above to, bounds that are not
// finite, a logarithm of what is not positive.
void check(const Dimension& dimension);

// A value for each dimension.
using Point = std::vector<OptionValue>;

// Returns so many points, no two alike: all of them where there are no more, else drawn at random. The same seed gives
// the same points.
std::vector<Point> points_of(const std::vector<Dimension>& space, size_t count, uint64_t seed);

} // namespace btml::validation
