// The types of SQL whose values are summed, compared and multiplied here, and as what they are held.
#pragma once

#include "core/relational/streamed/plan.hpp"
#include "pg/bridge/postgres.hpp"

namespace btml::pg::planner {

struct FactorType {
    Oid type;
    relational::StreamedType held; // integer: bits that, as an integer, order and equal as the value does
    bool has_arithmetic;           // whose sums and products are values of such types again
};

// Returns null for a type that no factor has.
inline const FactorType* factor_type(Oid type) {
    using relational::StreamedType;
    static constexpr FactorType known_types[] = {
        {INT2OID, StreamedType::integer, true},       {INT4OID, StreamedType::integer, true},
        {INT8OID, StreamedType::integer, true},       {FLOAT4OID, StreamedType::number, true},
        {FLOAT8OID, StreamedType::number, true},      {NUMERICOID, StreamedType::decimal, true},
        {BOOLOID, StreamedType::integer, false},      {OIDOID, StreamedType::integer, false},
        {DATEOID, StreamedType::integer, false},      {TIMEOID, StreamedType::integer, false},
        {TIMESTAMPOID, StreamedType::integer, false}, {TIMESTAMPTZOID, StreamedType::integer, false},
    };
    for (const FactorType& known : known_types)
        if (known.type == type) return &known;
    return nullptr;
}

} // namespace btml::pg::planner
