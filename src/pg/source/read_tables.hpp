// The tables that a query reads, sub-queries included.
#pragma once

#include "pg/bridge/nodes.hpp"

namespace btml::pg {

struct ReadTable {
    Oid table;
    char kind;
    Oid reader; // the owner of a view; InvalidOid: the current user
    bool alone; // without its partitions or children: FROM ONLY
};

// In the order in which the query has them.
ItemsOf<const ReadTable> read_tables(const Query* query);

} // namespace btml::pg
