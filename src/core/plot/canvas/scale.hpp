// Where values lie in a picture.
#pragma once

#include "core/plot/canvas/svg.hpp"

#include <cstdint>

namespace btml::plot {

enum class ValueKind : uint8_t { number, time, time_of_day, category };

inline bool is_time(ValueKind kind) {
    return kind == ValueKind::time || kind == ValueKind::time_of_day;
}

// The values that an axis shows: numbers; times as seconds since 1970; categories as their codes, from −½.
struct Domain {
    ValueKind kind = ValueKind::number;
    bool logarithmic = false;
    double low = 0, high = 1; // low < high, finite
    bool whole = false;       // the numbers are integers
};

class Scale {
  public:
    // Maps the domain to pixels from `begin`, of low, to `end`.
    Scale(const Domain& domain, double begin, double end);

    // Returns the pixel of a finite value, within the axis.
    double operator()(double value) const;
    const Domain& domain() const { return domain_; }
    double begin() const { return begin_; }
    double end() const { return end_; }
    double length() const { return begin_ < end_ ? end_ - begin_ : begin_ - end_; }
    // Returns the pixel of 0, or of the low end of logarithms.
    double base() const { return domain_.logarithmic ? begin_ : (*this)(0); }

  private:
    double transformed(double value) const;

    Domain domain_;
    double begin_, end_, low_, high_;
};

// The rectangle of a picture that holds the data. Its axes change places where bars of categories lie.
struct Frame {
    double left, top, right, bottom;
    Scale x, y;
    bool flipped; // x is vertical

    // Returns the point of a pixel of x's axis and one of y's.
    Point place(double along, double height) const { return flipped ? Point{height, along} : Point{along, height}; }
    double area() const { return (right - left) * (bottom - top); }
};

// Returns 10^x; log10 of a positive number: the same bits everywhere.
double power10(double x);
double logarithm10(double x);

} // namespace btml::plot
