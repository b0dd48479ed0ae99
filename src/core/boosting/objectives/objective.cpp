#include "core/boosting/objectives/objective.hpp"

#include "core/boosting/rows/number_grid.hpp"

#include <cmath>

namespace btml::boosting {

// In the order of ObjectiveNumber.
#define BTML_OBJECTIVE_ADDRESS(name) &name##_objective,
static constexpr const Objective* table[] = {&squared_objective, BTML_OBJECTIVES(BTML_OBJECTIVE_ADDRESS)};

const Objective& objective_of(ObjectiveNumber number) {
    return *table[static_cast<size_t>(number)];
}

std::pair<const ForeignObjective*, ObjectiveNumber>
find_objective(std::initializer_list<ForeignObjective> Objective::*library, std::string_view name) {
    for (size_t number = 1; number < std::size(table); number++)
        for (const ForeignObjective& known : table[number]->*library)
            if (known.name == name) return {&known, static_cast<ObjectiveNumber>(number)};
    return {nullptr, ObjectiveNumber::automatic};
}

void RowScores::gather_tallied(const RowList& rows, NodeSums* out) const {
    Stats gathered[RowIndex::list_rows];
    gather(rows, gathered);
    for (size_t i = 0; i < rows.count; i++) out[i] = NodeSums(gathered[i]);
}

double shrunken_value(double sum, double hessian, const LeafRule& rule) {
    const double penalised = rule.l1 > 0 ? std::copysign(std::max(0.0, std::fabs(sum) - rule.l1), sum) : sum;
    return std::clamp(rule.learning_rate * penalised / (hessian + rule.l2), rule.learning_rate * rule.lower,
                      rule.learning_rate * rule.upper);
}

int64_t units_of(double number, double unit, double most) {
    const double units = number / unit;
    if (std::fabs(units) <= most) return std::llrint(units);
    throw Error(ErrorCode::out_of_range,
                format("a leaf adds %s to scores, which is too large for this target", shortest(number).c_str()));
}

int64_t rounded_leaf_value(double sum, double hessian, const LeafRule& rule) {
    static constexpr double most = 1LL << sum_bits;
    return std::llrint(std::clamp(shrunken_value(sum, hessian, rule), -most, most));
}

} // namespace btml::boosting
