// Keeps an object at a function's call site from one row to the next.
#pragma once

#include "pg/bridge/guard.hpp"

#include <memory>

namespace btml::pg {

// The object of this call site, which make() makes as a std::unique_ptr at the first call. It is destroyed with the
// query.
template <class T, class Make>
T& kept_at_call_site(FunctionCallInfo fcinfo, const Make& make) {
    FmgrInfo* const function = fcinfo->flinfo;
    if (!function->fn_extra) {
        auto* const callback = pg_call([=] {
            return static_cast<MemoryContextCallback*>(
                MemoryContextAllocZero(function->fn_mcxt, sizeof(MemoryContextCallback)));
        });
        std::unique_ptr<T> made = make();
        callback->func = [](void* object) { delete static_cast<T*>(object); };
        callback->arg = function->fn_extra = made.release();
        MemoryContextRegisterResetCallback(function->fn_mcxt, callback);
    }
    return *static_cast<T*>(function->fn_extra);
}

} // namespace btml::pg
