#pragma once

#include "transport/base/file_descriptor.hh"

namespace cress::runtime {

using cress::FileDescriptor;

}  // namespace cress::runtime
