#include "core/device/library.hpp"

#include <dlfcn.h>

namespace btml::device {

namespace {

template <class Function>
void find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    if (!function) throw Error(ErrorCode::not_supported, format("btml_cuda.so has no function %s", name));
}

Library load(const std::string& path) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw Error(ErrorCode::not_supported, dlerror());
    Library functions;
    find(library, "btml_cuda_open_sums", functions.open_sums);
    find(library, "btml_cuda_sum", functions.sum);
    find(library, "btml_cuda_close_sums", functions.close_sums);
    find(library, "btml_cuda_open_gp", functions.open_gp);
    find(library, "btml_cuda_begin_moments", functions.begin_moments);
    find(library, "btml_cuda_add_moments", functions.add_moments);
    find(library, "btml_cuda_take_moments", functions.take_moments);
    find(library, "btml_cuda_begin_forms", functions.begin_forms);
    find(library, "btml_cuda_find_forms", functions.find_forms);
    find(library, "btml_cuda_close_gp", functions.close_gp);
    return functions;
}

} // namespace

const Library& Library::at(const std::string& path) {
    static Library library;
    static std::string loaded;
    if (loaded != path) {
        library = load(path);
        loaded = path;
    }
    return library;
}

void check(const char* failure) {
    if (failure) throw Error(ErrorCode::not_supported, failure);
}

} // namespace btml::device
