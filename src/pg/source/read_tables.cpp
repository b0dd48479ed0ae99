#include "pg/source/read_tables.hpp"

#include "pg/bridge/guard.hpp"

extern "C" {
#include "catalog/pg_class.h"
}

namespace btml::pg {

// found: a List* of ReadTable*.
static bool find_tables(Node* node, void* found) {
    if (!node) return false;
    if (!IsA(node, Query)) return btml_compat_walk(node, find_tables, found);
    auto* const query = reinterpret_cast<Query*>(node);
    List** const tables = static_cast<List**>(found);
    for (RangeTblEntry* const entry : items<RangeTblEntry>(query->rtable)) {
        // A view that was expanded leaves an entry that nothing reads.
        if (entry->rtekind != RTE_RELATION || entry->relkind == RELKIND_VIEW) continue;
        auto* const read = static_cast<ReadTable*>(palloc(sizeof(ReadTable)));
        *read = {entry->relid, entry->relkind, btml_compat_reader(query, entry), !entry->inh};
        *tables = lappend(*tables, read);
    }
    return btml_compat_walk_query(query, find_tables, found, 0);
}

ItemsOf<const ReadTable> read_tables(const Query* query) {
    return items<const ReadTable>(pg_call([=] {
        List* tables = NIL;
        find_tables(as_node(const_cast<Query*>(query)), &tables);
        return tables;
    }));
}

} // namespace btml::pg
