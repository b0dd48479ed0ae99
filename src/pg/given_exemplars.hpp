// The argument exemplar_source of a Gaussian process: its rows are the exemplars.
#pragma once

#include "core/data/dataset.hpp"
#include "core/gp/gp_options.hpp"
#include "pg/source/fit_arguments.hpp"
#include "pg/source/source_parameters.hpp"

namespace btml::pg {

// Returns the source, if one is given, with the args of the call. The options have exemplars from now on then, none
// yet, so that validate() says what contradicts them before anything is read.
std::optional<GivenSource> read_exemplar_source(const FitArguments& arguments, List* args, gp::Options& options);

// Puts the exemplars of the source, if there is one, into the options, with features as the dataset has them and in an
// order that the source's does not change; returns what they take. Errors: those of QueryPoints; invalid_argument for
// no rows, and for values that tell nothing of any row of the dataset; limit_exceeded for too many.
[[nodiscard]] Reservation read_exemplars(const std::optional<GivenSource>& source, const Dataset& dataset,
                                         gp::Options& options, RunContext& context);

} // namespace btml::pg
