// btml.explain_join: what became of a source, as lines of text.
#include "core/relational/join_rows.hpp"
#include "pg/bridge/arguments.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/result.hpp"
#include "pg/bridge/source.hpp"

namespace btml::pg {

using namespace relational;

namespace {

// The i-th of a list of SourceText*.
std::string text_at(const List* texts, int i) {
    const auto* const text = static_cast<const SourceText*>(list_nth(texts, i));
    return pg_call([=] { return text_of(text); });
}

std::string list_text(const List* texts, const char* between) {
    std::string all;
    for (int i = 0; i < list_length(texts); i++) all += (i > 0 ? between : "") + text_at(texts, i);
    return all;
}

class Explanation {
  public:
    Explanation(const SourceAnalysis& analysis, const Join& join) : analysis_(analysis), join_(join) {}

    std::vector<std::string> lines(RunContext& context);

  private:
    void add_table(int table, int depth);
    std::string edge(int table) const;

    const SourceAnalysis& analysis_;
    const Join& join_;
    std::vector<std::string> lines_;
};

// "on " and the names, or nothing for a join without keys.
std::string on_keys(const List* names) {
    return names ? " on " + list_text(names, ", ") : "";
}

// How a table hangs on its parent in the join tree.
std::string Explanation::edge(int table) const {
    const JoinTree::Node& node = join_.tree().nodes[static_cast<size_t>(table)];
    for (int i = 0; i < list_length(analysis_.left_joins); i++) {
        const auto* const join = static_cast<const SourceLeftJoin*>(list_nth(analysis_.left_joins, i));
        if (join->left == node.parent && join->right == table) return "left join" + on_keys(join->names);
        if (join->left == table && join->right == node.parent) return "right join" + on_keys(join->names);
    }
    std::string on;
    for (int attribute : node.separator) on += (on.empty() ? "on " : ", ") + text_at(analysis_.attributes, attribute);
    return on.empty() ? "cross join" : on;
}

void Explanation::add_table(int table, int depth) {
    const auto* const relation = static_cast<const SourceRelation*>(list_nth(analysis_.relations, table));
    const std::string indent(static_cast<size_t>(depth) * 2, ' ');
    std::string line = indent + (depth > 0 ? "-> " : "") + relation->name;
    if (depth > 0) line += " " + edge(table);
    const uint64_t kept = join_.tables()[static_cast<size_t>(table)].rows, read = join_.rows_read(table);
    line += format("  (rows: %llu read, %llu in the join)", static_cast<unsigned long long>(read),
                   static_cast<unsigned long long>(kept));
    lines_.push_back(line);
    const std::string below = indent + (depth > 0 ? "     " : "  ");
    if (relation->reason) lines_.push_back(below + "Not factorised: " + relation->reason);
    if (relation->filters) lines_.push_back(below + "Filter: " + list_text(relation->filters, " AND "));
    for (int child : join_.tree().nodes[static_cast<size_t>(table)].children) add_table(child, depth + 1);
}

std::vector<std::string> Explanation::lines(RunContext& context) {
    const uint64_t rows = join_.count(context);
    const size_t tables = join_.tables().size();
    if (tables == 1)
        lines_.push_back(format("One relation: %llu rows", static_cast<unsigned long long>(rows)));
    else
        lines_.push_back(format("Join of %zu relations: %llu rows, not materialised", tables,
                                static_cast<unsigned long long>(rows)));
    add_table(join_.tree().root(), 0);
    if (tables > 1) lines_.push_back("Acyclic: fractional hypertree width 1");
    const uint64_t bytes = enumeration_bytes(join_, context);
    const auto kilobytes = [](uint64_t count) { return static_cast<unsigned long long>((count + 1023) / 1024); };
    if (rows > max_rows)
        lines_.push_back(format("Training strategy: none, the join has more than the %llu rows that can be enumerated",
                                static_cast<unsigned long long>(max_rows)));
    else if (bytes > context.memory().limit())
        lines_.push_back(format("Training strategy: none, row ids need %llu kB, btml.memory_limit is %llu kB",
                                kilobytes(bytes), kilobytes(context.memory().limit())));
    else
        lines_.push_back(format("Training strategy: enumerate, with %llu kB of row ids", kilobytes(bytes)));
    return std::move(lines_);
}

} // namespace

// btml.explain_join(source text) → setof text
BTML_FUNCTION(btml_explain_join) {
    const std::string text = Arguments(fcinfo).string(0, "source");
    ResultRows rows(fcinfo);
    BackendContext context("explain_join");
    const Source source(text);
    LoadedSource loaded = source.read({}, context);
    const Join join(std::move(loaded.tables), std::move(loaded.left_joins), context);
    for (const std::string& line : Explanation(source.analysis(), join).lines(context)) {
        rows.add_text(line);
        rows.finish_row();
    }
    return rows.done();
}

} // namespace btml::pg
