// Takes errors to logarithms of their squares, of which models learn how far off predictions are.
#pragma once

#include "core/base/buffer.hpp"

namespace btml::uncertainty {

class LogSquares {
  public:
    // Takes the magnitudes of all errors, at least one. Their order is lost. The floor is this part of their median, or
    // a millionth of the largest where the median is 0, and `least` at least.
    LogSquares(Buffer<double> magnitudes, double part, RunContext& context, double least = 0);

    // Returns ln(error² + floor²): errors next to 0, whose logarithms are next to −∞, do not drown all the others.
    double of(double error) const;
    // Returns by how much that grows with ln error²: from 0 to 1.
    double slope(double error) const;

  private:
    double floor_;
};

} // namespace btml::uncertainty
