#include "core/algebra/eigen.hpp"

#include "core/base/error.hpp"

namespace btml {

void broken_assertion(const char* condition) {
    throw Error(ErrorCode::internal, format("dense algebra: %s does not hold", condition));
}

} // namespace btml
