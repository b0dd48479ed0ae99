// Says how a linear model is fitted.
#pragma once

#include "core/base/options_table.hpp"

#include <optional>

namespace btml::linear {

// What is assumed of the target's distribution, with its link: identity, logit, log and log. automatic: binomial where
// the target has labels, gaussian where it is a number.
enum class Family : uint8_t { automatic, gaussian, binomial, poisson, gamma };

// What standard errors assume: that the family is right, or nothing of the variances (HC1). In clusters, which
// group_by names, robust ones assume nothing of rows within a cluster either.
enum class StdError : uint8_t { model, robust };

struct Options {
    Family family = Family::automatic;
    double penalty = 0;  // λ of the objective that linear_fit.hpp states
    double l1_ratio = 0; // the part of the penalty that is of magnitudes; the rest is of squares
    StdError std_error = StdError::model;
    int iterations = 100;                   // of reweighted least squares, at most
    std::optional<double> holdout_fraction; // of a source's rows, where no column says which are held out
    int64_t seed = 0;                       // of the rows that it holds out

    // Throws invalid_argument naming the option, its value and the valid ones.
    void validate() const;
};

extern const OptionsTable<Options> options_table;

// Says how coefficients are shown.
struct CoefficientOptions {
    double confidence = 0.95; // of the intervals
};

extern const OptionsTable<CoefficientOptions> coefficient_options_table;

const char* name_of(Family family);

} // namespace btml::linear
