#include "pg/bridge/subtransaction.hpp"

extern "C" {
#include "access/xact.h"
#include "utils/resowner.h"
}

namespace btml::pg {

OuterTransaction begin_subtransaction() {
    return pg_call([] {
        const OuterTransaction outer{CurrentMemoryContext, CurrentResourceOwner};
        BeginInternalSubTransaction(nullptr);
        MemoryContextSwitchTo(outer.memory);
        return outer;
    });
}

static void end_subtransaction(const OuterTransaction& outer, void (*end)()) {
    pg_call([&] {
        end();
        MemoryContextSwitchTo(outer.memory);
        CurrentResourceOwner = outer.owner;
    });
}

void commit_subtransaction(const OuterTransaction& outer) {
    end_subtransaction(outer, ReleaseCurrentSubTransaction);
}

void roll_back_subtransaction(const OuterTransaction& outer) {
    end_subtransaction(outer, RollbackAndReleaseCurrentSubTransaction);
}

} // namespace btml::pg
