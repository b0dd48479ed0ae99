#include "pg/bridge/function_rights.hpp"

extern "C" {
#include "utils/syscache.h"
}

namespace btml::pg {

void require_execute(Oid function, Oid role, ObjectType kind) {
    const AclResult allowed = btml_compat_check_execute(function, role);
    if (allowed != ACLCHECK_OK) aclcheck_error(allowed, kind, get_func_name(function));
}

bool may_execute(Oid function) {
    return btml_compat_check_execute(function, GetUserId()) == ACLCHECK_OK;
}

bool is_trusted(Oid function) {
    const HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for function %u", function);
    const Oid owner = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple))->proowner;
    ReleaseSysCache(tuple);
    return owner == GetUserId() || superuser_arg(owner);
}

} // namespace btml::pg
