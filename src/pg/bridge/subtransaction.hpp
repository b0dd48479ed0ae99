// Work that an error undoes before anybody hears of it.
#pragma once

#include "pg/bridge/guard.hpp"

namespace btml::pg {

struct OuterTransaction {
    MemoryContext memory;
    ResourceOwner owner;
};
OuterTransaction begin_subtransaction();
void commit_subtransaction(const OuterTransaction& outer);
void roll_back_subtransaction(const OuterTransaction& outer);

// Runs work(), which returns a value, in a subtransaction that an exception rolls back on its way. Who is outside may
// end a PgError there.
template <class Work>
auto in_subtransaction(const Work& work) {
    const OuterTransaction outer = begin_subtransaction();
    try {
        auto result = work();
        commit_subtransaction(outer);
        return result;
    } catch (...) {
        roll_back_subtransaction(outer);
        throw;
    }
}

} // namespace btml::pg
