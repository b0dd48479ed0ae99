// Exemplars as JSON: [{"id": …, "x": […]}, …], and which of them is nearest to a point.
#pragma once

#include "core/base/buffer.hpp"
#include "pg/bridge/guard.hpp"

namespace btml::pg {

struct ExemplarList {
    explicit ExemplarList(MemoryBudget& budget) : x(budget, "exemplars"), held(budget, "exemplars") {}

    std::vector<std::optional<std::string>> ids; // nothing for null
    Buffer<double> x;                            // exemplar by exemplar
    size_t width = 0;
    Reservation held; // counts the ids
};

// The exemplars of a call site's jsonb, parsed once as long as the value stays the same. Error invalid_argument for
// JSON of another shape, memory_limit where they do not fit beside the value.
const ExemplarList& cached_exemplars(FunctionCallInfo fcinfo, Datum jsonb, RunContext& context);

// The nearest one, of several the first; nothing where there is none. Errors invalid_argument: another dissimilarity
// than the built-in ones, another number of coordinates, coordinates that are NULL or not finite, no direction for
// "cosine".
std::optional<size_t> find_nearest(const ExemplarList& exemplars, std::span<const double> x,
                                   const std::string& dissimilarity);

} // namespace btml::pg
