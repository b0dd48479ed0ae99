// The argument of an aggregate as a sum of products of factors of one table each.
#pragma once

#include "pg/planner/shape.hpp"

namespace btml::pg::planner {

class Polynomial {
    // Only plain data: a PostgreSQL error may leave at any call.
  public:
    Polynomial(const JoinShape& join, const char* aggregate) : join_(join), aggregate_(aggregate) {}

    // What may be over several tables; else they ask to be joined first, as sums of floats do always, whose order of
    // additions is SQL's.
    enum class Form : uint8_t { any, sum, product };
    Refusal take(Node* expression, Form form);

    List* terms() const { return terms_; }   // of Term*
    List* bounds() const { return bounds_; } // of Bound*

  private:
    Refusal add(Node* expression, List** terms);
    Refusal add_operator(const OpExpr* call, List** terms);
    Refusal multiply(const OpExpr* call, List** terms);
    Refusal add_factor(Node* expression, List** terms);
    void add_bound(const OpExpr* call, List* terms);
    Refusal joined_first(Node* expression, const char* flaw) const;

    const JoinShape& join_;
    const char* const aggregate_; // names the one whose argument it is
    Form form_ = Form::any;
    List* terms_ = NIL;
    List* bounds_ = NIL;
};

// Refuses what cannot be had of a table that is the inner side of a join: its columns, unless it is a left join's. They
// are NULL in rows without a partner, where only a strict expression is known to be.
Refusal refuse_inner_side(const JoinShape& join, int table, Node* expression);

} // namespace btml::pg::planner
