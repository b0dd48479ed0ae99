#include "pg/planner/factor_type.hpp"
#include "pg/planner/join_planner.hpp"

extern "C" {
#include "optimizer/optimizer.h"
}

namespace btml::pg::planner {

namespace {

Reading reading_of(Oid type) {
    const FactorType* const known = factor_type(type);
    if (!known) return Reading::presence;
    return known->held == StreamedType::integer  ? Reading::integer
           : known->held == StreamedType::number ? Reading::number
                                                 : Reading::decimal;
}

StreamedType streamed_type(Reading reading) {
    switch (reading) {
    case Reading::number:
        return StreamedType::number;
    case Reading::decimal:
        return StreamedType::decimal;
    default:
        return StreamedType::integer;
    }
}

} // namespace

PlannedDictionaries::PlannedDictionaries(const QueryShape& query)
    : query_(query),
      of_attributes_(list_length(query.join.attributes), -1),
      of_groups_(list_length(query.groups), -1) {}

int PlannedDictionaries::add(const KeyType& type, int& known) {
    if (known < 0 && needs_dictionary(type)) {
        known = static_cast<int>(types_.size());
        types_.push_back(type);
    }
    return known;
}

int PlannedDictionaries::of_attribute(int number) {
    return add(items<const Attribute>(query_.join.attributes)[number]->type, of_attributes_[number]);
}

int PlannedDictionaries::of_group(int number) {
    const int attribute = attribute_of(number);
    return attribute >= 0 ? of_attribute(attribute)
                          : add(items<const GroupShape>(query_.groups)[number]->type, of_groups_[number]);
}

int PlannedDictionaries::attribute_of(int group) const {
    const GroupShape& shape = *items<const GroupShape>(query_.groups)[group];
    if (may_look_different(shape.type) || query_.join.tables[shape.table].join != StreamedJoin::inner) return -1;
    for (const TableKey* const key : items<const TableKey>(query_.join.tables[shape.table].keys))
        if (items<const Attribute>(query_.join.attributes)[key->attribute]->is_shared() &&
            same_expression(key->expression, shape.expression))
            return key->attribute;
    return -1;
}

int JoinPlanner::add_column(int place, const ColumnReading& column) {
    auto& readings = planned_.join.readings[place];
    const auto known = static_cast<int>(readings.size());
    const int number = place_in(readings, column);
    if (number < known) return number;
    const Reading reading = column.reading == Reading::derived ? reading_of(column.type) : column.reading;
    table(place).columns.push_back(streamed_type(reading));
    return number;
}

// Returns the column of an expression, which may be arithmetic of others.
int JoinPlanner::add_arithmetic(int place, Expr* expression) {
    auto* const node = reinterpret_cast<Node*>(expression);
    Arithmetic parts = {};
    const bool derived = pg_call([&] { return !is_total(node) && take_apart(node, &parts); });
    if (!derived) return add_column(place, expression, reading_of(base_type(expression)), -1);
    const int left = add_arithmetic(place, reinterpret_cast<Expr*>(parts.left));
    const int right = parts.right ? add_arithmetic(place, reinterpret_cast<Expr*>(parts.right)) : -1;
    return add_column(place, {Reading::derived, -1, -1, base_type(expression), {parts.operation, left, right}});
}

// Returns the place of an expression in a list, to whose end it is added where it is not there.
static int place_in_list(List*& expressions, Expr* expression) {
    int place = 0;
    while (place < list_length(expressions) && !same_expression(items<const Expr>(expressions)[place], expression))
        place++;
    if (place == list_length(expressions)) {
        List* const grown = pg_call([=, all = expressions] { return lappend(all, expression); });
        expressions = grown;
    }
    return place;
}

int add_expression(Expr* expression, List*& columns, List*& computed) {
    if (pg_call([=] { return is_total(reinterpret_cast<Node*>(expression)); }))
        return place_in_list(columns, expression);
    List* const used = pg_call([=] { return pull_var_clause(reinterpret_cast<Node*>(expression), 0); });
    for (Expr* const column : items<Expr>(used)) place_in_list(columns, column);
    return computed_from + place_in_list(computed, expression);
}

Expr* JoinPlanner::expression_at(int place, int position) const {
    return position < computed_from ? items<Expr>(planned_.columns[place])[position]
                                    : items<Expr>(planned_.computed[place])[position - computed_from];
}

int JoinPlanner::add_column(int place, Expr* expression, Reading reading, int dictionary) {
    const int position = add_expression(expression, planned_.columns[place], planned_.computed[place]);
    return add_column(place, {reading, position, dictionary, base_type(expression)});
}

int JoinPlanner::key_column(int place, int number) {
    if (is_bag(place)) {
        const auto& attributes = bag(place);
        return static_cast<int>(std::find(attributes.begin(), attributes.end(), number) - attributes.begin());
    }
    const int dictionary = dictionaries_.of_attribute(number);
    return add_column(place, join_.key(planned_.tables[place], number)->expression,
                      dictionary < 0 ? Reading::integer : Reading::dictionary, dictionary);
}

int JoinPlanner::add_factor_column(int place, const Factor& factor, bool value_matters) {
    const bool total = pg_call([&] { return is_total(reinterpret_cast<Node*>(factor.expression)); });
    if (total && !value_matters) return add_column(place, factor.expression, Reading::presence, -1);
    return add_arithmetic(place, factor.expression);
}

// An integer may be a factor of a product of decimals.
int JoinPlanner::add_value_column(int place, const Factor& factor, CellKind cell) {
    const int column = add_factor_column(place, factor, true);
    const bool decimal = cell == CellKind::decimal_sum || cell >= CellKind::decimal_min;
    if (!decimal || table(place).columns[column] == StreamedType::decimal) return column;
    return add_column(place, {Reading::derived, -1, -1, NUMERICOID, {Operation::cast, column, -1}});
}

} // namespace btml::pg::planner
