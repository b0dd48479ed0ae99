// Rights on functions that btml calls for the current user.
#pragma once

#include "pg/bridge/postgres.hpp"

namespace btml::pg {

// Permission denied unless the role may call the function, which the error calls what `kind` says. May ereport.
void require_execute(Oid function, Oid role = GetUserId(), ObjectType kind = OBJECT_FUNCTION);

// Tells whether the current user may call the function. May ereport.
bool may_execute(Oid function);

// Tells whether the function may be called though nobody wrote it down: it is the current user's own, or a superuser's.
// May ereport.
bool is_trusted(Oid function);

} // namespace btml::pg
