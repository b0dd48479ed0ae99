// Arithmetic over one table's columns that may leave the range of its type, or divide by zero. PostgreSQL would raise
// an error, for rows too that the join leaves out; so it is computed here, and what is no value ends the run with
// CannotDecide.
#pragma once

#include "core/relational/streamed/row_batch.hpp"
#include "pg/bridge/nodes.hpp"

namespace btml::pg::planner {

enum class Operation : uint8_t { add, subtract, multiply, divide, negate, cast };
constexpr Operation last_of(Operation) {
    return Operation::cast;
}

// One operation of an expression; right is null for negate and cast.
struct Arithmetic {
    Operation operation;
    Node *left, *right;
};

// Tells whether the expression is such arithmetic at its top, over integers, floats or numerics that PostgreSQL's own
// operators combine; its operands may be arithmetic again, or anything that is_pure.
bool take_apart(Node* expression, Arithmetic* arithmetic);

// Tells whether all of the expression is arithmetic over what is_pure.
bool is_arithmetic(Node* expression);

// Says in a stored plan how a column is computed from columns before it.
struct DerivedColumn {
    Operation operation;
    int left, right; // columns; −1: none

    template <class Self>
    static auto fields(Self& self) {
        return std::tie(self.operation, self.left, self.right);
    }
    friend bool operator==(const DerivedColumn&, const DerivedColumn&) = default;
};

// Fills a column of these types (of SQL) from others of the batch. Throws CannotDecide.
void derive(relational::RowBatch& batch, int column, const DerivedColumn& derived, Oid type, Oid left_type);

} // namespace btml::pg::planner
