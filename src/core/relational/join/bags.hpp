// Cyclic joins made acyclic. A bag is the set of combinations of some join attributes that all tables allow; joining
// the bags of a hypertree decomposition to the tables changes no row of the join, and what comes out is acyclic. Tables
// keep their rows, duplicates included, and their columns: a bag multiplies none of them.
#pragma once

#include "core/relational/join/key_codes.hpp"
#include "core/relational/join/table.hpp"

#include <map>

namespace btml::relational {

struct Bag {
    std::vector<int> attributes; // ascending
    std::vector<int> tables; // tables of the cycle all of whose attributes in it the bag has; all it joins, if need be
    double agm_bound = 0;    // on its rows: n^(fractional cover number) where each projection has n rows
};

// By table and bag: the codes of the attributes that they share, of the table's rows and of the bag's.
using BagCodes = std::map<std::pair<int, int>, KeyCodes>;

struct CyclicPart {
    std::vector<Bag> bags;
    double width = 1;  // the join's fractional hypertree width, 1 if and only if it is acyclic
    bool exact = true; // otherwise an upper bound on it
};

// Appends a Table of key columns for each bag to `tables`, and a mask of all its rows to `masks`; `core` are the tables
// that GYO leaves over. A bag is built by a worst-case-optimal join of the tables' projections to its attributes, rows
// that a mask leaves out not counted: in time and memory of its AGM bound at most. The join knows from which of the
// projections' tuples a row of the bag is made, which gives their codes; rows of a table that a mask leaves out join to
// nothing there. Errors memory_limit, with both numbers, and limit_exceeded beyond max_rows; both name the bag's
// tables.
CyclicPart add_bags(std::vector<Table>& tables, std::vector<RowMask>& masks, const std::vector<int>& core,
                    BagCodes& codes, RunContext& context);

} // namespace btml::relational
