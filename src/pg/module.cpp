// The loadable module.
#include "core/base/version.hpp"
#include "pg/bridge/guard.hpp"
#include "pg/bridge/settings.hpp"
#include "pg/planner/hook.hpp"
#include "pg/planner/node.hpp"
#include "pg/values/result.hpp"

extern "C" {
PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);
void _PG_init(void) {
    btml::pg::define_settings();
    btml::pg::planner::register_node();
    btml::pg::planner::install_hook();
}
}

// btml.version() → text
BTML_FUNCTION(btml_version) {
    return btml::pg::text_datum(btml::version);
}
