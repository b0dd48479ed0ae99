// Work that an error undoes before anybody hears of it.
#pragma once

#include "pg/bridge/guard.hpp"

extern "C" {
#include "access/xact.h"
#include "utils/resowner.h"
}

namespace btml::pg {

// Runs work(), which returns a value, in a subtransaction that an exception rolls back on its way. Who is outside may
// end a PgError there.
template <class Work>
auto in_subtransaction(const Work& work) {
    const MemoryContext memory = CurrentMemoryContext;
    const ResourceOwner owner = CurrentResourceOwner;
    pg_call([=] {
        BeginInternalSubTransaction(nullptr);
        MemoryContextSwitchTo(memory);
    });
    const auto end_by = [=](void (*end)()) {
        pg_call([=] {
            end();
            MemoryContextSwitchTo(memory);
            CurrentResourceOwner = owner;
        });
    };
    try {
        auto result = work();
        end_by(ReleaseCurrentSubTransaction);
        return result;
    } catch (...) {
        end_by(RollbackAndReleaseCurrentSubTransaction);
        throw;
    }
}

} // namespace btml::pg
