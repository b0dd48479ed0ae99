#include "pg/source/row_address.hpp"

#include "pg/bridge/guard.hpp"
#include "pg/source/analysis.hpp"

extern "C" {
#include "access/sysattr.h"
}

namespace btml::pg {

namespace {

// Returns the columns (Var*) that the expressions have, NIL where these are not all of one entry of the range table.
List* columns_of_one_entry(Query* query, const List* expressions) {
    Node* const flat = btml_compat_flatten_aliases(nullptr, query, as_node(copy_of(expressions)));
    List* const columns = pull_vars_of_level(flat, 0);
    for (const Var* const column : items<const Var>(columns))
        if (column->varno != linitial_node(Var, columns)->varno || column->varattno <= 0) return NIL;
    return columns;
}

// Returns the same entry's column of this number, which outer joins make NULL as they do this one.
Var* tid_column(const Var* column, AttrNumber number) {
    Var* const tid = copy_of(column);
    tid->varattno = tid->varattnosyn = number;
    tid->varnosyn = static_cast<Index>(tid->varno);
    tid->vartype = TIDOID;
    tid->vartypmod = -1;
    tid->varcollid = InvalidOid;
    return tid;
}

// Says whether each row of the query is one of the rows that it joins.
bool is_plain(const Query* query) {
    return !query->hasAggs && !query->groupClause && !query->groupingSets && !query->havingQual &&
           !query->distinctClause && !query->setOperations && !query->hasWindowFuncs && !query->hasTargetSRFs;
}

// Gives the entry's sub-query one more output, and returns its number. What it sorts by stays behind all outputs.
AttrNumber add_output(RangeTblEntry* entry, Node* expression) {
    Query* const query = entry->subquery;
    int outputs = 0;
    for (TargetEntry* const output : items<TargetEntry>(query->targetList)) {
        outputs += !output->resjunk;
        output->resno = static_cast<AttrNumber>(output->resno + output->resjunk);
    }
    const auto number = static_cast<AttrNumber>(outputs + 1);
    char* const name = pstrdup("row_address");
    TargetEntry* const output = makeTargetEntry(reinterpret_cast<Expr*>(expression), number, name, false);
    query->targetList = list_insert_nth(query->targetList, outputs, output);
    entry->eref->colnames = lappend(entry->eref->colnames, makeString(name));
    return number;
}

// Returns the address of the row that the expressions come from, null where there is none; sub-queries get one more
// output for it.
Node* row_address(Query* query, const List* expressions, Oid* table) {
    expand_with_queries(query);
    const List* const columns = columns_of_one_entry(query, expressions);
    if (columns == NIL) return nullptr;
    const Var* const column = linitial_node(Var, columns);
    RangeTblEntry* const entry = rt_fetch(column->varno, query->rtable);
    if (entry->rtekind == RTE_RELATION) {
        *table = entry->relid;
        return as_node(tid_column(column, SelfItemPointerAttributeNumber));
    }
    if (entry->rtekind != RTE_SUBQUERY || !is_plain(entry->subquery)) return nullptr;
    Query* const inner = entry->subquery;
    List* outputs = NIL;
    for (const Var* const used : items<const Var>(columns))
        outputs = lappend(outputs, get_tle_by_resno(inner->targetList, used->varattno)->expr);
    Node* const address = row_address(inner, outputs, table);
    return address ? as_node(tid_column(column, add_output(entry, address))) : nullptr;
}

bool is_stand_in(const Node* node) {
    return IsA(node, Const) && as<Const>(node)->consttype == TIDOID && as<Const>(node)->constisnull;
}

bool put_for_stand_ins(Node* node, void* address) {
    if (!node) return false;
    if (IsA(node, FuncExpr)) {
        ListCell* cell;
        foreach (cell, reinterpret_cast<FuncExpr*>(node)->args)
            if (is_stand_in(static_cast<Node*>(lfirst(cell)))) lfirst(cell) = address;
    }
    return btml_compat_walk(node, put_for_stand_ins, address);
}

} // namespace

Oid put_row_address(Query* query, int column) {
    return pg_call([=] {
        const RangeTblRef* const from = linitial_node(RangeTblRef, query->jointree->fromlist);
        const RangeTblEntry* const source = rt_fetch(from->rtindex, query->rtable);
        TargetEntry* const output = get_tle_by_resno(source->subquery->targetList, static_cast<AttrNumber>(column + 1));
        Oid table = InvalidOid;
        Node* const address = row_address(query, list_make1(makeVarFromTargetEntry(from->rtindex, output)), &table);
        if (address) put_for_stand_ins(as_node(query->targetList), address);
        return table;
    });
}

} // namespace btml::pg
