#include "pg/model/decoded_model.hpp"

#include "pg/bridge/settings.hpp"
#include "pg/values/bytes.hpp"

#include <list>
#include <map>

extern "C" {
#include "access/detoast.h"
}

namespace btml::pg {

namespace {

// The header of a model has its digest: models with equal headers are equal, whoever made them.
using Header = std::array<std::byte, envelope_header_size>;

using Key = std::pair<Header, ModelUse>;

// Reads no more of a value that is stored out of line than its first chunk.
Header header_bytes_of(Datum value) {
    Header header{};
    pg_call([&] {
        auto* const stored = reinterpret_cast<struct varlena*>(DatumGetPointer(value));
        struct varlena* const slice = detoast_attr_slice(stored, 0, static_cast<int32>(header.size()));
        memcpy(header.data(), VARDATA_ANY(slice), std::min<size_t>(VARSIZE_ANY_EXHDR(slice), header.size()));
        pfree(slice);
    });
    return header;
}

// Holds the models that were used last in btml.model_cache.
class SessionModels {
  public:
    std::shared_ptr<DecodedModel> find(const Key& key) {
        const auto found = places_.find(key);
        if (found == places_.end()) return {};
        recent_.splice(recent_.begin(), recent_, found->second);
        return found->second->model;
    }

    void keep(const Key& key, const std::shared_ptr<DecodedModel>& model) {
        const uint64_t bytes = model->bytes();
        if (bytes > model_cache_bytes()) return;
        std::list<Kept> kept{{key, model, bytes}};
        places_.emplace(key, kept.begin());
        recent_.splice(recent_.begin(), kept);
        bytes_ += bytes;
    }

    // Lets those go that were not used for longest.
    void shrink() {
        while (bytes_ > model_cache_bytes()) {
            bytes_ -= recent_.back().bytes;
            places_.erase(recent_.back().key);
            recent_.pop_back();
        }
    }

  private:
    struct Kept {
        Key key;
        std::shared_ptr<DecodedModel> model;
        uint64_t bytes;
    };

    std::list<Kept> recent_; // the latest first
    std::map<Key, std::list<Kept>::iterator> places_;
    uint64_t bytes_ = 0;
};

SessionModels& session_models() {
    static auto* const models = new SessionModels; // a backend that exits leaves it where it is
    return *models;
}

// Counts the features of a model with what finds their categories.
uint64_t memory_of(const std::vector<Feature>& features) {
    constexpr size_t bytes_of_table = 64, bytes_of_entry = 64; // of a hash table
    uint64_t bytes = 0;
    for (const Feature& feature : features) {
        bytes += sizeof(Feature) + bytes_of_table + feature.name.size() + feature.type.size();
        for (const std::string& category : feature.categories)
            bytes += category.size() + sizeof(std::string) + bytes_of_entry;
    }
    return bytes;
}

uint64_t memory_of(const std::vector<std::string>& labels) {
    uint64_t bytes = 0;
    for (const std::string& label : labels) bytes += label.size() + sizeof(std::string);
    return bytes;
}

} // namespace

DecodedModel::DecodedModel(Datum value, ModelUse use, uint64_t max_bytes)
    : run_(nullptr, false, max_bytes), held_(run_.memory(), "features of a model") {
    StoredModel stored = read_model(value, run_);
    held_.grow(memory_of(features_of(stored)));
    features = features_of(stored);
    codes = CategoryCodes(features);
    kind = kind_of(stored);
    if (const auto* const model = std::get_if<boosting::Model>(&stored.model)) {
        keep_labels(model->labels);
        keep(model->calibration);
        objective = model->options.objective;
        strategy = model->strategy;
        is_imported = model->imported.has_value();
        if (use == ModelUse::explain)
            explainer.emplace(*model, run_);
        else
            keep_trees(*model);
    } else {
        stored_ = std::move(stored);
        if (auto* const process = std::get_if<gp::Model>(&stored_->model)) {
            keep(process->calibration);
            strategy = process->strategy;
            gp.emplace(*process);
        } else {
            const auto& of_columns = std::get<linear::Model>(stored_->model);
            keep_labels(of_columns.labels);
            linear.emplace(of_columns);
        }
    }
}

void DecodedModel::keep_labels(const std::vector<std::string>& found) {
    held_.grow(memory_of(found));
    labels = found;
}

void DecodedModel::keep(const std::optional<uncertainty::Calibration>& found) {
    if (!found) return;
    held_.grow(found->kept.size() * sizeof(double));
    calibration = found;
}

void DecodedModel::keep_trees(const boosting::Model& model) {
    trees.emplace(model, run_);
    if (!model.deviation) return;
    log_variance.emplace(boosting::log_variance_of(model), run_);
    deviation_factor = model.deviation->factor;
}

std::shared_ptr<DecodedModel> decoded_model(Datum value, ModelUse use, uint64_t max_bytes) {
    SessionModels& models = session_models();
    models.shrink();
    const Key key{header_bytes_of(value), use};
    std::shared_ptr<DecodedModel> model = models.find(key);
    if (model) return model;
    model = std::make_shared<DecodedModel>(value, use, max_bytes);
    models.keep(key, model);
    models.shrink();
    return model;
}

} // namespace btml::pg
