// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/driver/link_inputs.h"

#include <cstring>
#include <utility>

#include "runtime/simdevice/driver/fatbin.h"
#include "runtime/simdevice/image/archive.h"
#include "runtime/simdevice/image/cubin.h"
#include "runtime/simdevice/image/elf_view.h"

namespace gacer::simdriver {
namespace {

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

Error invalid(std::string_view name, const std::string& what) {
  return Error{CUDA_ERROR_INVALID_IMAGE, std::string(name) + ": " + what};
}

}  // namespace

Status LinkInputs::add(CUjitInputType type, std::span<const uint8_t> bytes, std::string_view name) {
  if (type == CU_JIT_INPUT_LIBRARY) return add_library(bytes, name);
  if (type == CU_JIT_INPUT_OBJECT) return add_object(bytes, name);
  if (type == CU_JIT_INPUT_NVVM)
    return Error{CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
                 std::string(name) + ": NVVM IR needs a compiler that is not here; give PTX"};
  if (type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_CUBIN && type != CU_JIT_INPUT_FATBINARY)
    return Error{CUDA_ERROR_INVALID_VALUE, std::string(name) + ": unknown kind of input"};
  auto image = image_in_bytes(bytes, sm_);
  if (!image.ok())
    return Error{image.error().code, std::string(name) + ": " + image.error().message};
  return add_image(std::move(image).value(), name);
}

Status LinkInputs::add_image(std::string image, std::string_view name) {
  if (is_machine_code(image)) return add_machine_code(std::move(image), name);
  const Status added = linker_.add(image, name);
  if (!added)
    return Error{CUDA_ERROR_INVALID_PTX,
                 "ptxas " + std::string(name) + ", " + added.error().message};
  return {};
}

Status LinkInputs::add_object(std::span<const uint8_t> bytes, std::string_view name) {
  const auto elf = simdevice::ElfView::open(bytes);
  if (!elf) return invalid(name, "not an object file");
  if (elf->header().e_machine == simdevice::kMachineCuda)
    return add_machine_code({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, name);
  for (const char* section_name : {"__nv_relfatbin", ".nv_fatbin"}) {
    const simdevice::ElfSection* section = elf->section(section_name);
    if (section == nullptr) continue;
    auto images = images_of_section(section->bytes, sm_);
    if (!images.ok())
      return Error{images.error().code, std::string(name) + ": " + images.error().message};
    for (std::string& image : *images)
      if (Status added = add_image(std::move(image), name); !added) return added;
  }
  return {};  // an object without device code is no error, as for nvlink
}

Status LinkInputs::add_library(std::span<const uint8_t> bytes, std::string_view name) {
  const auto members = simdevice::archive_members(bytes);
  if (!members) return invalid(name, "not an archive of objects, or cut short");
  for (const simdevice::ArchiveMember& member : *members) {
    if (!simdevice::is_elf(member.bytes)) continue;
    const std::string full = std::string(name) + ":" + member.name;
    if (Status added = add_object(member.bytes, full); !added) return added;
  }
  return {};
}

Status LinkInputs::add_machine_code(std::string image, std::string_view name) {
  const auto cubin = simdevice::parse_cubin(bytes_of(image));
  if (!cubin.ok()) return invalid(name, cubin.error().message);
  if (!simdevice::code_runs_on(cubin->sm, static_cast<uint32_t>(sm_)))
    return Error{CUDA_ERROR_NO_BINARY_FOR_GPU,
                 std::string(name) + ": machine code for sm_" + std::to_string(cubin->sm)};
  const auto elf = simdevice::ElfView::open(bytes_of(image));
  for (const simdevice::ElfSymbol& symbol : elf->symbols())
    if (symbol.symbol.st_shndx != 0 && !symbol.name.empty())
      linker_.add_known_name(std::string(symbol.name));
  machine_code_.push_back(std::move(image));
  return {};
}

Result<std::string> LinkInputs::complete() const {
  if (linker_.empty() && machine_code_.size() == 1) return machine_code_.front();
  if (linker_.empty() && !machine_code_.empty())
    return Error{CUDA_ERROR_NOT_SUPPORTED,
                 "the simulated device links PTX only; these inputs are machine code: embed PTX "
                 "(-gencode arch=compute_80,code=compute_80)"};
  auto text = linker_.finish();
  if (text.ok()) return text;
  // What drivers are seen to answer for undefined names (numba/numba issue 7159).
  return Error{linker_.empty() ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_UNKNOWN,
               text.error().message};
}

}  // namespace gacer::simdriver
