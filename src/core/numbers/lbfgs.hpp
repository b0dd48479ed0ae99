// Minimising a smooth function of many numbers.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace btml {

// The value at x, and its derivatives into `gradient`.
using SmoothFunction = std::function<double(std::span<const double> x, std::span<double> gradient)>;

struct Minimum {
    double value;
    int evaluations;
};

// Limited-memory BFGS (Nocedal, Wright: Numerical Optimization, Algorithms 7.4 and 7.5) with a backtracking line
// search, from x, which becomes the best point seen. Ends after `evaluations`, or when a step gains less than
// `min_gain`. No coordinate moves by more than `longest_step` at once.
Minimum minimise(std::vector<double>& x, const SmoothFunction& function, int evaluations, double min_gain,
                 double longest_step);

} // namespace btml
