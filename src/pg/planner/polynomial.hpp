// The argument of an aggregate as a sum of products of factors of one table each.
#pragma once

#include "pg/planner/shape.hpp"

namespace btml::pg::planner {

class Polynomial {
    // Only plain data: a PostgreSQL error may leave at any call.
  public:
    explicit Polynomial(const JoinShape& join) : join_(join) {}

    // Takes the expression apart. Where only sums may be (of extrema), products over several tables ask to be joined
    // first, and so do sums of floats, whose order of additions is SQL's.
    Refusal take(Node* expression, bool only_sums);

    List* terms() const { return terms_; }   // of Term*
    List* bounds() const { return bounds_; } // of Bound*

  private:
    Refusal add(Node* expression, List** terms);
    Refusal add_operator(const OpExpr* call, List** terms);
    Refusal multiply(const OpExpr* call, List** terms);
    Refusal add_factor(Node* expression, List** terms);
    void add_bound(const OpExpr* call, List* terms);

    const JoinShape& join_;
    bool only_sums_ = false;
    List* terms_ = NIL;
    List* bounds_ = NIL;
};

// Columns of the inner side of a left join are NULL in rows without a partner, where only a strict expression is known
// to be; those of a semi-join's are not to be had.
Refusal refuse_hung(const JoinShape& join, int table, Node* expression);

} // namespace btml::pg::planner
