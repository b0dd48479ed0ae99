#include "pg/monte_carlo_pages.hpp"

#include "pg/bridge/nodes.hpp"
#include "pg/source/random_blocks.hpp"

extern "C" {
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_statistic.h"
#include "common/hashfn.h"
#include "parser/parse_func.h"
#include "storage/bufmgr.h"
#include "storage/itemptr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
}

namespace btml::pg {

namespace {

// The one plain table that the query reads, or null.
RangeTblEntry* plain_table(const Query* query) {
    if (query->commandType != CMD_SELECT || query->hasAggs || query->hasWindowFuncs || query->hasTargetSRFs ||
        query->hasSubLinks || query->hasModifyingCTE || query->groupClause || query->groupingSets ||
        query->havingQual || query->distinctClause || query->limitOffset || query->limitCount || query->setOperations ||
        query->rowMarks || query->cteList || !query->jointree || list_length(query->jointree->fromlist) != 1)
        return nullptr;
    Node* const from = static_cast<Node*>(linitial(query->jointree->fromlist));
    if (!IsA(from, RangeTblRef)) return nullptr;
    RangeTblEntry* const table = rt_fetch(reinterpret_cast<RangeTblRef*>(from)->rtindex, query->rtable);
    const bool plain = table->rtekind == RTE_RELATION && !table->tablesample &&
                       (table->relkind == RELKIND_RELATION || table->relkind == RELKIND_MATVIEW) &&
                       !(table->inh && has_subclass(table->relid)) && is_heap(table->relid);
    return plain ? table : nullptr;
}

// Returns the largest magnitude among the most common values, or the histogram's bounds.
double largest_of(HeapTuple statistics, int slot_kind, NumberKind kind) {
    AttStatsSlot slot;
    if (!get_attstatsslot(&slot, statistics, slot_kind, InvalidOid, ATTSTATSSLOT_VALUES)) return 0;
    double largest = 0;
    for (int i = 0; i < slot.nvalues; i++) {
        const double x = to_number(slot.values[i], kind, nullptr);
        largest = std::max(largest, std::isfinite(x) ? std::abs(x) : std::numeric_limits<double>::infinity());
    }
    free_attstatsslot(&slot);
    return largest;
}

// The query over a sample of its table, with the row's place as a second column.
Query* sampled(const Query* query, double percent, double seed) {
    Query* const copy = copy_of(query);
    RangeTblEntry* const table = plain_table(copy);
    TableSampleClause* const sample = makeNode(TableSampleClause);
    Oid internal[] = {INTERNALOID};
    sample->tsmhandler = LookupFuncName(list_make2(makeString(pstrdup("pg_catalog")), makeString(pstrdup("system"))), 1,
                                        internal, false);
    sample->args = list_make1(makeConst(FLOAT4OID, -1, InvalidOid, sizeof(float4),
                                        Float4GetDatum(static_cast<float4>(percent)), false, true));
    sample->repeatable = reinterpret_cast<Expr*>(
        makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8), Float8GetDatum(seed), false, FLOAT8PASSBYVAL));
    table->tablesample = sample;
    const auto* const from = static_cast<RangeTblRef*>(linitial(copy->jointree->fromlist));
    Var* const place = makeVar(from->rtindex, SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid, 0);
    copy->targetList = list_make2(linitial(copy->targetList),
                                  makeTargetEntry(reinterpret_cast<Expr*>(place), 2, pstrdup("ctid"), false));
    return copy;
}

