#include "pg/planner/arithmetic.hpp"

#include "core/relational/streamed/cells.hpp"
#include "pg/planner/factor_type.hpp"
#include "pg/planner/shape.hpp"
#include "pg/source/factoriser.hpp"

#include <bit>
#include <optional>

extern "C" {
#include "catalog/pg_namespace_d.h"
}

namespace btml::pg::planner {

using relational::CannotDecide;
using relational::RowBatch;
using relational::StreamedType;
using relational::WideDecimal;

namespace {

// Returns what numbers of a type are held as; nothing for a type without arithmetic.
std::optional<StreamedType> class_of(Oid type) {
    const FactorType* const known = factor_type(type);
    return known && known->has_arithmetic ? std::optional(known->held) : std::nullopt;
}

bool find_operation(const char* name, bool binary, Operation* operation) {
    constexpr std::pair<const char*, Operation> binaries[] = {
        {"+", Operation::add}, {"-", Operation::subtract}, {"*", Operation::multiply}, {"/", Operation::divide}};
    if (!binary) {
        *operation = Operation::negate;
        return strcmp(name, "-") == 0;
    }
    for (const auto& [known, of_name] : binaries)
        if (strcmp(name, known) == 0) {
            *operation = of_name;
            return true;
        }
    return false;
}

// Operands and result are of one class. Quotients of numerics are rounded, and floats of 4 bytes among themselves.
bool take_operator(const OpExpr* call, Arithmetic* arithmetic) {
    const int arguments = list_length(call->args);
    const std::optional<StreamedType> result = class_of(call->opresulttype);
    if (call->opno >= FirstNormalObjectId || !result || call->opresulttype == FLOAT4OID) return false;
    for (const Node* const argument : items<const Node>(call->args))
        if (class_of(exprType(argument)) != result) return false;
    if (!find_operation(get_opname(call->opno), arguments == 2, &arithmetic->operation)) return false;
    arithmetic->left = static_cast<Node*>(linitial(call->args));
    arithmetic->right = arguments == 2 ? static_cast<Node*>(lsecond(call->args)) : nullptr;
    return arithmetic->operation != Operation::divide || result != StreamedType::decimal;
}

bool take_cast(const FuncExpr* call, Arithmetic* arithmetic) {
    if (!is_widening_cast(call)) return false;
    *arithmetic = {Operation::cast, static_cast<Node*>(linitial(call->args)), nullptr};
    return true;
}

constexpr const char* out_of_range = "an expression leaves the range of its type, or is NaN";

int64_t max_integer(Oid type) {
    return type == INT2OID ? PG_INT16_MAX : type == INT4OID ? PG_INT32_MAX : PG_INT64_MAX;
}

int64_t combined(Operation operation, int64_t a, int64_t b, Oid type) {
    int64_t result = 0;
    bool overflow = false;
    switch (operation) {
    case Operation::add:
        overflow = __builtin_add_overflow(a, b, &result);
        break;
    case Operation::subtract:
        overflow = __builtin_sub_overflow(a, b, &result);
        break;
    case Operation::multiply:
        overflow = __builtin_mul_overflow(a, b, &result);
        break;
    case Operation::divide:
        if (b == 0) throw CannotDecide{"an expression divides by zero"};
        overflow = b == -1 && a == PG_INT64_MIN;
        if (!overflow) result = a / b;
        break;
    case Operation::negate:
        overflow = __builtin_sub_overflow(int64_t{0}, a, &result);
        break;
    case Operation::cast:
        result = a;
        break;
    }
    if (overflow || result > max_integer(type) || result < -max_integer(type) - 1) throw CannotDecide{out_of_range};
    return result;
}

double combined(Operation operation, double a, double b) {
    double result = a;
    bool vanished = false;
    switch (operation) {
    case Operation::add:
        result = a + b;
        break;
    case Operation::subtract:
        result = a - b;
        break;
    case Operation::multiply:
        result = a * b;
        vanished = result == 0 && a != 0 && b != 0;
        break;
    case Operation::divide:
        if (b == 0) throw CannotDecide{"an expression divides by zero"};
        result = a / b;
        vanished = result == 0 && a != 0;
        break;
    case Operation::negate:
        result = -a;
        break;
    case Operation::cast:
        break;
    }
    if (!std::isfinite(result) || vanished) throw CannotDecide{out_of_range};
    return result;
}

WideDecimal combined(Operation operation, const WideDecimal& a, const WideDecimal& b) {
    constexpr WideDecimal minus_one{-1, 0};
    switch (operation) {
    case Operation::add:
        return relational::sum(a, b);
    case Operation::subtract:
        return relational::sum(a, relational::product(b, minus_one));
    case Operation::multiply:
        return relational::product(a, b);
    case Operation::negate:
        return relational::product(a, minus_one);
    default:
        return a; // a cast: quotients of decimals are not taken
    }
}

// body(row) for the rows in which no operand is NULL.
template <class Body>
void for_each_value(RowBatch& batch, const RowBatch::Column& to, const RowBatch::Column& left,
                    const RowBatch::Column* right, const Body& body) {
    for (uint32_t row = 0; row < batch.rows; row++) {
        to.nulls[row] = left.nulls[row] | (right ? right->nulls[row] : 0);
        to.words[row] = 0;
        if (to.mantissas) to.mantissas[row] = 0;
        if (!to.nulls[row]) body(row);
    }
}

double number_at(const RowBatch::Column& column, uint32_t row) {
    return std::bit_cast<double>(column.words[row]);
}

WideDecimal decimal_at(const RowBatch::Column& column, uint32_t row) {
    return {column.mantissas[row], static_cast<int>(column.words[row])};
}

} // namespace

bool take_apart(Node* expression, Arithmetic* arithmetic) {
    expression = strip_relabel(expression);
    if (IsA(expression, OpExpr)) return take_operator(reinterpret_cast<const OpExpr*>(expression), arithmetic);
    if (IsA(expression, FuncExpr)) return take_cast(reinterpret_cast<const FuncExpr*>(expression), arithmetic);
    return false;
}

bool is_arithmetic(Node* expression) {
    Arithmetic parts;
    if (is_pure(expression)) return true;
    return take_apart(expression, &parts) && is_arithmetic(parts.left) && (!parts.right || is_arithmetic(parts.right));
}

void derive(RowBatch& batch, int column, const DerivedColumn& derived, Oid type, Oid left_type) {
    const RowBatch::Column& to = batch.columns()[column];
    const RowBatch::Column& left = batch.columns()[derived.left];
    const RowBatch::Column* const right = derived.right < 0 ? nullptr : &batch.columns()[derived.right];
    const Operation operation = derived.operation;
    const bool from_integer = class_of(left_type) == StreamedType::integer;
    switch (factor_type(type)->held) {
    case StreamedType::integer:
        for_each_value(batch, to, left, right, [&](uint32_t row) {
            to.words[row] = combined(operation, left.words[row], right ? right->words[row] : 0, type);
        });
        break;
    case StreamedType::number:
        for_each_value(batch, to, left, right, [&](uint32_t row) {
            const double a = from_integer ? static_cast<double>(left.words[row]) : number_at(left, row);
            to.words[row] = std::bit_cast<int64_t>(combined(operation, a, right ? number_at(*right, row) : 0));
        });
        break;
    case StreamedType::decimal:
        for_each_value(batch, to, left, right, [&](uint32_t row) {
            const WideDecimal a = from_integer ? WideDecimal{left.words[row], 0} : decimal_at(left, row);
            const WideDecimal b = right ? decimal_at(*right, row) : WideDecimal{0, 0};
            const WideDecimal result = combined(operation, a, b);
            to.mantissas[row] = result.mantissa;
            to.words[row] = result.scale;
        });
    }
}

} // namespace btml::pg::planner
