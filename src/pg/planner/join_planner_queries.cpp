#include "pg/planner/join_planner.hpp"

namespace btml::pg::planner {

bool JoinPlanner::asks_for_factors(const Question& question, int place) const {
    if (!question[place].factors.empty()) return true;
    const auto& children = table(place).children;
    return std::any_of(children.begin(), children.end(),
                       [&](const StreamedChild& child) { return asks_for_factors(question, child.table); });
}

// The number of the query of a table that asks this of it and of the tables below it; 0 where it only counts.
int JoinPlanner::ask(const Question& question, CellKind kind, int place) {
    relational::StreamedQuery query = question[place];
    bool plain = query.factors.empty() && query.present.empty() && query.conditions.empty();
    for (const StreamedChild& child : table(place).children) {
        query.children.push_back(ask(question, kind, child.table));
        plain = plain && query.children.back() == 0;
    }
    if (plain) return 0;
    query.kind = asks_for_factors(question, place) ? kind : CellKind::count;
    return place_in(table(place).queries, query);
}

void JoinPlanner::add_bound(Oid type, const List* terms) {
    MeasuredSum sum{type, {}};
    for (const Term* const term : items<const Term>(terms)) {
        auto& product = sum.products.emplace_back();
        for (const Factor* const factor : items<const Factor>(term->factors)) {
            const int place = place_of(*factor);
            product.emplace_back(place, place_in(table(place).measured, add_factor_column(place, *factor, true)));
        }
    }
    planned_.join.sums.push_back(sum);
}

// Asks for the sum of a term, in rows where the others have values, too.
Question JoinPlanner::sum_of(const AggregateShape& aggregate, const Term& term, const Question& count) {
    Question sum = count;
    for (const Factor* const factor : items<const Factor>(term.factors)) {
        const int place = place_of(*factor);
        sum[place].factors.push_back(add_value_column(place, *factor, aggregate.cell));
    }
    return sum;
}

// Extrema add up along a row of the join (min-plus and max-plus), or are one product (max-product).
Question JoinPlanner::extremum_of(const AggregateShape& aggregate, const Question& count) {
    Question extremum = count;
    for (const Term* const term : items<const Term>(aggregate.terms))
        for (const Factor* const factor : items<const Factor>(term->factors)) {
            const int place = place_of(*factor), column = add_value_column(place, *factor, aggregate.cell);
            const Oid type = planned_.join.readings[place][column].type;
            const Oid widest = table(place).columns[column] == StreamedType::integer ? INT8OID : type;
            extremum[place].factors.push_back(
                term->negative ? add_column(place, {Reading::derived, -1, -1, widest, {Operation::negate, column, -1}})
                               : column);
        }
    return extremum;
}

// Asks for the rows that the other exclusions, whose tables are not joined, let pass if they exclude nothing.
Question JoinPlanner::rows_that_stay() {
    Question rows(planned_.tables.size());
    unsigned bit = 1;
    for (const Exclusion* const exclusion : items<const Exclusion>(join_.exclusions)) {
        if (!(set_ & bit))
            for (const Factor* const factor : items<const Factor>(exclusion->present)) {
                const int place = place_of(*factor);
                place_in(rows[place].present, add_factor_column(place, *factor, false));
            }
        bit *= 2;
    }
    return rows;
}

// Asks how many rows count: those in which all conditions hold and nothing that is asked for is NULL.
Question JoinPlanner::count_of(const AggregateShape& aggregate) {
    Question count = rows_that_stay();
    for (const Factor* const factor : items<const Factor>(aggregate.conditions)) {
        const int place = place_of(*factor);
        count[place].conditions.push_back(add_factor_column(place, *factor, true));
    }
    const bool only_counts = aggregate.function == AggregateFunction::count;
    for (const Term* const term : items<const Term>(aggregate.terms))
        for (const Factor* const factor : items<const Factor>(term->factors)) {
            if (factor->table < 0) continue;
            const int place = place_of(*factor), column = add_factor_column(place, *factor, !only_counts);
            place_in(count[place].present, column);
        }
    return count;
}

void JoinPlanner::add_aggregate(const AggregateShape& aggregate) {
    const Question count = count_of(aggregate);
    for (const Bound* const bound : items<const Bound>(aggregate.bounds)) add_bound(bound->type, bound->terms);
    // Floats are measured whether they are multiplied or not.
    if (aggregate.cell == CellKind::number_sum) add_bound(FLOAT8OID, aggregate.terms);
    AggregateQueries output{{}, -1, -1};
    if (is_extremum(aggregate.cell))
        output.terms.push_back({ask(extremum_of(aggregate, count), aggregate.cell, root()), false});
    else {
        output.count = ask(count, CellKind::count, root());
        for (const Term* const term : items<const Term>(aggregate.terms))
            if (aggregate.function != AggregateFunction::count)
                output.terms.push_back({ask(sum_of(aggregate, *term, count), aggregate.cell, root()), term->negative});
    }
    if (is_variance(aggregate.function)) {
        Question squares = sum_of(aggregate, *items<const Term>(aggregate.terms)[0], count);
        for (relational::StreamedQuery& query : squares) {
            const std::vector<int> once = query.factors;
            query.factors.insert(query.factors.end(), once.begin(), once.end());
        }
        output.squares = ask(squares, aggregate.cell, root());
    }
    planned_.join.aggregates.push_back(output);
}

} // namespace btml::pg::planner
