#include "pg/source/random_blocks.hpp"

#include "core/numbers/rng.hpp"
#include "pg/bridge/nodes.hpp"

extern "C" {
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_operator.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
}

namespace btml::pg {

namespace {

constexpr uint64_t stream = 0x626c6f636b73; // "blocks"
constexpr uint64_t max_ranges = 1024;       // of blocks that a table is read in

// Returns why a table's blocks are not where its rows are, or null.
const char* stored_elsewhere(const RangeTblEntry* table) {
    switch (table->relkind) {
    case RELKIND_RELATION:
    case RELKIND_MATVIEW:
        if (table->inh && has_subclass(table->relid)) return "has children";
        return is_heap(table->relid) ? nullptr : "is no heap, by its access method";
    case RELKIND_PARTITIONED_TABLE:
        return "is partitioned";
    default:
        return "is a foreign table";
    }
}

// The one table that the query reads, or null.
const RangeTblEntry* only_table(const Query* query) {
    if (list_length(query->rtable) != 1 || query->setOperations || query->hasAggs || query->hasWindowFuncs ||
        query->hasTargetSRFs || query->groupClause || query->groupingSets || query->distinctClause ||
        query->sortClause || query->limitCount || query->limitOffset || query->rowMarks || query->cteList)
        return nullptr;
    const auto* const table = static_cast<const RangeTblEntry*>(linitial(query->rtable));
    return table->rtekind == RTE_RELATION && !table->tablesample ? table : nullptr;
}

// `table` may be null.
[[noreturn]] void refuse(const RangeTblEntry* table, const char* why) {
    throw Error(
        ErrorCode::not_supported, "scan_order \"random_blocks\" needs a source that reads one table of blocks",
        table ? format("\"%s\" %s.", pg_call([=] { return get_rel_name(table->relid); }), why) : "",
        "Name a plain table, or sort the rows in SELECT ... ORDER BY md5(id::text), or give passes => 2 instead.");
}

Node* compare(Oid op, BlockNumber block) {
    auto* const tid = allocate<ItemPointerData>();
    ItemPointerSet(tid, block, 0);
    Var* const ctid = makeVar(1, SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid, 0);
    Const* const bound = makeConst(TIDOID, -1, InvalidOid, sizeof(ItemPointerData), PointerGetDatum(tid), false, false);
    return as_node(make_opclause(op, BOOLOID, false, reinterpret_cast<Expr*>(ctid), reinterpret_cast<Expr*>(bound),
                                 InvalidOid, InvalidOid));
}

const Query* with_blocks(const Query* query, BlockNumber first, BlockNumber last, bool is_last) {
    auto* const result = copy_of(query);
    List* conditions = list_make1(compare(TIDGreaterEqOperator, first));
    if (!is_last) conditions = lappend(conditions, compare(TIDLessOperator, last));
    if (result->jointree->quals) conditions = lcons(result->jointree->quals, conditions);
    result->jointree->quals = as_node(makeBoolExpr(AND_EXPR, conditions, -1));
    return result;
}

} // namespace

uint32_t blocks_of(Oid table) {
    const Relation relation = table_open(table, AccessShareLock);
    const BlockNumber blocks = RelationGetNumberOfBlocks(relation);
    table_close(relation, NoLock);
    return blocks;
}

bool is_heap(Oid table) {
    const Relation relation = table_open(table, AccessShareLock);
    const bool heap = relation->rd_rel->relam == HEAP_TABLE_AM_OID;
    table_close(relation, NoLock);
    return heap;
}

void require_blocks(const Query* query) {
    const RangeTblEntry* const table = only_table(query);
    if (pg_call([=] { return blocks_of(table->relid); }) == 0) refuse(table, "has rows, but no blocks on this server");
}

std::vector<const Query*> block_queries(const Query* query, uint64_t seed) {
    const RangeTblEntry* const table = only_table(query);
    if (!table) refuse(nullptr, "");
    if (const char* const why = pg_call([=] { return stored_elsewhere(table); })) refuse(table, why);
    const uint64_t blocks = pg_call([=] { return blocks_of(table->relid); });
    const uint64_t ranges = std::clamp<uint64_t>(blocks, 1, max_ranges);
    std::vector<const Query*> queries(ranges);
    for (uint64_t i = 0; i < ranges; i++) {
        const auto first = static_cast<BlockNumber>(i * blocks / ranges);
        const auto last = static_cast<BlockNumber>((i + 1) * blocks / ranges);
        queries[i] = pg_call([=] { return with_blocks(query, first, last, i + 1 == ranges); });
    }
    RandomStream random(seed, stream);
    for (size_t i = queries.size(); i > 1; i--) std::swap(queries[i - 1], queries[random.below(i)]);
    return queries;
}

} // namespace btml::pg
