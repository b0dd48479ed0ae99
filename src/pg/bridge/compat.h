/* clang-format off: written and indented like PostgreSQL's own headers */
/*
 * What differs between PostgreSQL 15 and 18, under one name each. No other file looks at PG_VERSION_NUM.
 * postgres.hpp includes this file after the headers that all need.
 */
#ifndef BTML_COMPAT_H
#define BTML_COMPAT_H

#if PG_VERSION_NUM < 150000
#error "btml needs PostgreSQL 15 or later"
#endif

#include "parser/analyze.h"
#include "rewrite/rewriteManip.h"
#if PG_VERSION_NUM >= 160000
#include "parser/parse_relation.h"
#endif
#include "catalog/pg_proc.h"
#include "commands/explain.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif
#include "common/base64.h"
#include "nodes/extensible.h"
#include "partitioning/partdesc.h"
#include "utils/selfuncs.h"
#if PG_VERSION_NUM >= 170000
#include "access/xact.h"
#include "storage/dsm_registry.h"
#include "utils/resowner.h"
#else
#include "storage/lwlock.h"
#include "storage/shmem.h"
#endif
#include "utils/acl.h"
#include "utils/regproc.h"
#include "utils/timestamp.h"

/* Whether the role may call the function. */
static inline AclResult
btml_compat_check_execute(Oid function, Oid role)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(ProcedureRelationId, function, role, ACL_EXECUTE);
#else
	return pg_proc_aclcheck(function, role, ACL_EXECUTE);
#endif
}

/* The parts of a qualified name. */
static inline List *
btml_compat_name_list(const char *name)
{
#if PG_VERSION_NUM >= 160000
	return stringToQualifiedNameList(name, NULL);
#else
	return stringToQualifiedNameList(name);
#endif
}

/* Before 16 callbacks were declared without arguments, which C++ takes for functions of none. */
#if PG_VERSION_NUM >= 160000
#define BTML_CALLBACK(result, callback) (callback)
#else
#define BTML_CALLBACK(result, callback) ((result (*) ()) (void (*) ()) (callback))
#endif

static inline Node *
btml_compat_mutate(Node *node, Node *(*mutator) (Node *, void *), void *context)
{
	return expression_tree_mutator(node, BTML_CALLBACK(Node *, mutator), context);
}

static inline bool
btml_compat_walk(Node *node, bool (*walker) (Node *, void *), void *context)
{
	return expression_tree_walker(node, BTML_CALLBACK(bool, walker), context);
}

static inline bool
btml_compat_walk_raw(Node *node, bool (*walker) (Node *, void *), void *context)
{
	return raw_expression_tree_walker(node, BTML_CALLBACK(bool, walker), context);
}

static inline bool
btml_compat_walk_query(Query *query, bool (*walker) (Node *, void *), void *context, int flags)
{
	return query_tree_walker(query, BTML_CALLBACK(bool, walker), context, flags);
}

static inline bool
btml_compat_walk_states(PlanState *state, bool (*walker) (PlanState *, void *), void *context)
{
	return planstate_tree_walker(state, BTML_CALLBACK(bool, walker), context);
}

static inline Query *
btml_compat_mutate_query(Query *query, Node *(*mutator) (Node *, void *), void *context, int flags)
{
	return query_tree_mutator(query, BTML_CALLBACK(Node *, mutator), context, flags);
}

static inline Node *
btml_compat_flatten_aliases(PlannerInfo *root, Query *query, Node *node)
{
#if PG_VERSION_NUM >= 160000
	return flatten_join_alias_vars(root, query, node);
#else
	(void) root;
	return flatten_join_alias_vars(query, node);
#endif
}

/* Permissions of the current user (or of view owners) on everything the query reads; error when lacking. */
static inline void
btml_compat_check_permissions(Query *query)
{
#if PG_VERSION_NUM >= 160000
	ExecCheckPermissions(query->rtable, query->rteperminfos, true);
#else
	ExecCheckRTPerms(query->rtable, true);
#endif
}

