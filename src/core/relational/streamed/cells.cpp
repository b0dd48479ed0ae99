#include "core/relational/streamed/cells.hpp"

namespace btml::relational {

void refuse(const char* reason) {
    throw CannotDecide{reason};
}

void store_absent(CellKind kind, uint64_t* cell) {
    if (is_number(kind))
        *cell = absent_number;
    else if (kind == CellKind::count)
        store_integer(cell, 0);
    else if (is_integer(kind))
        store_integer(cell, absent_integer);
    else
        store_decimal(cell, {absent_integer, 0});
}

bool is_ambiguous(CellKind kind, const uint64_t* cell) {
    if (kind == CellKind::number_min || kind == CellKind::number_max) return *cell == ambiguous_zero;
    return is_extremum(kind) && !is_integer(kind) && load_decimal(cell).ambiguous;
}

StreamedCell read_cell(CellKind kind, const uint64_t* cell) {
    if (is_number(kind)) {
        const bool absent = *cell == absent_number;
        return {absent, 0, 0, absent ? 0 : std::bit_cast<double>(*cell)};
    }
    if (kind == CellKind::count) return {load_integer(cell) == 0, load_integer(cell), 0, 0};
    const bool absent = load_integer(cell) == absent_integer;
    if (absent) return {true, 0, 0, 0};
    return {false, load_integer(cell), is_integer(kind) ? 0 : load_decimal(cell).scale, 0};
}

} // namespace btml::relational
