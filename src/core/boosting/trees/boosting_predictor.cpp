#include "core/boosting/trees/boosting_predictor.hpp"

#include "core/base/buffer.hpp"
#include "core/boosting/objectives/objective.hpp"
#include "core/data/dataset.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace btml::boosting {

class Predictor::Scorer {
  public:
    virtual ~Scorer() = default;
    // Adds the leaves that a row reaches in the first trees to its scores.
    virtual void add(std::span<const double> features, size_t trees, std::span<double> scores) = 0;
    // Puts the leaf node of each tree that a row reaches.
    virtual void find(std::span<const double> features, std::span<int32_t> nodes) = 0;
};

namespace {

constexpr char what[] = "a model ready to predict";
constexpr size_t mask_limit = size_t{32} << 20; // bytes of masks, which leave room for the trees in a session's cache

bool sums_floats(const Model& model) {
    return model.imported && model.imported->single_precision;
}

// A sum of two floats, rounded to a double and then to a float, is what adding floats gives.
double rounded(double sum, bool single) {
    return single ? static_cast<double>(static_cast<float>(sum)) : sum;
}

// Nodes of all trees side by side, walked from root to leaf.
class WalkScorer : public Predictor::Scorer {
  public:
    WalkScorer(const Model& model, RunContext& context)
        : single_(sums_floats(model)),
          roots_(context.memory(), what),
          nodes_(context.memory(), what),
          codes_(context.memory(), what) {
        size_t nodes = 0, codes = 0;
        for (const Tree& tree : model.trees) {
            nodes += tree.size();
            for (const Node& node : tree) codes += node.categories.size();
            context.worked(tree.size());
        }
        nodes_.reserve(nodes);
        codes_.reserve(codes);
        for (const Tree& tree : model.trees) {
            const auto first = static_cast<uint32_t>(nodes_.size());
            roots_.push_back(first);
            for (const Node& node : tree) {
                add(node, model, first);
                context.worked(sizeof(Compact) + node.categories.size());
            }
        }
    }

    void add(std::span<const double> features, size_t trees, std::span<double> scores) override {
        size_t score = 0;
        for (size_t t = 0; t < trees; t++) {
            double& sum = scores[score];
            sum = rounded(sum + nodes_[walk(roots_[t], features)].number, single_);
            if (++score == scores.size()) score = 0;
        }
    }

    void find(std::span<const double> features, std::span<int32_t> nodes) override {
        for (size_t t = 0; t < roots_.size(); t++)
            nodes[t] = static_cast<int32_t>(walk(roots_[t], features) - roots_[t]);
    }

  private:
    struct Compact {
        double number; // threshold, or a leaf's value
        int32_t feature;
        uint32_t left, right;
        uint32_t first_code, codes; // in codes_
        bool null_left, categorical;
    };

    void add(const Node& node, const Model& model, uint32_t first) {
        Compact compact{};
        compact.feature = node.is_leaf() ? -1 : node.feature;
        compact.number = node.is_leaf() ? node.value : node.threshold;
        if (!node.is_leaf()) {
            compact.left = first + static_cast<uint32_t>(node.left);
            compact.right = first + static_cast<uint32_t>(node.right);
            compact.null_left = node.null_left;
            compact.categorical = model.features[node.feature].categorical;
            compact.first_code = static_cast<uint32_t>(codes_.size());
            compact.codes = static_cast<uint32_t>(node.categories.size());
            for (const uint32_t code : node.categories) codes_.push_back(code);
        }
        nodes_.push_back(compact);
    }
    uint32_t walk(uint32_t node, std::span<const double> features) const {
        while (nodes_[node].feature >= 0) {
            const Compact& inner = nodes_[node];
            node = rule(inner).goes_left(features[inner.feature]) ? inner.left : inner.right;
        }
        return node;
    }
    SplitRule rule(const Compact& node) const {
        return {node.null_left, node.categorical, node.number, codes_.span().subspan(node.first_code, node.codes)};
    }