/* The same of everything that the plan reads, sub-queries included. */
static inline void
btml_compat_check_planned_permissions(PlannedStmt *plan)
{
#if PG_VERSION_NUM >= 160000
	ExecCheckPermissions(plan->rtable, plan->permInfos, true);
#else
	ExecCheckRTPerms(plan->rtable, true);
#endif
}

/* Who reads an entry of the query's range table: the owner of a view, or InvalidOid for the current user. */
static inline Oid
btml_compat_reader(Query *query, RangeTblEntry *entry)
{
#if PG_VERSION_NUM >= 160000
	return getRTEPermissionInfo(query->rteperminfos, entry)->checkAsUser;
#else
	(void) query;
	return entry->checkAsUser;
#endif
}

/*
 * Reads another table in the place of an entry of the query's range table, as this user. Rights are not asked for: the
 * caller has seen to those of the entry.
 */
static inline void
btml_compat_replace_table(Query *query, RangeTblEntry *entry, Oid table, char kind, Oid reader)
{
#if PG_VERSION_NUM >= 160000
	RTEPermissionInfo *const permissions = getRTEPermissionInfo(query->rteperminfos, entry);

	permissions->relid = table;
	permissions->requiredPerms = 0;
	permissions->checkAsUser = reader;
#else
	(void) query;
	entry->requiredPerms = 0;
	entry->checkAsUser = reader;
#endif
	entry->relid = table;
	entry->relkind = kind;
	entry->inh = false;
}

/*
 * From 16 on, a Var says which outer joins may null it. Clears all but those of `kept` (range table indexes of joins
 * that stay in the query).
 */
static inline Node *
btml_compat_clear_nulling_joins(Node *node, Relids kept, Relids all_joins)
{
#if PG_VERSION_NUM >= 160000
	return remove_nulling_relids(node, bms_difference(all_joins, kept), NULL);
#else
	(void) kept;
	(void) all_joins;
	return node;
#endif
}

/* From 18 on, grouping sets may null a Var of the target list. Returns the expression as it is below the grouping. */
static inline Node *
btml_compat_below_grouping(PlannerInfo *root, Node *node)
{
#if PG_VERSION_NUM >= 180000
	if (root->group_rtindex > 0)
		return remove_nulling_relids(node, bms_make_singleton(root->group_rtindex), NULL);
#else
	(void) root;
#endif
	return node;
}

/* Range table indexes of the relations joined below a node of the jointree, joins left out. */
static inline Relids
btml_compat_base_relids(Node *jointree)
{
#if PG_VERSION_NUM >= 160000
	return get_relids_in_jointree(jointree, false, false);
#else
	return get_relids_in_jointree(jointree, false);
#endif
}

/* -1 or 1 for the infinite intervals that 17 brought, else 0. */
static inline int
btml_compat_infinite_interval(const Interval *interval)
{
#if PG_VERSION_NUM >= 170000
	return INTERVAL_IS_NOBEGIN(interval) ? -1 : INTERVAL_IS_NOEND(interval) ? 1 : 0;
#else
	(void) interval;
	return 0;
#endif
}

/* Relations of a join, without the outer joins that 16 counts among them. */
static inline Relids
btml_compat_without_outer_joins(PlannerInfo *root, Relids relids)
{
#if PG_VERSION_NUM >= 160000
	return bms_difference(relids, root->outer_join_rels);
#else
	(void) root;
	return relids;
#endif
}

/* From 16 on a Var says which outer joins may have made it NULL: as many as for another of the same column. */
static inline void
btml_compat_null_alike(Var *column, const Var *other)
{
#if PG_VERSION_NUM >= 160000
	column->varnullingrels = other->varnullingrels;
#else
	(void) column;
	(void) other;
#endif
}

/*
 * From 16 on a condition may stand there once for each order of outer joins: the one that asks for the fewest of them
 * to be done has clones in the same lists.
 */
static inline bool
btml_compat_is_clone(const RestrictInfo *condition)
{
#if PG_VERSION_NUM >= 160000
	return condition->is_clone;
#else
	(void) condition;
	return false;
#endif
}