// The pages that TABLESAMPLE SYSTEM draws, as the server's access/tablesample/system.c chooses them: also those of
// which no row is seen.
class DrawnPages {
  public:
    DrawnPages(uint64_t pages, double percent, double seed, MemoryBudget& budget)
        : index_(budget, "pages of a table", pages) {
        const uint32 hash =
            DatumGetUInt32(pg_call([=] { return DirectFunctionCall1(hashfloat8, Float8GetDatum(seed)); }));
        const auto cutoff = static_cast<uint64_t>(
            std::rint((static_cast<double>(UINT32_MAX) + 1) * static_cast<float4>(percent) / 100));
        for (uint64_t page = 0; page < pages; page++) {
            const uint32 input[] = {static_cast<uint32>(page), hash};
            const uint32 draw = DatumGetUInt32(hash_any(reinterpret_cast<const unsigned char*>(input), sizeof(input)));
            index_[page] = draw < cutoff ? static_cast<uint32_t>(count_++) : none;
        }
    }

    size_t count() const { return count_; }
    // The number of a drawn page among those.
    size_t number(uint64_t page) const {
        if (page >= index_.size() || index_[page] == none)
            throw Error(ErrorCode::internal, "TABLESAMPLE SYSTEM drew a page that was not expected");
        return index_[page];
    }

  private:
    static constexpr uint32_t none = UINT32_MAX;

    Buffer<uint32_t> index_; // of each page
    size_t count_ = 0;
};

} // namespace

double summand(Datum value, bool null, NumberKind kind, NumberColumn& column) {
    if (null) return 0;
    const double x = guarded_number(value, kind, column);
    if (!std::isfinite(x))
        throw Error(ErrorCode::out_of_range,
                    format("column \"%s\" is %s in a row", column.name, std::isnan(x) ? "NaN" : "infinite"), "",
                    "Leave such rows out with WHERE.");
    return x;
}

std::optional<PageSample> PageSample::of(const Source& source) {
    const auto* const relation = static_cast<const SourceRelation*>(linitial(source.analysis().relations));
    const Query* const query = relation->query;
    const RangeTblEntry* const table = pg_call([=] { return plain_table(query); });
    if (!table) return std::nullopt;
    return PageSample(query, source, table->relid);
}

PageSample::PageSample(const Query* query, const Source& source, Oid table)
    : query_(query),
      sql_(source.analysis().text),
      column_(source.columns()[0].name.c_str()),
      kind_(source.columns()[0].number),
      pages_(pg_call([=] { return blocks_of(table); })) {}

double PageSample::largest_known() const {
    const auto* const entry = static_cast<const TargetEntry*>(linitial(query_->targetList));
    if (!IsA(entry->expr, Var)) return 0;
    const Var* const column = reinterpret_cast<const Var*>(entry->expr);
    const RangeTblEntry* const table = plain_table(query_);
    return pg_call([=, this] {
        HeapTuple const statistics = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(table->relid),
                                                     Int16GetDatum(column->varattno), BoolGetDatum(false));
        if (!HeapTupleIsValid(statistics)) return 0.0;
        const double largest = std::max(largest_of(statistics, STATISTIC_KIND_MCV, kind_),
                                        largest_of(statistics, STATISTIC_KIND_HISTOGRAM, kind_));
        ReleaseSysCache(statistics);
        return largest;
    });
}

Buffer<double> PageSample::totals(double fraction, uint64_t seed, uint64_t& rows, RunContext& context) const {
    const double percent = std::min(100.0, 100 * fraction), repeatable = static_cast<double>(seed % 1'000'000'007);
    const DrawnPages drawn(pages_, percent, repeatable, context.memory());
    Buffer<double> totals(context.memory(), "totals of pages", drawn.count(), 0);
    NumberColumn column{column_};
    EachRow sink([&](const Datum* values, const bool* nulls) {
        const auto* const place = reinterpret_cast<const ItemPointerData*>(DatumGetPointer(values[1]));
        totals[drawn.number(ItemPointerGetBlockNumber(place))] += summand(values[0], nulls[0], kind_, column);
        return true;
    });
    const Query* const query = pg_call([=, this] { return sampled(query_, percent, repeatable); });
    rows += run_query(query, sql_, sink, "sampling pages", context);
    return totals;
}

} // namespace btml::pg
