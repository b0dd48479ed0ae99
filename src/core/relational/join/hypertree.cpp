#include "core/relational/join/hypertree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace btml::relational {

namespace {

constexpr size_t max_exact = 16;
constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double tolerance = 1e-9; // of a width

using VertexSet = std::vector<int>; // ascending

bool within(const VertexSet& small, const VertexSet& large) {
    return std::includes(large.begin(), large.end(), small.begin(), small.end());
}

// A vertex stands for the attributes that occur in the same edges, two or more.
struct Hypergraph {
    explicit Hypergraph(const std::vector<std::vector<int>>& tables) : edges(tables.size()) {
        std::map<int, std::vector<int>> edges_of;
        for (size_t t = 0; t < tables.size(); t++)
            for (int attribute : tables[t]) edges_of[attribute].push_back(static_cast<int>(t));
        std::map<std::vector<int>, std::vector<int>> classes;
        for (const auto& [attribute, of] : edges_of)
            if (of.size() > 1) classes[of].push_back(attribute);
        for (auto& [of, same] : classes) {
            for (int edge : of) edges[edge].push_back(static_cast<int>(attributes.size()));
            attributes.push_back(std::move(same));
        }
    }

    size_t vertices() const { return attributes.size(); }
    std::vector<int> attributes_of(const VertexSet& set) const {
        std::vector<int> all;
        for (int vertex : set) {
            const std::vector<int>& some = attributes[vertex];
            all.insert(all.end(), some.begin(), some.end());
        }
        std::sort(all.begin(), all.end());
        return all;
    }
    bool within_an_edge(const VertexSet& set) const {
        return std::any_of(edges.begin(), edges.end(), [&](const VertexSet& edge) { return within(set, edge); });
    }

    std::vector<std::vector<int>> attributes; // of each vertex
    std::vector<VertexSet> edges;
};

double width_of(const Hypergraph& graph, const VertexSet& bag) {
    return fractional_cover(bag, graph.edges, [](int, const VertexSet&) { return 1.0; });
}

double width_of(const Hypergraph& graph, const std::vector<VertexSet>& bags) {
    double width = 1;
    for (const VertexSet& bag : bags) width = std::max(width, width_of(graph, bag));
    return width;
}

// Eliminates the vertex whose neighbours lack the fewest edges among each other, and of those the one with the fewest.
class MinFill {
  public:
    explicit MinFill(const Hypergraph& graph) : neighbours_(graph.vertices()) {
        for (const VertexSet& edge : graph.edges) connect(edge);
        for (size_t v = 0; v < graph.vertices(); v++) left_.insert(static_cast<int>(v));
    }

    std::vector<VertexSet> bags(RunContext& context) {
        std::vector<VertexSet> bags;
        while (!left_.empty()) {
            context.poll();
            const int vertex = cheapest();
            const std::set<int> around = neighbours_[vertex];
            for (int neighbour : around) neighbours_[neighbour].erase(vertex);
            connect({around.begin(), around.end()});
            left_.erase(vertex);
            VertexSet bag(around.begin(), around.end());
            bag.insert(std::lower_bound(bag.begin(), bag.end(), vertex), vertex);
            bags.push_back(std::move(bag));
        }
        return bags;
    }

  private:
    void connect(const VertexSet& clique) {
        for (int a : clique)
            for (int b : clique)
                if (a != b) neighbours_[a].insert(b);
    }

    int cheapest() {
        std::tuple<size_t, size_t, int> best{std::numeric_limits<size_t>::max(), 0, -1};
        for (int vertex : left_) {
            size_t present = 0;
            for (int a : neighbours_[vertex])
                for (int b : neighbours_[vertex]) present += a < b && neighbours_[a].count(b);
            const size_t degree = neighbours_[vertex].size();
            best = std::min(best, {degree * (degree - 1) / 2 - present, degree, vertex});
        }
        return std::get<2>(best);
    }

    std::vector<std::set<int>> neighbours_;
    std::set<int> left_;
};

// Dynamic programming over the sets of vertices already eliminated (Bodlaender et al. 2012): the bag that a vertex
// makes is itself with all it reaches through eliminated ones, in whatever order they went.
class ExactSearch {
  public:
    ExactSearch(const Hypergraph& graph, RunContext& context)
        : graph_(graph), context_(context), all_((Mask{1} << graph.vertices()) - 1), neighbours_(graph.vertices(), 0) {
        for (const VertexSet& edge : graph.edges)
            for (int a : edge)
                for (int b : edge) neighbours_[a] |= Mask{1} << b;
    }