/* Whether the relids, of a condition, ask for the outer join to be done; before 16 they name its relations instead. */
static inline bool
btml_compat_is_after(Relids relids, const SpecialJoinInfo *join)
{
#if PG_VERSION_NUM >= 160000
	return join->ojrelid != 0 && bms_is_member(join->ojrelid, relids);
#else
	(void) relids;
	(void) join;
	return false;
#endif
}

/* From 16 on there are no such classes. */
static inline bool
btml_compat_below_outer_join(const EquivalenceClass *equal)
{
#if PG_VERSION_NUM >= 160000
	(void) equal;
	return false;
#else
	return equal->ec_below_outer_join;
#endif
}

/* Whether an operator is a comparison that some index knows. */
static inline bool
btml_compat_is_comparison(Oid operator_)
{
#if PG_VERSION_NUM >= 180000
	return get_op_index_interpretation(operator_) != NIL;
#else
	return get_op_btree_interpretation(operator_) != NIL;
#endif
}

/* From 18 on paths count their disabled nodes; before, these made their costs grow. */
static inline void
btml_compat_add_disabled_nodes(Path *path, const Path *child)
{
#if PG_VERSION_NUM >= 180000
	path->disabled_nodes += child->disabled_nodes;
#else
	(void) path;
	(void) child;
#endif
}

/* The bytes of base64 are unsigned from 18 on. */
#if PG_VERSION_NUM >= 180000
typedef uint8 btml_compat_byte;
#else
typedef char btml_compat_byte;
#endif

static inline int
btml_compat_base64_encode(const void *bytes, int length, char *text, int room)
{
	return pg_b64_encode((const btml_compat_byte *) bytes, length, text, room);
}

static inline int
btml_compat_base64_decode(const char *text, int length, void *bytes, int room)
{
	return pg_b64_decode(text, length, (btml_compat_byte *) bytes, room);
}

static inline void
btml_compat_executor_run(QueryDesc *query)
{
#if PG_VERSION_NUM >= 180000
	ExecutorRun(query, ForwardScanDirection, 0);
#else
	ExecutorRun(query, ForwardScanDirection, 0, true);
#endif
}

/* Whether the session is about to end. */
static inline bool
btml_compat_terminating(void)
{
#if PG_VERSION_NUM >= 170000
	return ProcDiePending || ClientConnectionLost || TransactionTimeoutPending;
#else
	return ProcDiePending || ClientConnectionLost;
#endif
}

/* Whether shared memory can be attached to now: from 17 on it takes a subtransaction, which parallel mode lacks. */
static inline bool
btml_compat_may_attach(void)
{
#if PG_VERSION_NUM >= 170000
	return !IsInParallelMode();
#else
	return true;
#endif
}

/* Shared memory under a name, initialised by whoever comes first; NULL when there is no room. */
static inline void *
btml_compat_shared_memory(const char *name, Size size, void (*initialise) (void *))
{
#if PG_VERSION_NUM >= 170000
	void	   *volatile memory = NULL;
	bool		found;
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	/* An error leaves a lock of the registry held, which the end of a subtransaction releases. */
	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		MemoryContextSwitchTo(context);
		memory = GetNamedDSMSegment(name, size, initialise, &found);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		memory = NULL;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return memory;
#else
	void	   *volatile memory = NULL;
	bool		found = false;
	MemoryContext context = CurrentMemoryContext;
	uint32		holdoffs = InterruptHoldoffCount;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	PG_TRY();
	{
		memory = ShmemInitStruct(name, size, &found);
	}
	PG_CATCH();
	{
		/* Without shared_preload_libraries only the server's slack is left, and others may have taken it. */
		MemoryContextSwitchTo(context);
		FlushErrorState();
		InterruptHoldoffCount = holdoffs + 1;	/* the lock's */
	}
	PG_END_TRY();
	if (memory && !found)
		initialise(memory);
	LWLockRelease(AddinShmemInitLock);
	return memory;
#endif
}

#endif
