// The argument exemplar_source of a Gaussian process: its rows are the exemplars.
#pragma once

#include "core/data/dataset.hpp"
#include "core/gp/gp_options.hpp"
#include "pg/source/fit_arguments.hpp"

namespace btml::pg {

class GivenExemplars {
  public:
    // Where exemplars are given the options have some from now on, none yet, so that validate() says what contradicts
    // them before anything is read.
    GivenExemplars(const FitArguments& arguments, gp::Options& options);

    bool are_given() const { return source_.has_value(); }
    // Puts them into the options, with features as the dataset has them and in an order that the source's does not
    // change; returns what they take. Errors: those of QueryPoints; invalid_argument for no rows, and for values that
    // tell nothing of any row of the dataset; limit_exceeded for too many.
    [[nodiscard]] Reservation read(const Dataset& dataset, gp::Options& options, RunContext& context) const;

  private:
    const std::optional<std::string> source_;
};

} // namespace btml::pg
