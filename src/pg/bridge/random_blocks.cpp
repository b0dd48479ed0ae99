#include "pg/bridge/random_blocks.hpp"

#include "core/base/rng.hpp"
#include "pg/bridge/nodes.hpp"

extern "C" {
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "storage/bufmgr.h"
}

namespace btml::pg {

namespace {

constexpr uint64_t stream = 0x626c6f636b73;         // "blocks"
constexpr Oid less = 2799, greater_or_equal = 2802; // operators of tid; not all versions have names for them

bool is_stored_table(const Query* query) {
    if (list_length(query->rtable) != 1 || query->setOperations || query->hasAggs || query->hasWindowFuncs ||
        query->hasTargetSRFs || query->groupClause || query->groupingSets || query->distinctClause ||
        query->sortClause || query->limitCount || query->limitOffset || query->rowMarks || query->cteList)
        return false;
    const auto* const table = static_cast<const RangeTblEntry*>(linitial(query->rtable));
    return table->rtekind == RTE_RELATION && !table->tablesample &&
           (table->relkind == RELKIND_RELATION || table->relkind == RELKIND_MATVIEW);
}

BlockNumber blocks_of(const Query* query) {
    const auto* const entry = static_cast<const RangeTblEntry*>(linitial(query->rtable));
    const Relation table = table_open(entry->relid, AccessShareLock);
    const BlockNumber blocks = RelationGetNumberOfBlocks(table);
    table_close(table, NoLock);
    return blocks;
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
    List* conditions = list_make1(compare(greater_or_equal, first));
    if (!is_last) conditions = lappend(conditions, compare(less, last));
    if (result->jointree->quals) conditions = lcons(result->jointree->quals, conditions);
    result->jointree->quals = as_node(makeBoolExpr(AND_EXPR, conditions, -1));
    return result;
}

} // namespace

std::vector<const Query*> block_queries(const Query* query, uint64_t seed) {
    if (!pg_call([=] { return is_stored_table(query); }))
        throw Error(ErrorCode::not_supported, "scan_order \"random_blocks\" needs a source that reads one table", "",
                    "Name a table, or SELECT from one without joins, grouping, sorting or LIMIT.");
    const uint64_t blocks = pg_call([=] { return blocks_of(query); });
    const uint64_t ranges = std::clamp<uint64_t>(blocks, 1, btml_compat_max_block_ranges);
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
