// Work that an error undoes before anybody hears of it.
#pragma once

#include "pg/bridge/guard.hpp"

extern "C" {
#include "access/xact.h"
#include "utils/resowner.h"
}

namespace btml::pg {

void begin_subtransaction();
// Ends it by this function of PostgreSQL; memory, owner: those of before it.
void end_subtransaction(void (*end)(), MemoryContext memory, ResourceOwner owner);

// Runs work(), which returns a value, in a subtransaction that an exception rolls back on its way. Who is outside may
// end a PgError there.
template <class Work>
auto in_subtransaction(const Work& work) {
    const MemoryContext memory = CurrentMemoryContext;
    const ResourceOwner owner = CurrentResourceOwner;
    begin_subtransaction();
    try {
        auto result = work();
        end_subtransaction(ReleaseCurrentSubTransaction, memory, owner);
        return result;
    } catch (...) {
        end_subtransaction(RollbackAndReleaseCurrentSubTransaction, memory, owner);
        throw;
    }
}

} // namespace btml::pg
