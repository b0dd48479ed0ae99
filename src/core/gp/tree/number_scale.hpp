// Where a number lies among the training values of its feature: from 0 at the least of them to 1 at the greatest, by
// its value or by its rank. Ranks are kept at some of the values, with straight lines between; of equal values, the
// middle one counts.
//
// A number is discrete if its training values repeat, or are a step apart as whole numbers are. What lies between two
// neighbours of such values that are farther apart than a cell of the grid counts as the nearer one: it is no number
// that rows could have, of which the cells between know nothing. Such gaps are fewer than cells. A number that is not
// discrete has no gaps: where its values are far apart, little is known indeed.
#pragma once

#include "core/base/serial.hpp"

#include <span>
#include <vector>

namespace btml::gp {

enum class NumberPlaces { values, ranks };

class NumberScale {
  public:
    // Gaps narrower than a part of 2^max_gap_bits of the range are not kept, however many bits a value has; nor are so
    // many steps regular.
    static constexpr int max_gap_bits = 12;

    NumberScale() = default;
    // Infinities, NaN and NULLs count for nothing. O(n log n).
    NumberScale(std::span<const double> numbers, int value_bits, NumberPlaces places, RunContext& context);

    double least() const noexcept { return least_; }
    double greatest() const noexcept { return greatest_; }
    NumberPlaces places() const noexcept { return knots_.empty() ? NumberPlaces::values : NumberPlaces::ranks; }
    // Says whether it lies beyond the ends, as infinities and NaN do.
    bool is_outside(double x) const { return !(x >= least_ && x <= greatest_); }
    // Returns how far beyond the ends it lies, as a part of the range: infinite where there is no range, or no number.
    double distance_outside(double x) const;
    // Takes any number, those beyond as the end; NaN lies beyond the greatest, as PostgreSQL sorts it.
    double place(double x) const;

    void encode(Writer& writer) const;
    // Throws corrupt_model.
    static NumberScale decode(Reader& reader);

  private:
    // Holds neighbouring training values.
    struct Gap {
        double below, above;
    };

    // Holds a training value and the place of its rank.
    struct Knot {
        double value, place;
    };

    void find_gaps(std::span<const double> distinct, int value_bits);
    void find_ranks(std::span<const double> ascending, int value_bits);
    void decode_knots(Reader& reader);
    double place_of_inner(double x) const;
    double nearest(double x) const;

    double least_ = 0, greatest_ = 0; // finite
    std::vector<Knot> knots_;         // of ranks: ascending, from the least to the greatest value
    std::vector<Gap> gaps_;           // ascending
};

} // namespace btml::gp