    const bool single_;
    Buffer<uint32_t> roots_;
    Buffer<Compact> nodes_;
    Buffer<uint32_t> codes_;
};

// Lines of masks of one feature: one for each interval between thresholds, or for each category that some node names,
// in the order of their codes, and one for all others; then NULL's.
struct Lane {
    size_t feature = 0;
    bool used = false, categorical = false;
    std::vector<double> thresholds; // ascending in PostgreSQL's order, and distinct
    std::vector<uint32_t> line_of;  // by code; the last entry is for codes that no node names
    size_t first_line = 0;

    Lane(const Model& model, size_t f) : feature(f), categorical(model.features[f].categorical) {
        if (categorical) line_of.assign(model.features[f].categories.size() + size_t{1}, UINT32_MAX);
    }
    void add(const Node& node) {
        used = true;
        for (const uint32_t code : node.categories) line_of[code] = 0;
        if (!categorical) thresholds.push_back(node.threshold);
    }
    // Must come after the nodes.
    void number_lines() {
        std::sort(thresholds.begin(), thresholds.end(), sql_less);
        const auto same = [](double a, double b) { return !sql_less(a, b); };
        thresholds.erase(std::unique(thresholds.begin(), thresholds.end(), same), thresholds.end());
        uint32_t next = 0;
        for (uint32_t& line : line_of)
            if (line == 0) line = next++;
        for (uint32_t& line : line_of) line = std::min(line, next);
    }

    size_t null_line() const { return categorical ? line_of.back() + size_t{1} : thresholds.size() + 1; }
    size_t lines() const { return null_line() + 1; }
    size_t line(double x) const {
        if (is_null(x)) return null_line();
        if (categorical) return line_of[code_of(x, line_of.size() - 1)];
        if (std::isnan(x)) return thresholds.size();
        size_t rank = 0;
        for (size_t left = thresholds.size(); left > 0;) { // the number of thresholds ≤ x
            const size_t half = (left + 1) / 2;
            rank = thresholds[rank + half - 1] <= x ? rank + half : rank;
            left -= half;
        }
        return rank;
    }
};

// Holds the lanes of the features that some node splits, one after the other.
struct Lanes {
    Reservation held;
    std::vector<Lane> lanes;
    size_t lines = 0;
};

Lanes make_lanes(const Model& model, RunContext& context) {
    Lanes made{{context.memory(), what}, {}};
    for (size_t f = 0; f < model.features.size(); f++) {
        made.held.grow(sizeof(Lane) + sizeof(uint32_t) * model.features[f].categories.size());
        made.lanes.emplace_back(model, f);
    }
    for (const Tree& tree : model.trees) {
        made.held.grow(sizeof(double) * tree.size());
        for (const Node& node : tree) {
            if (!node.is_leaf()) made.lanes[node.feature].add(node);
            context.worked(sizeof(Node) + node.categories.size());
        }
    }
    std::erase_if(made.lanes, [](const Lane& lane) { return !lane.used; });
    for (Lane& lane : made.lanes) {
        lane.number_lines();
        context.worked(sizeof(Lane) * (lane.thresholds.size() + lane.line_of.size()));
        lane.first_line = made.lines;
        made.lines += lane.lines();
    }
    return made;
}

// Bits of a tree's leaves, numbered from left to right. A row's leaf is the first that no node on the way denies: a
// node whose condition is false denies the leaves on its left (Lucchese et al.: QuickScorer, SIGIR 2015). What a
// feature's nodes deny in all trees depends on the feature's value alone, by its place among the thresholds, so it is
// looked up.
template <class Word>
class MaskScorer : public Predictor::Scorer {
  public:
    // Bytes of masks that a model needs.
    static size_t mask_bytes(const Model& model, size_t lines) {
        return lines * padded(model.trees.size()) * sizeof(Word);
    }

