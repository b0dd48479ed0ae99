#include "pg/planner/node.hpp"

#include "pg/bridge/nodes.hpp"
#include "pg/planner/execution.hpp"
#include "pg/planner/rights.hpp"
#include "pg/planner/watch.hpp"

extern "C" {
#include <storage/ipc.h>
}

namespace btml::pg::planner {

namespace {

constexpr char node_name[] = "btml Factorized Aggregate";

struct NodeState {
    CustomScanState scan; // first: PostgreSQL sees only this
    EState* estate;
    MemoryContext memory; // of one run
    Execution* execution; // null until the first row is asked for
    PlanState* ordinary;  // null unless it was begun with the scans or fallen back to
    const char* reason;   // why it fell back, in this run or an earlier one; null: it did not
    double max_rows;      // that the ordinary plan may find before it is given up; 0: it is not begun first
    bool is_given_up;     // in this run or an earlier one
    bool is_begun;
    bool gives_ordinary;   // the rows of the ordinary plan
    TupleTableSlot* first; // of these, where it was asked for already; else null
    uint64 next_row;
};

NodeState* state_of(CustomScanState* scan) {
    return reinterpret_cast<NodeState*>(scan);
}

const CustomScan* plan_of(const NodeState* state) {
    return castNode(CustomScan, state->scan.ss.ps.plan);
}

// Frees what is C++, at the latest when the query's memory goes. A session that is terminated while it reads leaves a
// thread behind that uses it, until the process ends.
void end_execution(NodeState* state) {
    if (!proc_exit_inprogress) delete state->execution;
    state->execution = nullptr;
}

// What EXPLAIN says of the plan, as descriptions() of the hook has it.
const char* description(const NodeState* state, int number) {
    return strVal(list_nth(static_cast<const List*>(lsecond(plan_of(state)->custom_private)), number));
}

bool reads_foreign_table(PlanState* state, void* context) {
    return IsA(state, ForeignScanState) || btml_compat_walk_states(state, reads_foreign_table, context);
}

bool has_workers(PlanState* state, void* context) {
    return IsA(state, GatherState) || IsA(state, GatherMergeState) ||
           btml_compat_walk_states(state, has_workers, context);
}

// What a foreign scan opens belongs to the subtransaction of the moment, which may end before a cursor does: the
// ordinary plan is begun with the scans where there are some.
bool is_begun_at_once(const NodeState* state) {
    if (state->max_rows > 0) return true;
    for (PlanState* const scan : items<PlanState>(state->scan.custom_ps))
        if (reads_foreign_table(scan, nullptr)) return true;
    return false;
}

void begin(CustomScanState* scan, EState* estate, int eflags) {
    NodeState* const state = state_of(scan);
    const CustomScan* const plan = plan_of(state);
    const int flags = eflags & ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK);
    state->estate = estate;
    state->max_rows = floatVal(list_nth(plan->custom_private, 4));
    for (int i = 0; i + 1 < list_length(plan->custom_plans); i++)
        scan->custom_ps =
            lappend(scan->custom_ps, ExecInitNode(static_cast<Plan*>(list_nth(plan->custom_plans, i)), estate, flags));
    if (is_begun_at_once(state)) {
        state->ordinary = ExecInitNode(static_cast<Plan*>(llast(plan->custom_plans)), estate, flags);
        scan->custom_ps = lappend(scan->custom_ps, state->ordinary);
    }
    check_rights(static_cast<const Plan*>(llast(plan->custom_plans)), eflags);
    state->memory = AllocSetContextCreate(estate->es_query_cxt, "btml factorized aggregate", ALLOCSET_DEFAULT_SIZES);
    auto* const callback = allocate<MemoryContextCallback>();
    callback->func = [](void* argument) { end_execution(static_cast<NodeState*>(argument)); };
    callback->arg = state;
    MemoryContextRegisterResetCallback(estate->es_query_cxt, callback);
}

std::span<const std::byte> plan_bytes(const CustomScan* plan) {
    const auto* const bytes = DatumGetByteaPP(castNode(Const, linitial(plan->custom_private))->constvalue);
    return {reinterpret_cast<const std::byte*>(VARDATA_ANY(bytes)), VARSIZE_ANY_EXHDR(bytes)};
}

// The initial plans of sub-queries are shared with the scans, for which they may have run to their end.
bool restart_initial_plans(PlanState* state, void* context) {
    for (SubPlanState* const initial : items<SubPlanState>(state->initPlan))
        if (initial->subplan->subLinkType != CTE_SUBLINK) ExecReScan(initial->planstate);
    return btml_compat_walk_states(state, restart_initial_plans, context);
}

void fall_back(NodeState* state) {
    // Lets go of the scans' workers, which the plan would lack; a scan that was shut down could not be run again.
    for (PlanState* const scan : items<PlanState>(state->scan.custom_ps))
        if (scan != state->ordinary && has_workers(scan, nullptr)) ExecReScan(scan);
    const MemoryContext before = MemoryContextSwitchTo(state->estate->es_query_cxt);
    if (!state->ordinary) {
        state->ordinary = ExecInitNode(static_cast<Plan*>(llast(plan_of(state)->custom_plans)), state->estate, 0);
        state->scan.custom_ps = lappend(state->scan.custom_ps, state->ordinary);
    }
    restart_initial_plans(state->ordinary, nullptr);
    MemoryContextSwitchTo(before);
    state->gives_ordinary = true;
}

void end_ordinary(NodeState* state) {
    ExecEndNode(state->ordinary);
    state->scan.custom_ps = list_delete_last(state->scan.custom_ps);
    state->ordinary = nullptr;
}

void compute(NodeState* state) {
    state->is_begun = true;
    if (state->max_rows > 0 && !state->is_given_up) {
        state->gives_ordinary = first_row_within(state->ordinary, state->max_rows, state->memory, &state->first);
        if (state->gives_ordinary) return;
        state->is_given_up = true;
        state->first = nullptr;
        end_ordinary(state);
    }
    guarded_call([=] {
        std::vector<PlanState*> scans;
        const int count = list_length(plan_of(state)->custom_plans) - 1;
        for (int i = 0; i < count; i++) scans.push_back(items<PlanState>(state->scan.custom_ps)[i]);
        state->execution =
            new Execution(plan_bytes(plan_of(state)), scans,
                          static_cast<const List*>(lfourth(plan_of(state)->custom_private)), state->memory);
        state->reason = state->execution->run();
    });
    state->next_row = 0;
    if (state->reason) fall_back(state);
}

// Puts the next row, the node's own or the ordinary plan's, into the slot; returns false where there are no more.
bool next_row(NodeState* state, TupleTableSlot* slot) {
    ExecClearTuple(slot);
    if (state->gives_ordinary) {
        TupleTableSlot* const row = state->first ? state->first : ExecProcNode(state->ordinary);
        state->first = nullptr;
        if (TupIsNull(row)) return false;
        ExecCopySlot(slot, row);
        return true;
    }
    bool more = false;
    const MemoryContext before = MemoryContextSwitchTo(state->scan.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
    guarded_call([&] {
        more = state->next_row < state->execution->rows();
        if (more) state->execution->row(state->next_row++, slot->tts_values, slot->tts_isnull);
    });
    MemoryContextSwitchTo(before);
    if (more) ExecStoreVirtualTuple(slot);
    return more;
}

TupleTableSlot* execute(CustomScanState* scan) {
    NodeState* const state = state_of(scan);
    ExprContext* const expressions = scan->ss.ps.ps_ExprContext;
    TupleTableSlot* const slot = scan->ss.ss_ScanTupleSlot;
    if (!state->is_begun) compute(state);
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        ResetExprContext(expressions);
        if (!next_row(state, slot)) return nullptr;
        expressions->ecxt_scantuple = slot;
        if (scan->ss.ps.qual && !ExecQual(scan->ss.ps.qual, expressions)) {
            InstrCountFiltered1(scan, 1);
            continue;
        }
        return scan->ss.ps.ps_ProjInfo ? ExecProject(scan->ss.ps.ps_ProjInfo) : slot;
    }
}

void end(CustomScanState* scan) {
    end_execution(state_of(scan));
    for (PlanState* const child : items<PlanState>(scan->custom_ps)) ExecEndNode(child);
}

void rescan(CustomScanState* scan) {
    NodeState* const state = state_of(scan);
    // What could not be decided once would most likely be tried in vain again.
    if (!state->reason) {
        end_execution(state);
        MemoryContextReset(state->memory);
        state->is_begun = state->gives_ordinary = false;
        state->first = nullptr;
    }
    state->next_row = 0;
    for (PlanState* const child : items<PlanState>(scan->custom_ps)) {
        if (scan->ss.ps.chgParam) UpdateChangedParamSet(child, scan->ss.ps.chgParam);
        if (!child->chgParam) ExecReScan(child);
    }
}

// What became of each table: a line of text for all, or objects with numbers.
void explain_messages(const NodeState* state, ExplainState* out) {
    const auto* const names = static_cast<const List*>(lthird(plan_of(state)->custom_private));
    const bool is_text = out->format == EXPLAIN_FORMAT_TEXT;
    List* lines = NIL;
    int scan = 0;
    if (!is_text) ExplainOpenGroup("Messages", "Messages", false, out);
    state->execution->for_each_table([&](bool is_bag, const relational::StreamedReport& counts) {
        const char* const name = is_bag ? "bag" : strVal(list_nth(names, scan++));
        const uint64_t kilobytes = (counts.bytes + 1023) / 1024;
        if (is_text) {
            lines = lappend(lines, psprintf("%s rows=" UINT64_FORMAT "/" UINT64_FORMAT " keys=" UINT64_FORMAT
                                            " memory=" UINT64_FORMAT "kB",
                                            name, counts.rows_kept, counts.rows_read, counts.keys, kilobytes));
            return;
        }
        ExplainOpenGroup("Message", nullptr, true, out);
        ExplainPropertyText("Table", name, out);
        ExplainPropertyUInteger("Rows Kept", nullptr, counts.rows_kept, out);
        ExplainPropertyUInteger("Rows Read", nullptr, counts.rows_read, out);
        ExplainPropertyUInteger("Keys", nullptr, counts.keys, out);
        ExplainPropertyUInteger("Memory", "kB", kilobytes, out);
        ExplainCloseGroup("Message", nullptr, true, out);
    });
    if (is_text)
        ExplainPropertyList("Messages", lines, out);
    else
        ExplainCloseGroup("Messages", "Messages", false, out);
}

void explain(CustomScanState* scan, List*, ExplainState* out) {
    const NodeState* const state = state_of(scan);
    ExplainPropertyText("Join Tree", description(state, 0), out);
    if (const char* const shared = description(state, 3); *shared) ExplainPropertyText("Shared Scans", shared, out);
    if (out->costs) {
        if (const double width = atof(description(state, 4)); width > 1)
            ExplainPropertyFloat("Hypertree Width", nullptr, width, 2, out);
        ExplainPropertyFloat("Join Rows", nullptr, atof(description(state, 1)), 0, out);
        ExplainPropertyFloat("Message Memory", "kB", atof(description(state, 2)), 0, out);
        if (state->max_rows > 0) ExplainPropertyFloat("Ordinary Plan First", "rows", state->max_rows, 0, out);
    }
    if (out->analyze && state->max_rows > 0) ExplainPropertyBool("Switched", state->is_given_up, out);
    if (!out->analyze || !state->execution) return;
    explain_messages(state, out);
    if (state->reason) ExplainPropertyText("Fell Back", state->reason, out);
}

constexpr CustomExecMethods exec_methods = {node_name, begin,   execute, end,     rescan,  nullptr, nullptr,
                                            nullptr,   nullptr, nullptr, nullptr, nullptr, explain};

Node* create_state(CustomScan*) {
    auto* const state = allocate<NodeState>();
    state->scan.ss.ps.type = T_CustomScanState;
    state->scan.methods = &exec_methods;
    return as_node(state);
}

constexpr CustomScanMethods scan_methods = {node_name, create_state};

// The scans and the ordinary plan share the planner's state of their sub-queries, each of which is finished twice so.
// Everything in it bears that but its AppendRelInfos, which would be shifted twice; they only name columns in EXPLAIN.
void forget_append_relations(const PlannerInfo* root) {
    for_each_subroot(root, [](PlannerInfo* of) {
        of->append_rel_list = NIL;
        forget_append_relations(of);
    });
}

Plan* plan_path(PlannerInfo* root, RelOptInfo*, CustomPath* path, List* targets, List*, List* plans) {
    forget_append_relations(root);
    auto* const scan = makeNode(CustomScan);
    scan->scan.plan.targetlist = targets;
    scan->scan.plan.qual = copy_of(static_cast<List*>(lsecond(path->custom_private)));
    scan->flags = path->flags;
    scan->custom_plans = plans;
    scan->custom_scan_tlist = static_cast<List*>(linitial(path->custom_private));
    scan->custom_private =
        list_make5(lthird(path->custom_private), lfourth(path->custom_private), list_nth(path->custom_private, 4),
                   list_nth(path->custom_private, 5), list_nth(path->custom_private, 6));
    scan->methods = &scan_methods;
    return &scan->scan.plan;
}

} // namespace

extern const CustomPathMethods path_methods = {node_name, plan_path, nullptr};

void register_node() {
    RegisterCustomScanMethods(&scan_methods);
}

} // namespace btml::pg::planner
