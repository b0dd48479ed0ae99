// btml.explain_join: what became of a source, as lines of text.
#include "core/boosting/strategy.hpp"
#include "core/relational/join/join_rows.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/nodes.hpp"
#include "pg/distributed/citus.hpp"
#include "pg/source/partitions.hpp"
#include "pg/source/source.hpp"
#include "pg/values/arguments.hpp"
#include "pg/values/result.hpp"

namespace btml::pg {

using namespace relational;

namespace {

// The i-th of a list of SourceText*.
std::string text_at(const List* texts, int i) {
    const auto* const text = items<const SourceText>(texts)[i];
    return pg_call([=] { return text_of(text); });
}

std::string list_text(const List* texts, const char* between) {
    std::string all;
    for (int i = 0; i < list_length(texts); i++) all += (i > 0 ? between : "") + text_at(texts, i);
    return all;
}

// "on " and the names, or nothing for a join without keys.
std::string on_keys(const List* names) {
    return names ? " on " + list_text(names, ", ") : "";
}

class Explanation {
  public:
    Explanation(const SourceAnalysis& analysis, const Join& join, RunContext& context)
        : analysis_(analysis), join_(join), context_(context) {}

    std::vector<std::string> lines() {
        const uint64_t rows = join_.count(context_);
        const int relations = join_.relations();
        if (relations == 1)
            lines_.push_back(format("One relation: %" PRIu64 " rows", rows));
        else
            lines_.push_back(
                format("Join of %d relations: %" PRIu64 " rows, %s", relations, rows,
                       join_.cycles().bags.empty() ? "not materialised" : "materialised in bags of keys only"));
        add_table(join_.tree().root(), 0);
        if (relations > 1) lines_.push_back(structure());
        const auto outputs = static_cast<size_t>(list_length(analysis_.outputs));
        const boosting::Workload workload{.features = std::max<size_t>(outputs, 1) - 1}; // all but a target
        const boosting::StrategyChoice choice = choose_strategy(join_, workload, boosting::Options(), context_);
        const char* const name = choice.strategy == boosting::Strategy::factorize ? "factorize" : "enumerate";
        lines_.push_back(format("Training strategy: %s, %s", name, choice.reason.c_str()));
        return std::move(lines_);
    }

  private:
    void add_table(int table, int depth) {
        const std::string indent(static_cast<size_t>(depth) * 2, ' ');
        const std::string arrow = indent + (depth > 0 ? "-> " : ""), how = depth > 0 ? " " + edge(table) : "";
        const bool is_bag = table >= join_.relations();
        const Bag* const bag = is_bag ? &join_.cycles().bags[table - join_.relations()] : nullptr;
        const std::string came =
            bag ? format("at most %.15g by the AGM bound, %" PRIu64 " made", bag->agm_bound, join_.rows_read(table))
                : format("%" PRIu64 " read", join_.rows_read(table));
        lines_.push_back(arrow + (bag ? describe(*bag) : relation(table)->name) + how + "  (rows: " + came +
                         format(", %" PRIu64 " in the join)", join_.tables()[table].rows));
        if (!bag) add_remarks(table, indent + (depth > 0 ? "     " : "  "));
        for (int child : join_.tree().nodes[table].children) add_table(child, depth + 1);
    }

    void add_remarks(int table, const std::string& below) {
        const ForeignTables foreign = foreign_tables(relation(table)->query);
        std::string servers;
        for (const std::string& server : foreign.servers) servers += (servers.empty() ? "" : ", ") + server;
        if (!foreign.tables.empty())
            lines_.push_back(below + format("Fetched from %zu foreign table%s of %s", foreign.tables.size(),
                                            foreign.tables.size() == 1 ? "" : "s", servers.c_str()));
        for (const CitusTable& distributed : citus_tables(relation(table)->query, context_))
            if (!distributed.key.empty())
                lines_.push_back(below + format("Fetched from %" PRIu64 " shards of Citus on %" PRIu64
                                                " servers, by %s",
                                                distributed.shards, distributed.servers, distributed.key.c_str()));
        if (relation(table)->reason) lines_.push_back(below + "Not factorised: " + relation(table)->reason);
        if (relation(table)->filters)
            lines_.push_back(below + "Filter: " + list_text(relation(table)->filters, " AND "));
    }

    // How a table hangs on its parent in the join tree.
    std::string edge(int table) const {
        const JoinTree::Node& node = join_.tree().nodes[table];
        for (int i = 0; i < list_length(analysis_.left_joins); i++) {
            const auto* const join = items<const SourceLeftJoin>(analysis_.left_joins)[i];
            if (join->left == node.parent && join->right == table) return "left join" + on_keys(join->names);
            if (join->left == table && join->right == node.parent) return "right join" + on_keys(join->names);
        }
        return node.separator.empty() ? "cross join" : "on " + attribute_names(node.separator);
    }

    std::string describe(const Bag& bag) const {
        std::string tables;
        for (int table : bag.tables) tables += (tables.empty() ? "" : ", ") + std::string(relation(table)->name);
        return "bag (" + attribute_names(bag.attributes) + ") of " + tables;
    }

    std::string structure() const {
        if (join_.cycles().bags.empty()) return "Acyclic: fractional hypertree width 1";
        return format("Cyclic: fractional hypertree width %s%.4g, the cost is that of the largest bag",
                      join_.cycles().exact ? "" : "at most ", join_.cycles().width);
    }

    std::string attribute_names(const std::vector<int>& attributes) const {
        std::string names;
        for (int attribute : attributes)
            names += (names.empty() ? "" : ", ") + text_at(analysis_.attributes, attribute);
        return names;
    }

    const SourceRelation* relation(int number) const {
        return items<const SourceRelation>(analysis_.relations)[number];
    }

    const SourceAnalysis& analysis_;
    const Join& join_;
    RunContext& context_;
    std::vector<std::string> lines_;
};

} // namespace

// btml.explain_join(source text) → setof text
BTML_FUNCTION(btml_explain_join) {
    const GivenSource given = given_source(NamedArguments(fcinfo));
    ResultRows rows(fcinfo);
    BackendContext context("explain_join");
    const Source source(given);
    const LoadedSource loaded = source.read({}, context);
    for (const std::string& line : Explanation(source.analysis(), loaded.join, context).lines()) rows.add_row(line);
    return rows.done();
}

} // namespace btml::pg
