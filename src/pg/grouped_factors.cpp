#include "pg/grouped_factors.hpp"

#include "pg/bridge/nodes.hpp"
#include "pg/distributed/citus.hpp"
#include "pg/source/grouped_query.hpp"
#include "pg/source/partitions.hpp"
#include "pg/values/values.hpp"

#include <algorithm>

extern "C" {
#include "access/table.h"
#include "catalog/pg_index.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"
}

namespace btml::pg {

using relational::SemiringName;

namespace {

// What a relation is read by: join keys and groups, and factors.
using Columns = std::pair<List*, List*>;

const SourceOutput* output_of(const Source& source, const ColumnRequest& request) {
    return items<const SourceOutput>(source.analysis().outputs)[request.output];
}

bool may_group(const Source& source, const std::vector<ColumnRequest>& requests, size_t groups, SemiringName semiring) {
    // It refuses negative factors, which rows without a partner may have.
    if (source.analysis().left_joins != NIL || semiring == SemiringName::max_product) return false;
    return std::all_of(requests.begin() + static_cast<std::ptrdiff_t>(groups), requests.end(), [&](const auto& factor) {
        const NumberKind number = source.columns()[static_cast<size_t>(factor.output)].number;
        if (semiring == SemiringName::or_and) return is_plain_number(number);
        return number == NumberKind::int2 || number == NumberKind::int4 || number == NumberKind::int8;
    });
}

Columns columns_of(const Source& source, int relation, const std::vector<ColumnRequest>& requests, size_t groups) {
    Columns columns{NIL, NIL};
    pg_call([&] {
        const auto* const from = items<const SourceRelation>(source.analysis().relations)[relation];
        for (const SourceKey* const key : items<const SourceKey>(from->keys))
            columns.first = lappend(columns.first, key->expression);
        for (size_t i = 0; i < requests.size(); i++) {
            const SourceOutput* const output = output_of(source, requests[i]);
            if (output->relation != relation) continue;
            List*& list = i < groups ? columns.first : columns.second;
            list = lappend(list, output->expression);
        }
    });
    return columns;
}

// Says whether a unique index of the table has no other columns than these. May ereport.
bool are_unique(const RangeTblEntry* table, const List* keys) {
    Bitmapset* columns = nullptr;
    for (const Node* const key : items<const Node>(keys))
        if (IsA(key, Var)) columns = bms_add_member(columns, reinterpret_cast<const Var*>(key)->varattno);
    const Relation relation = table_open(table->relid, NoLock);
    bool found = false;
    ListCell* cell;
    foreach (cell, RelationGetIndexList(relation)) {
        const HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(cell)));
        const auto* const index = reinterpret_cast<Form_pg_index>(GETSTRUCT(tuple));
        bool covered = index->indisunique;
        for (int i = 0; covered && i < index->indnkeyatts; i++)
            covered = index->indkey.values[i] > 0 && bms_is_member(index->indkey.values[i], columns);
        ReleaseSysCache(tuple);
        found = found || covered;
    }
    table_close(relation, NoLock);
    return found;
}

// Says whether rows of a foreign table come as they are wanted, with no aggregate above them. May ereport.
bool comes_ready(const Plan* plan) {
    if (!plan || IsA(plan, Agg)) return false;
    if (IsA(plan, ForeignScan)) return true;
    if (IsA(plan, SubqueryScan)) return comes_ready(reinterpret_cast<const SubqueryScan*>(plan)->subplan);
    if (!IsA(plan, Append)) return comes_ready(plan->lefttree);
    const auto parts = items<const Plan>(reinterpret_cast<const Append*>(plan)->appendplans);
    for (const Plan* const part : parts)
        if (comes_ready(part)) return true;
    return false;
}

// Says whether PostgreSQL, which reckons what it costs, has groups made where the rows are, of some partitions at
// least. May ereport.
bool groups_there(const SourceRelation* relation, const Columns& columns, List* totals) {
    Query* const query = copy_of(relation->query);
    AttrNumber number = 0;
    for (Expr* const expression : items<Expr>(list_concat_copy(columns.first, totals)))
        query->targetList =
            lappend(query->targetList, makeTargetEntry(copy_of(expression), ++number, pstrdup("column"), false));
    group_by_columns(query);
    return comes_ready(pg_plan_query(query, "", 0, nullptr)->planTree);
}

// The one table that a relation is, null where it is something else.
const RangeTblEntry* table_of(const SourceRelation* relation) {
    if (relation->whole || relation->reason) return nullptr;
    const RangeTblEntry* table = nullptr;
    for (const RangeTblEntry* const entry : items<const RangeTblEntry>(relation->query->rtable)) {
        if (entry->rtekind == RTE_RESULT) continue; // in the place of another relation
        if (entry->rtekind != RTE_RELATION || table) return nullptr;
        table = entry;
    }
    return table;
}

List* totals_of(const Columns& columns, SemiringName semiring) {
    const char* const name = relational::semiring_names[static_cast<size_t>(semiring)];
    return pg_call([&] {
        List* const values = list_make1(sumprod_of_groups(name, columns.second, false));
        if (semiring != SemiringName::sum_product) return values;
        return lappend(values, sumprod_of_groups(name, columns.second, true));
    });
}

} // namespace

std::vector<GroupedRelation> relations_to_group(const Source& source, const std::vector<ColumnRequest>& requests,
                                                size_t groups, SemiringName semiring, RunContext& context) {
    std::vector<GroupedRelation> grouped;
    if (!may_group(source, requests, groups, semiring)) return grouped;
    for (int i = 0; i < list_length(source.analysis().relations); i++) {
        const auto* const relation = items<const SourceRelation>(source.analysis().relations)[i];
        const RangeTblEntry* const table = table_of(relation);
        if (!table) continue;
        const bool is_of_citus = has_distributed_table(citus_tables(relation->query, context));
        if (!is_of_citus && foreign_tables(relation->query).tables.empty()) continue;
        const Columns columns = columns_of(source, i, requests, groups);
        List* const totals = totals_of(columns, semiring);
        const bool pays = pg_call(
            [&] { return is_of_citus ? !are_unique(table, columns.first) : groups_there(relation, columns, totals); });
        if (pays) grouped.push_back({i, totals});
    }
    return grouped;
}

} // namespace btml::pg
