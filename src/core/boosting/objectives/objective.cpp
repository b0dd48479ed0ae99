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

const Objective& objective_of(ObjectiveNumber number) {
    return table[static_cast<size_t>(number)].get();
}

const char* name_of(ObjectiveNumber number) {
    return table[static_cast<size_t>(number)].name;
}

} // namespace btml::boosting
