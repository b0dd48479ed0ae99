#include "core/boosting/objectives/objective.hpp"
#include "core/boosting/objectives/squared.hpp"

namespace btml::boosting {

namespace {

struct Entry {
    const char* name;
    const Objective& (*get)();
};

constexpr Entry table[] = {
    {"squared", squared_objective},
};

} // namespace

const Objective& objective_of(const Options& options) {
    return table[static_cast<size_t>(options.objective)].get();
}

const char* objective_name(const Options& options) {
    return table[static_cast<size_t>(options.objective)].name;
}

} // namespace btml::boosting
