// The error of a training set without rows to train on.
#pragma once

#include "core/base/error.hpp"

namespace btml {

// Says that no row has a weight to be trained on with. It is an error of its own, since a group of an aggregate without
// such rows has no model, where one fit over them fails.
class NothingToTrainOn : public Error {
  public:
    explicit NothingToTrainOn(std::string message, std::string detail = {})
        : Error(ErrorCode::invalid_argument, std::move(message), std::move(detail)) {}
};

} // namespace btml
