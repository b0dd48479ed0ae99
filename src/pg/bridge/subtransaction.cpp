#include "pg/bridge/subtransaction.hpp"

namespace btml::pg {

void begin_subtransaction() {
    pg_call([] {
        const MemoryContext memory = CurrentMemoryContext;
        BeginInternalSubTransaction(nullptr);
        MemoryContextSwitchTo(memory);
    });
}

void end_subtransaction(void (*end)(), MemoryContext memory, ResourceOwner owner) {
    pg_call([=] {
        end();
        MemoryContextSwitchTo(memory);
        CurrentResourceOwner = owner;
    });
}

} // namespace btml::pg