    // The bags of the order with the least combined cost(bag).
    template <class Cost, class Combine>
    std::vector<VertexSet> cheapest(const Cost& cost, const Combine& combine) {
        std::vector<double> cost_of(size_t{all_} + 1, -1), least(size_t{all_} + 1, infinite);
        std::vector<Step> steps(size_t{all_} + 1);
        least[0] = 0;
        for (Mask gone = 0; gone < all_; gone++) {
            if (least[gone] == infinite) continue;
            for (size_t v = 0; v < graph_.vertices(); v++) {
                if (gone >> v & 1) continue;
                const Mask bag = bag_of(gone, v);
                if (cost_of[bag] < 0) {
                    cost_of[bag] = cost(members(bag));
                    context_.poll();
                }
                // Once a bag has all that is left, the bags after it are within it.
                const Mask next = (gone | bag) == all_ ? all_ : gone | Mask{1} << v;
                const double combined = combine(least[gone], cost_of[bag]);
                if (combined >= least[next] * (1 - 1e-12)) continue;
                least[next] = combined;
                steps[next] = {gone, bag};
            }
        }
        std::vector<VertexSet> bags;
        for (Mask gone = all_; gone != 0; gone = steps[gone].before) bags.push_back(members(steps[gone].bag));
        return bags;
    }

  private:
    using Mask = uint32_t;
    struct Step {
        Mask before, bag;
    };

    Mask bag_of(Mask gone, size_t vertex) const {
        Mask reached = Mask{1} << vertex, open = reached;
        while (open != 0) {
            const size_t next = __builtin_ctz(open);
            open &= open - 1;
            const Mask added = neighbours_[next] & ~reached;
            reached |= added;
            open |= added & gone;
        }
        return reached & ~gone;
    }

    static VertexSet members(Mask set) {
        VertexSet list;
        for (; set != 0; set &= set - 1) list.push_back(__builtin_ctz(set));
        return list;
    }

    const Hypergraph& graph_;
    RunContext& context_;
    Mask all_;
    std::vector<Mask> neighbours_;
};

std::vector<VertexSet> find_exactly(const Hypergraph& graph, double upper_bound, const LogSize& log_size,
                                    RunContext& context) {
    ExactSearch search(graph, context);
    const auto capped_width = [&](const VertexSet& bag, double cap) {
        const double width = width_of(graph, bag);
        return width <= cap + tolerance ? width : infinite;
    };
    const double least =
        width_of(graph, search.cheapest([&](const VertexSet& bag) { return capped_width(bag, upper_bound); },
                                        [](double a, double b) { return std::max(a, b); }));
    const auto agm_bound = [&](const VertexSet& bag) {
        if (capped_width(bag, least) == infinite) return infinite;
        if (graph.within_an_edge(bag)) return 0.0;
        const auto weight = [&](int edge, const VertexSet& part) { return log_size(edge, graph.attributes_of(part)); };
        return std::min(std::exp(fractional_cover(bag, graph.edges, weight)), 1e200); // finite sums
    };
    return search.cheapest(agm_bound, [](double a, double b) { return a + b; });
}

} // namespace

HypertreeDecomposition decompose(const std::vector<std::vector<int>>& edges, const LogSize& log_size,
                                 RunContext& context) {
    const Hypergraph graph(edges);
    std::vector<VertexSet> bags = MinFill(graph).bags(context);
    HypertreeDecomposition result;
    result.width = width_of(graph, bags);
    result.exact = graph.vertices() <= max_exact;
    if (result.exact && result.width > 1 + tolerance) {
        bags = find_exactly(graph, result.width, log_size, context);
        result.width = width_of(graph, bags);
    }
    for (size_t b = 0; b < bags.size(); b++) {
        bool needed = !graph.within_an_edge(bags[b]);
        for (size_t other = 0; other < bags.size(); other++)
            needed &= other == b || !within(bags[b], bags[other]) || (bags[b] == bags[other] && b < other);
        if (needed) result.bags.push_back(graph.attributes_of(bags[b]));
    }
    return result;
}

} // namespace btml::relational
