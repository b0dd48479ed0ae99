// LightGBM's text from anywhere: it is read, or refused; what is read can be stored, used and written again.
#include "imported_model_use.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    btml::boosting::read_hostile({reinterpret_cast<const char*>(data), size}, btml::boosting::read_lightgbm);
    return 0;
}
