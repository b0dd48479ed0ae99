#include "core/boosting/trees/boosting_model.hpp"

#include "core/boosting/objectives/objective.hpp"
#include "core/numbers/number.hpp"

namespace btml::boosting {

namespace {

double get_not_negative(Reader& reader) {
    const double value = reader.get_finite();
    if (value < 0) corrupt_model("A number of rows, a gain, a loss or an error is negative.");
    return value;
}

constexpr SectionKind trees_section{"trees"}, log_section{"log"}, sketch_section{"sketch"}, target_section{"target"},
    sample_section{"sample"}, import_section{"import"}, deviation_section{"deviation"};
constexpr SectionKind known_sections[] = {provenance_section,
                                          features_section,
                                          options_section,
                                          trees_section,
                                          log_section,
                                          sketch_section,
                                          target_section,
                                          sample_section,
                                          import_section,
                                          deviation_section,
                                          uncertainty::calibration_section};

void encode(const SketchReport& sketch, Writer& writer) {
    writer.put(sketch.size);
    writer.put(int32_t{sketch.sketches});
    writer.put_optional(sketch.error);
}

SketchReport decode_sketch(Reader& reader) {
    SketchReport sketch{reader.get<uint64_t>(), reader.get<int32_t>(), std::nullopt};
    if (sketch.size == 0 || sketch.size > INT32_MAX || sketch.sketches < 1)
        corrupt_model("The size or number of its sketches is out of range.");
    if (reader.get_bool()) sketch.error = get_not_negative(reader);
    return sketch;
}

void encode(const SampleReport& sample, Writer& writer) {
    writer.put(static_cast<uint64_t>(sample.join_rows >> 64));
    writer.put(static_cast<uint64_t>(sample.join_rows));
    writer.put(sample.sample_rows);
}

SampleReport decode_sample(Reader& reader) {
    const WideCount high = reader.get<uint64_t>();
    SampleReport sample{high << 64 | reader.get<uint64_t>(), reader.get<uint64_t>()};
    if (sample.sample_rows == 0 || sample.sample_rows >= sample.join_rows)
        corrupt_model("The rows of its sample are none, or no fewer than those of the join.");
    return sample;
}

void encode(const Import& imported, Writer& writer) {
    writer.put(std::string_view(imported.library));
    writer.put(std::string_view(imported.objective));
    writer.put(static_cast<uint8_t>(imported.link));
    writer.put_positive(imported.steepness);
    writer.put(imported.single_precision);
    writer.put(imported.averages);
    writer.put_list(imported.zero_is_missing, [&](bool missing) { writer.put(missing); });
}

Import decode_import(Reader& reader, size_t features) {
    Import imported{reader.get_string(), reader.get_string()};
    const auto link = reader.get<uint8_t>();
    if (link >= link_count) corrupt_model(format("Its link has the number %d.", link));
    imported.link = static_cast<Link>(link);
    imported.steepness = reader.get_finite();
    if (imported.steepness <= 0) corrupt_model("The steepness of its link is not positive.");
    imported.single_precision = reader.get_bool();
    imported.averages = reader.get_bool();
    const size_t zeros = reader.get_count(1);
    if (zeros != 0 && zeros != features) corrupt_model("Not every feature says what its zeros are.");
    imported.zero_is_missing = reader.get_list(zeros, [&] { return uint8_t{reader.get_bool()}; });
    return imported;
}

// A leaf: true, value, rows. An inner node: false, both children, feature, side of NULL, threshold or categories, rows,
// gain. Parents follow from children.
void encode(const Node& node, const std::vector<Feature>& features, Writer& writer) {
    writer.put(node.is_leaf());
    if (node.is_leaf()) {
        writer.put_finite(node.value);
        writer.put_finite(node.rows);
        return;
    }
    writer.put(node.left);
    writer.put(node.right);
    writer.put(node.feature);
    writer.put(node.null_left);
    if (features[node.feature].categorical) {
        writer.put_list(node.categories, [&](uint32_t code) { writer.put(code); });
    } else {
        writer.put(node.threshold);
    }
    writer.put_finite(node.rows);
    writer.put_finite(node.gain);
}

constexpr size_t min_node_bytes = 1 + 2 * sizeof(double);
constexpr double rows_rounding = 1e-9; // relative, far above what weights round

Node decode_node(Reader& reader, const std::vector<Feature>& features) {
    Node node;
    if (reader.get_bool()) {
        node.value = reader.get_finite();
        node.rows = get_not_negative(reader);
        return node;
    }
    node.left = reader.get<int32_t>();
    node.right = reader.get<int32_t>();
    node.feature = reader.get<int32_t>();
    if (node.feature < 0 || static_cast<size_t>(node.feature) >= features.size())
        corrupt_model(format("A node splits feature %d of %zu.", node.feature, features.size()));
    node.null_left = reader.get_bool();
    const Feature& feature = features[node.feature];
    if (feature.categorical) {
        node.categories = reader.get_list(reader.get_count(sizeof(uint32_t)), [&] { return reader.get<uint32_t>(); });
        const auto& codes = node.categories;
        if ((!codes.empty() && codes.back() >= feature.categories.size()) ||
            std::adjacent_find(codes.begin(), codes.end(), std::greater_equal()) != codes.end())
            corrupt_model("The categories of a node are out of range or not in order.");
    } else {
        node.threshold = reader.get_double();
        if (is_null(node.threshold)) corrupt_model("A threshold is NULL.");
    }
    node.rows = get_not_negative(reader);
    node.gain = get_not_negative(reader);
    return node;
}

Tree decode_tree(Reader& reader, const std::vector<Feature>& features) {
    const size_t count = reader.get_count(min_node_bytes);
    if (count == 0 || count > static_cast<size_t>(INT32_MAX)) corrupt_model(format("A tree has %zu nodes.", count));
    Tree tree = reader.get_list(count, [&] { return decode_node(reader, features); });
    for (size_t i = 0; i < count; i++) {
        const int32_t left = tree[i].left, right = tree[i].right;
        if (i > 0 && tree[i].parent < 0) corrupt_model(format("Node %zu of a tree has no parent.", i));
        if (left == -1 && right == -1) continue;
        for (const int32_t child : {left, right}) {
            if (child <= static_cast<int32_t>(i) || static_cast<size_t>(child) >= count)
                corrupt_model(format("Node %zu of a tree of %zu has the child %d.", i, count, child));
            if (tree[child].parent >= 0) corrupt_model(format("Node %d of a tree has two parents.", child));
            tree[child].parent = static_cast<int32_t>(i);
        }
        if (!(std::abs(tree[left].rows + tree[right].rows - tree[i].rows) <= rows_rounding * tree[i].rows))
            corrupt_model(format("The rows of the children of node %zu are not its own.", i));
    }
    return tree;
}

void put_trees(const std::vector<Tree>& trees, const std::vector<Feature>& features, Writer& writer) {
    writer.put_list(trees, [&](const Tree& tree) {
        writer.put_list(tree, [&](const Node& node) { encode(node, features, writer); });
    });
}

std::vector<Tree> get_trees(Reader& reader, const std::vector<Feature>& features) {
    return reader.get_list(reader.get_count(sizeof(uint32_t) + min_node_bytes),
                           [&] { return decode_tree(reader, features); });
}

Deviation decode_deviation(Reader& reader, const std::vector<Feature>& features) {
    Deviation deviation;
    deviation.factor = reader.get_finite();
    if (!(deviation.factor > 0)) corrupt_model("The factor of its deviation is not positive.");
    deviation.base = reader.get_finite();
    deviation.trees = get_trees(reader, features);
    return deviation;
}

void encode(const LogEntry& entry, Writer& writer) {
    writer.put_finite(entry.train_loss);
    writer.put_optional(entry.holdout_loss);
    writer.put_optional(entry.holdout_metric);
}

// Losses of counts may be negative.
LogEntry decode_log_entry(Reader& reader) {
    LogEntry entry{reader.get_finite(), std::nullopt, std::nullopt};
    if (reader.get_bool()) entry.holdout_loss = reader.get_finite();
    if (reader.get_bool()) entry.holdout_metric = reader.get_finite();
    return entry;
}

// Labels and their weights, directions of features, offset.
void encode_target(const Model& model, Writer& writer) {
    writer.put_list(model.labels, [&](std::string_view label) { writer.put(label); });
    writer.put_list(model.label_weights, [&](double weight) { writer.put_finite(weight); });
    writer.put_list(model.directions, [&](int8_t direction) { writer.put(direction); });
    writer.put(model.offset.has_value());
    if (model.offset) writer.put(*model.offset);
}

void decode_target(Reader& reader, Model& model) {
    const size_t labels = reader.get_count(sizeof(uint32_t));
    if (labels > max_labels) corrupt_model(format("It has %zu labels.", labels));
    model.labels = reader.get_list(labels, [&] { return reader.get_string(); });
    const size_t weights = reader.get_count(sizeof(double));
    if (weights != 0 && weights != labels) corrupt_model("Not every label has a weight.");
    model.label_weights = reader.get_list(weights, [&] { return get_not_negative(reader); });
    const size_t directions = reader.get_count(sizeof(int8_t));
    if (directions != 0 && directions != model.features.size()) corrupt_model("Not every feature has a direction.");
    model.directions = reader.get_list(directions, [&] { return reader.get<int8_t>(); });
    for (const int8_t direction : model.directions)
        if (std::abs(direction) > 1) corrupt_model("The direction of a feature is out of range.");
    if (!reader.get_bool()) return;
    model.offset = reader.get<int32_t>();
    if (*model.offset < 0 || static_cast<size_t>(*model.offset) >= model.features.size() ||
        model.features[*model.offset].categorical)
        corrupt_model("Its offset is no numeric feature.");
}

void check_consistent(const Model& model) {
    if (model.features.empty()) corrupt_model("It has no features.");
    if (model.imported && model.offset) corrupt_model("It was imported, and has an offset.");
    if ((model.calibration || model.deviation) && !objective_of(model.options.objective).has_interval())
        corrupt_model(format("It has a calibration, and objective '%s'.", name_of(model.options.objective)));
    const bool by_label = has_scores_by_label(model.link());
    if (by_label != objective_of(model.options.objective).has_scores_by_label())
        corrupt_model(format("Its link is not one of objective '%s'.", name_of(model.options.objective)));
    const size_t scores = by_label ? model.labels.size() : 1;
    if (model.scores() != scores || model.trees.size() % scores != 0)
        corrupt_model(
            format("It has %zu trees and %zu bases for %zu scores.", model.trees.size(), model.scores(), scores));
    const size_t most = by_label ? max_labels : model.link() == Link::logistic ? 2 : 0;
    if (model.labels.size() > most || (most == 2 && model.labels.size() == 1))
        corrupt_model(
            format("It has %zu labels for objective '%s'.", model.labels.size(), name_of(model.options.objective)));
    if (model.deviation && !model.calibration) corrupt_model("It has a deviation without a calibration.");
    const auto check_nodes = [&](const std::vector<Tree>& trees) {
        for (const Tree& tree : trees)
            for (const Node& node : tree)
                if (model.offset && !node.is_leaf() && node.feature == *model.offset)
                    corrupt_model("A node splits its offset.");
    };
    check_nodes(model.trees);
    if (model.deviation) check_nodes(model.deviation->trees);
}

} // namespace

void encode(const Model& model, Writer& writer) {
    encode(static_cast<const Provenance&>(model), writer);
    writer.section(options_section, [&] { options_table.write(model.options, writer); });
    writer.section(trees_section, [&] {
        writer.put_list(model.bases, [&](double base) { writer.put_finite(base); });
        put_trees(model.trees, model.features, writer);
    });
    writer.section(log_section, [&] {
        writer.put_list(model.log, [&](const LogEntry& entry) { encode(entry, writer); });
        writer.put(model.baseline.has_value());
        if (model.baseline) encode(*model.baseline, writer);
    });
    if (!model.labels.empty() || !model.directions.empty() || model.offset)
        writer.section(target_section, [&] { encode_target(model, writer); });
    if (model.sketch) writer.section(sketch_section, [&] { encode(*model.sketch, writer); });
    if (model.sample) writer.section(sample_section, [&] { encode(*model.sample, writer); });
    if (model.imported) writer.section(import_section, [&] { encode(*model.imported, writer); });
    if (model.deviation)
        writer.section(deviation_section, [&] {
            writer.put_positive(model.deviation->factor);
            writer.put_finite(model.deviation->base);
            put_trees(model.deviation->trees, model.features, writer);
        });
    if (model.calibration)
        writer.section(uncertainty::calibration_section, [&] { encode(*model.calibration, writer); });
}

Model decode(Reader& reader) {
    Model model;
    Sections sections(reader, known_sections);
    decode(sections, reader, model);
    sections.require(options_section, [&] { model.options = options_table.read(reader); });
    sections.read(target_section, [&] { decode_target(reader, model); });
    sections.require(trees_section, [&] {
        const size_t bases = reader.get_count(sizeof(double));
        if (bases == 0 || bases > max_labels) corrupt_model(format("It has %zu bases.", bases));
        model.bases = reader.get_list(bases, [&] { return reader.get_finite(); });
        model.trees = get_trees(reader, model.features);
    });
    sections.require(log_section, [&] {
        model.log = reader.get_list(reader.get_count(sizeof(double) + 1), [&] { return decode_log_entry(reader); });
        if (reader.get_bool()) model.baseline = decode_log_entry(reader);
    });
    sections.read(sketch_section, [&] { model.sketch = decode_sketch(reader); });
    sections.read(sample_section, [&] { model.sample = decode_sample(reader); });
    sections.read(import_section, [&] { model.imported = decode_import(reader, model.features.size()); });
    sections.read(deviation_section, [&] { model.deviation = decode_deviation(reader, model.features); });
    sections.read(uncertainty::calibration_section,
                  [&] { model.calibration = uncertainty::decode_calibration(reader); });
    check_consistent(model);
    return model;
}

Model log_variance_of(const Model& model) {
    Model own;
    own.features = model.features;
    own.bases = {model.deviation->base};
    own.trees = model.deviation->trees;
    own.options.objective = ObjectiveNumber::squared;
    return own;
}

std::vector<Importance> feature_importance(const Model& model, RunContext& context) {
    std::vector<Importance> importance(model.features.size());
    for (const Tree& tree : model.trees) {
        context.worked(tree.size());
        for (const Node& node : tree) {
            if (node.is_leaf()) continue;
            Importance& entry = importance[node.feature];
            entry.gain += node.gain;
            entry.splits++;
        }
    }
    return importance;
}

} // namespace btml::boosting
