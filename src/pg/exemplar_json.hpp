// Exemplars as JSON: [{"id": …, "x": […]}, …], and which of them is nearest to a point.
#pragma once

#include "pg/bridge/guard.hpp"

namespace btml::pg {

struct ExemplarList {
    std::vector<std::optional<std::string>> ids; // nothing for null
    std::vector<double> x;                       // exemplar by exemplar
    size_t width = 0;
};

// The exemplars of a call site's jsonb, parsed once as long as the value stays the same. Error invalid_argument for
// JSON of another shape.
const ExemplarList& cached_exemplars(FunctionCallInfo fcinfo, Datum jsonb);

// The nearest one, of several the first; nothing where there is none. Errors invalid_argument: another dissimilarity
// than the built-in ones, another number of coordinates, coordinates that are NULL or not finite, no direction for
// "cosine".
std::optional<size_t> find_nearest(const ExemplarList& exemplars, std::span<const double> x,
                                   const std::string& dissimilarity);

} // namespace btml::pg