    MaskScorer(const Model& model, Lanes made, RunContext& context)
        : single_(sums_floats(model)),
          trees_(model.trees.size()),
          width_(padded(model.trees.size())),
          held_(std::move(made.held)),
          lanes_(std::move(made.lanes)),
          masks_(context.memory(), what, made.lines * width_, ~Word{0}),
          values_(context.memory(), what, width_ * leaves, 0.0),
          nodes_(context.memory(), what, width_ * leaves, 0),
          lines_(lanes_.size()) {
        std::vector<const Lane*> lane_of(model.features.size());
        for (const Lane& lane : lanes_) lane_of[lane.feature] = &lane;
        for (size_t t = 0; t < trees_; t++) {
            const std::vector<Word> denied = number_leaves(model.trees[t], t);
            for (size_t i = 0; i < denied.size(); i++) {
                const Node& node = model.trees[t][i];
                if (!node.is_leaf()) deny(node.rule(model.features), *lane_of[node.feature], t, denied[i], context);
            }
        }
    }

    void add(std::span<const double> features, size_t trees, std::span<double> scores) override {
        if (single_)
            add_up<true>(features, trees, scores);
        else
            add_up<false>(features, trees, scores);
    }

    void find(std::span<const double> features, std::span<int32_t> nodes) override {
        for_each_step(features, trees_, [&](size_t tree, const std::array<Word, step>& alive) {
            const size_t end = std::min(step, trees_ - tree);
            for (size_t i = 0; i < end; i++) nodes[tree + i] = nodes_[(tree + i) * leaves + std::countr_zero(alive[i])];
        });
    }

  private:
    static constexpr size_t step = 64 / sizeof(Word); // trees at once
    static constexpr size_t leaves = 8 * sizeof(Word);

    template <bool single>
    void add_up(std::span<const double> features, size_t trees, std::span<double> scores) {
        double sum = scores[0];
        size_t score = 0;
        for_each_step(features, trees, [&](size_t tree, const std::array<Word, step>& alive) {
            const size_t end = std::min(step, trees - tree);
            const auto value = [&](size_t i) { return values_[(tree + i) * leaves + std::countr_zero(alive[i])]; };
            if (scores.size() == 1) {
                for (size_t i = 0; i < end; i++) sum = rounded(sum + value(i), single);
                return;
            }
            for (size_t i = 0; i < end; i++) {
                scores[score] = rounded(scores[score] + value(i), single);
                if (++score == scores.size()) score = 0;
            }
        });
        if (scores.size() == 1) scores[0] = sum;
    }

    // body(tree, alive): some of the first trees, and the leaves of each that no node on the way denies.
    template <class Body>
    void for_each_step(std::span<const double> features, size_t trees, const Body& body) {
        for (size_t i = 0; i < lanes_.size(); i++)
            lines_[i] = masks_.data() + (lanes_[i].first_line + lanes_[i].line(features[lanes_[i].feature])) * width_;
        for (size_t tree = 0; tree < trees; tree += step) {
            std::array<Word, step> alive;
            alive.fill(~Word{0});
            for (const Word* line : lines_)
                for (size_t i = 0; i < step; i++) alive[i] &= line[tree + i];
            body(tree, alive);
        }
    }

    static size_t padded(size_t trees) { return (trees + step - 1) / step * step; }

    // Returns for each node the leaves on its left.
    std::vector<Word> number_leaves(const Tree& tree, size_t t) {
        // Children come after their parents: count leaves from the back, then hand out numbers from the front.
        std::vector<uint32_t> below(tree.size(), 1), first(tree.size(), 0);
        for (size_t i = tree.size(); i-- > 0;)
            if (!tree[i].is_leaf()) below[i] = below[tree[i].left] + below[tree[i].right];
        std::vector<Word> denied(tree.size(), 0);
        for (size_t i = 0; i < tree.size(); i++) {
            if (tree[i].is_leaf()) {
                values_[t * leaves + first[i]] = tree[i].value;
                nodes_[t * leaves + first[i]] = static_cast<int32_t>(i);
                continue;
            }
            const size_t left = tree[i].left, right = tree[i].right;
            first[left] = first[i];
            first[right] = first[i] + below[left];
            denied[i] = ((Word{1} << below[left]) - 1) << first[left];
        }
        return denied;
    }

