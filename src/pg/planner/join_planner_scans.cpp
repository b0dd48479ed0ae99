#include "pg/planner/join_planner.hpp"

#include <map>

extern "C" {
#include "catalog/pg_class.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
}

namespace btml::pg::planner {

namespace {

bool is_stored_table(const RangeTblEntry* entry) {
    return entry->rtekind == RTE_RELATION && !entry->tablesample &&
           (entry->relkind == RELKIND_RELATION || entry->relkind == RELKIND_MATVIEW ||
            entry->relkind == RELKIND_PARTITIONED_TABLE);
}

// Returns the expression over one relation as it would be over another of the same table.
Expr* moved(Expr* expression, Index from, Index to) {
    auto* const copy = copy_of(reinterpret_cast<Node*>(expression));
    ChangeVarNodes(copy, static_cast<int>(from), static_cast<int>(to), 0);
    return reinterpret_cast<Expr*>(copy);
}

// Conditions on the other relation that are not the same expressions are others, whatever they mean.
bool has_same_conditions(const RelOptInfo* a, const RelOptInfo* b) {
    if (list_length(a->baserestrictinfo) != list_length(b->baserestrictinfo)) return false;
    for (int i = 0; i < list_length(a->baserestrictinfo); i++) {
        Expr* const of_a = items<const RestrictInfo>(a->baserestrictinfo)[i]->clause;
        const Expr* const of_b = items<const RestrictInfo>(b->baserestrictinfo)[i]->clause;
        if (contain_volatile_functions(as_node(of_a)) || !equal(moved(of_a, a->relid, b->relid), of_b)) return false;
    }
    return true;
}

// Whether two relations are one table with one condition, read with one role's rights, so that they have the same rows:
// a foreign partition may give each role others.
bool has_same_rows(PlannerInfo* root, const RelOptInfo* a, const RelOptInfo* b) {
    if (a->reloptkind != RELOPT_BASEREL || b->reloptkind != RELOPT_BASEREL) return false;
    const RangeTblEntry *const of_a = root->simple_rte_array[a->relid], *const of_b = root->simple_rte_array[b->relid];
    return is_stored_table(of_a) && is_stored_table(of_b) && of_a->relid == of_b->relid && of_a->inh == of_b->inh &&
           a->userid == b->userid && has_same_conditions(a, b);
}

// Whether the table's path can give these expressions over its relation. A sequential scan has all columns, other paths
// those that were asked for.
bool can_give(const TableShape& table, const List* expressions) {
    if (table.path->pathtype == T_SeqScan) return true;
    const auto gives = [&](const Var* column) {
        for (const Var* const given : items<const Var>(table.relation->reltarget->exprs))
            if (IsA(given, Var) && given->varattno == column->varattno) return true;
        return false;
    };
    for (const Var* const column : items<const Var>(pull_var_clause(as_node(const_cast<List*>(expressions)), 0)))
        if (!gives(column)) return false;
    return true;
}

List* all_moved(const List* expressions, Index from, Index to) {
    List* list = NIL;
    for (Expr* const expression : items<Expr>(expressions)) list = lappend(list, moved(expression, from, to));
    return list;
}

} // namespace

// The place of a table whose scan may serve this one's, too; its own where there is none.
int JoinPlanner::scan_owner(int place, const std::vector<int>& owners) const {
    const TableShape& table = join_.tables[planned_.tables[place]];
    for (int owner : owners) {
        const TableShape& other = join_.tables[planned_.tables[owner]];
        const bool serves = pg_call([&, this] {
            return has_same_rows(join_.root, table.relation, other.relation) &&
                   can_give(other, all_moved(planned_.columns[place], table.relation->relid, other.relation->relid));
        });
        if (serves) return owner;
    }
    return place;
}

// Has the scan of `owner` give what the table at `place` reads, as `owners` has it by then, unless too much would wait.
bool JoinPlanner::read_from(int owner, int place, const std::vector<int>& owners) {
    const auto readings = planned_.join.readings[place];
    List* const columns = pg_call([&, this] { return list_copy(planned_.columns[owner]); });
    List* const computed = pg_call([&, this] { return list_copy(planned_.computed[owner]); });
    const auto relid = [&](int of) { return join_.tables[planned_.tables[of]].relation->relid; };
    const auto position_in_owner = [&](Expr* expression) {
        return add_expression(owner, pg_call([&] { return moved(expression, relid(place), relid(owner)); }));
    };
    std::vector<int> of_columns, of_computed;
    for (Expr* const expression : items<Expr>(planned_.columns[place]))
        of_columns.push_back(position_in_owner(expression));
    for (Expr* const expression : items<Expr>(planned_.computed[place]))
        of_computed.push_back(position_in_owner(expression));
    for (ColumnReading& reading : planned_.join.readings[place])
        if (reading.position >= computed_from)
            reading.position = of_computed[reading.position - computed_from];
        else if (reading.position >= 0)
            reading.position = of_columns[reading.position];
    if (waiting_bytes(owners) <= waiting_share * message_memory()) return true;
    planned_.join.readings[place] = readings;
    planned_.columns[owner] = columns;
    planned_.computed[owner] = computed;
    return false;
}

// Returns the bytes in which rows wait for tables that read them later, each column once. owners: by place the table
// whose scan serves it.
double JoinPlanner::waiting_bytes(const std::vector<int>& owners) const {
    std::map<int, std::vector<StreamedType>> kept; // by owner; its first reader keeps nothing for itself
    std::vector<std::pair<int, ColumnReading>> known;
    for (size_t place = 0; place < owners.size(); place++) {
        const int owner = owners[place];
        if (owner < 0 || kept.try_emplace(owner).second) continue;
        const auto& readings = planned_.join.readings[place];
        for (size_t i = 0; i < readings.size(); i++) {
            const std::pair column(owner, readings[i]);
            if (readings[i].reading == Reading::derived || std::find(known.begin(), known.end(), column) != known.end())
                continue;
            known.push_back(column);
            kept[owner].push_back(table(static_cast<int>(place)).columns[i]);
        }
    }
    double bytes = 0;
    for (const auto& [owner, columns] : kept)
        bytes += join_.tables[planned_.tables[owner]].relation->rows *
                 static_cast<double>(relational::RowBatch::row_bytes(columns));
    return bytes;
}

// Tables that have the same rows are read by one scan. Those with the most columns are asked first, since all can read
// theirs from them. Rows wait in memory for tables that are read later, in a part of it: where they turn out to be
// too many the scan is repeated, so that nothing fails for it.
void JoinPlanner::share_scans() {
    auto& scans = planned_.join.scans;
    scans.assign(planned_.tables.size(), -1);
    std::vector<int> places, owners, owner_of(planned_.tables.size(), -1);
    for (size_t place = 0; place < planned_.tables.size(); place++)
        if (!is_bag(static_cast<int>(place))) places.push_back(static_cast<int>(place));
    std::stable_sort(places.begin(), places.end(),
                     [&](int a, int b) { return list_length(planned_.columns[a]) > list_length(planned_.columns[b]); });
    for (int place : places) {
        const int owner = scan_owner(place, owners);
        owner_of[place] = owner;
        if (owner != place && read_from(owner, place, owner_of)) continue;
        owner_of[place] = place;
        owners.push_back(place);
    }
    planned_.memory += waiting_bytes(owner_of);
    for (size_t place = 0; place < planned_.tables.size(); place++)
        if (owner_of[place] == static_cast<int>(place)) {
            scans[place] = static_cast<int>(planned_.scans.size());
            planned_.scans.push_back(static_cast<int>(place));
        }
    for (int place : places) scans[place] = scans[owner_of[place]];
    for (int owner : planned_.scans) describe_scan(owner);
}

void JoinPlanner::describe_scan(int owner) {
    const auto name = [&](int place) { return std::string(join_.tables[planned_.tables[place]].name); };
    const auto& scans = planned_.join.scans;
    std::string others;
    for (size_t place = 0; place < scans.size(); place++)
        if (scans[place] == scans[owner] && static_cast<int>(place) != owner)
            others += (others.empty() ? name(owner) + " for " : ", ") + name(static_cast<int>(place));
    if (others.empty()) return;
    planned_.shared_scans += (planned_.shared_scans.empty() ? "" : "; ") + others;
}

} // namespace btml::pg::planner
