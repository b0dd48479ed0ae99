// Conditions over two tables as keys: of outer and semi-joins, of what is subtracted, of messages in order.
#pragma once

#include "pg/planner/shape.hpp"

namespace btml::pg::planner {

constexpr Refusal several_partners = "an outer join has conditions over several tables",
                  odd_outer_keys = "the keys of an outer join cannot be compared by their bytes";

// Gives the table a key of an attribute, which the first of its keys makes.
Refusal add_key(PlannerInfo* root, TableShape* table, Expr* expression, const List* families, Oid collation, int number,
                Attribute** attribute);

// Names an attribute by a comparison of the two expressions.
void name_pair(PlannerInfo* root, const Expr* left, const char* operator_, const Expr* right, Attribute* attribute);

// Returns the conditions (RestrictInfo*) of ON of an outer join, of whose inner side this table is.
List* conditions_of(const JoinShape* join, const SpecialJoinInfo* special, int table);

// Tells whether a scan can give each combination of the table's keys once.
bool can_be_distinct(const TableShape& table);

// Tells whether an outer join compares its inner side with more than one table.
bool has_several_partners(const JoinShape* join, const SpecialJoinInfo* special, int table);

// Makes an anti-join with several tables an exclusion.
Refusal exclude_partners(JoinShape* join, const SpecialJoinInfo* special, int table);

bool may_exclude_more(const JoinShape* join);

// Tells whether all relations have the same rows each time that they are read.
bool rows_never_vary(const PlannerInfo* root);

// Claims x <> y over two tables, which leaves out rows in which they are equal; returns false for another condition.
bool exclude_equal(JoinShape* join, RestrictInfo* condition);

// Claims x < y, or its like, over two tables: an attribute with an order; returns false for another condition.
bool order_rows(JoinShape* join, RestrictInfo* condition);
relational::KeyOrder reversed(relational::KeyOrder order);

// Returns the two sides of an operator, of one inner table each; false for another condition.
bool take_pair(const JoinShape* join, const RestrictInfo* condition, Expr** left, Expr** right);
// Claims the condition as an attribute of these two; null where they have no keys that compare.
Attribute* add_pair(JoinShape* join, RestrictInfo* condition, Expr* left, Expr* right, const List* families);

} // namespace btml::pg::planner