    // Takes the leaves on a node's left from every line whose values go right.
    void deny(const SplitRule& rule, const Lane& lane, size_t t, Word leaves_on_left, RunContext& context) {
        Word* const lines = &masks_[lane.first_line * width_ + t];
        const auto deny_in = [&](size_t begin, size_t end) {
            for (size_t line = begin; line < end; line++) lines[line * width_] &= ~leaves_on_left;
        };
        const size_t null_line = lane.null_line();
        context.worked(null_line);
        size_t next = 0; // the first line after those that go left
        if (!rule.categorical) next = lane.line(rule.threshold);
        for (const uint32_t code : rule.categories) {
            deny_in(next, lane.line_of[code]);
            next = lane.line_of[code] + size_t{1};
        }
        deny_in(next, null_line + !rule.null_left);
    }

    const bool single_;
    const size_t trees_, width_;
    Reservation held_; // of lanes_
    std::vector<Lane> lanes_;
    Buffer<Word> masks_;             // lines × width
    Buffer<double> values_;          // trees × leaves
    Buffer<int32_t> nodes_;          // trees × leaves
    std::vector<const Word*> lines_; // of the row at hand
};

size_t max_leaves(const Model& model) {
    size_t most = 0;
    for (const Tree& tree : model.trees) most = std::max(most, (tree.size() + 1) / 2);
    return most;
}

std::unique_ptr<Predictor::Scorer> make_scorer(const Model& model, RunContext& context) {
    const size_t leaves = max_leaves(model);
    if (leaves <= 64) {
        Lanes lanes = make_lanes(model, context);
        if (leaves <= 32 && MaskScorer<uint32_t>::mask_bytes(model, lanes.lines) <= mask_limit)
            return std::make_unique<MaskScorer<uint32_t>>(model, std::move(lanes), context);
        if (MaskScorer<uint64_t>::mask_bytes(model, lanes.lines) <= mask_limit)
            return std::make_unique<MaskScorer<uint64_t>>(model, std::move(lanes), context);
    }
    return std::make_unique<WalkScorer>(model, context);
}

} // namespace

Predictor::Predictor(const Model& model, RunContext& context)
    : scorer_(make_scorer(model, context)),
      bases_(model.bases),
      offset_(model.offset),
      offset_name_(model.offset ? "offset \"" + model.features[*model.offset].name + "\"" : ""),
      missing_(model),
      link_(model.link()),
      steepness_(model.imported ? model.imported->steepness : 1),
      averages_(model.imported && model.imported->averages),
      sums_floats_(sums_floats(model)),
      trees_(model.trees.size()),
      scores_(model.scores()),
      probabilities_(model.labels.size()) {}
Predictor::~Predictor() = default;
Predictor::Predictor(Predictor&& other) noexcept = default;
Predictor& Predictor::operator=(Predictor&& other) noexcept = default;

std::span<const double> Predictor::scores(std::span<const double> features, size_t iterations) {
    for (size_t s = 0; s < scores_.size(); s++) scores_[s] = bases_[s];
    if (offset_) {
        check_given(features[*offset_], offset_name_.c_str());
        scores_[0] += features[*offset_];
    }
    scorer_->add(missing_(features), iterations * scores_.size(), scores_);
    if (averages_ && iterations > 0)
        for (double& score : scores_) score /= static_cast<double>(iterations);
    return scores_;
}

void Predictor::leaves(std::span<const double> features, std::span<int32_t> nodes) {
    scorer_->find(missing_(features), nodes);
}

std::span<const double> Predictor::probabilities(std::span<const double> features) {
    const std::span<const double> found = scores(features);
    if (link_ == Link::softmax) {
        std::copy(found.begin(), found.end(), probabilities_.begin());
        softmax(probabilities_, sums_floats_);
    } else if (link_ == Link::one_vs_all) {
        for (size_t s = 0; s < found.size(); s++) probabilities_[s] = prediction(found[s]);
    } else {
        probabilities_[1] = prediction(found[0]);
        probabilities_[0] = prediction(-found[0]);
    }
    return probabilities_;
}

} // namespace btml::boosting
