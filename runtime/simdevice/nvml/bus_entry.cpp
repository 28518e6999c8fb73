// SPDX-License-Identifier: Apache-2.0
// PCI, topology, affinity. All devices hang on one host bridge and reach each other over PCIe.
#include <unistd.h>

#include <climits>
#include <cstdio>

#include "runtime/simdevice/nvml/library.h"

using namespace gacer::simnvml;  // NOLINT: entry points are global by nature

namespace {

nvmlReturn_t pci_info(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return with_device(device, [&](const Device& d) {
    if (pci == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *pci = {};
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, NVML_DEVICE_PCI_BUS_ID_LEGACY_FMT, 0U,
             d.pci_bus(), 0U);
    snprintf(pci->busId, sizeof pci->busId, NVML_DEVICE_PCI_BUS_ID_FMT, 0U, d.pci_bus(), 0U);
    pci->bus = d.pci_bus();
    pci->pciDeviceId = d.board->pci_device_id;
    return NVML_SUCCESS;
  });
}

// NVML_ERROR_NOT_SUPPORTED: the device is not on PCI.
template <typename Value>
nvmlReturn_t link_fact(nvmlDevice_t device, unsigned* out, const Value& value) {
  return with_device(device, [&](const Device& d) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (d.board->pcie_generation == 0) return NVML_ERROR_NOT_SUPPORTED;
    *out = value(*d.board);
    return NVML_SUCCESS;
  });
}
unsigned generation(const BoardFacts& board) {
  return board.pcie_generation;
}
unsigned width(const BoardFacts& board) {
  return board.pcie_width;
}

nvmlReturn_t fill_affinity(nvmlDevice_t device, unsigned size, unsigned long* set, long count) {
  return with_device(device, [&](const Device&) {
    if (set == nullptr || size == 0) return NVML_ERROR_INVALID_ARGUMENT;
    constexpr long kBits = sizeof(long) * CHAR_BIT;
    for (unsigned word = 0; word < size; ++word) {
      set[word] = 0;
      for (long bit = 0; bit < kBits && word * kBits + bit < count; ++bit) set[word] |= 1UL << bit;
    }
    return NVML_SUCCESS;
  });
}

// The places of two valid devices.
template <typename Answer>
nvmlReturn_t with_two(nvmlDevice_t a, nvmlDevice_t b, const Answer& answer) {
  return with_device(a, [&](const Device& one) {
    return with_device(b, [&](const Device& other) { return answer(one, other); });
  });
}

std::vector<nvmlDevice_t> handles_except(const Device* left_out) {
  std::vector<nvmlDevice_t> handles;
  for (const Device* device : Library::get().devices())
    if (device != left_out) handles.push_back(device->handle());
  return handles;
}

}  // namespace

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return pci_info(device, pci);
}
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return pci_info(device, pci);
}
nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return pci_info(device, pci);
}
nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t* pci) {
  return with_device(device, [&](const Device& d) {
    if (pci == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if (pci->version != nvmlPciInfoExt_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    *pci = {};
    pci->version = nvmlPciInfoExt_v1;
    pci->bus = d.pci_bus();
    pci->pciDeviceId = d.board->pci_device_id;
    pci->baseClass = 3;  // display controller
    pci->subClass = 2;   // 3D controller
    snprintf(pci->busId, sizeof pci->busId, NVML_DEVICE_PCI_BUS_ID_FMT, 0U, d.pci_bus(), 0U);
    return NVML_SUCCESS;
  });
}
nvmlReturn_t nvmlDeviceGetBusType(nvmlDevice_t device, nvmlBusType_t* type) {
  return give(device, type, [](const Device& d) {
    return d.board->pcie_generation == 0 ? NVML_BUS_TYPE_UNKNOWN : NVML_BUS_TYPE_PCIE;
  });
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned* out) {
  return link_fact(device, out, generation);
}
nvmlReturn_t nvmlDeviceGetGpuMaxPcieLinkGeneration(nvmlDevice_t device, unsigned* out) {
  return link_fact(device, out, generation);
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned* out) {
  return link_fact(device, out, generation);
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned* out) {
  return link_fact(device, out, width);
}
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned* out) {
  return link_fact(device, out, width);
}
// NVML_PCIE_LINK_MAX_SPEED_*: the n-th constant is the rate of generation n.
nvmlReturn_t nvmlDeviceGetPcieLinkMaxSpeed(nvmlDevice_t device, unsigned* out) {
  return link_fact(device, out, generation);
}
nvmlReturn_t nvmlDeviceGetPcieSpeed(nvmlDevice_t device, unsigned* mbps) {
  return link_fact(device, mbps,
                   [](const BoardFacts& board) { return 1000U << board.pcie_generation; });
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device1, nvmlDevice_t device2,
                                                 nvmlGpuTopologyLevel_t* level) {
  return with_two(device1, device2, [&](const Device& one, const Device& other) {
    if (level == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *level = &one == &other ? NVML_TOPOLOGY_INTERNAL : NVML_TOPOLOGY_HOSTBRIDGE;
    return NVML_SUCCESS;
  });
}
nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, nvmlGpuTopologyLevel_t level,
                                              unsigned* count, nvmlDevice_t* devices) {
  return with_device(device, [&](const Device& d) {
    if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    std::vector<nvmlDevice_t> near;
    if (level == NVML_TOPOLOGY_HOSTBRIDGE) near = handles_except(&d);
    if (devices == nullptr) {
      *count = static_cast<unsigned>(near.size());
      return NVML_SUCCESS;
    }
    return copy_list(near, count, devices);
  });
}
nvmlReturn_t nvmlSystemGetTopologyGpuSet(unsigned cpu, unsigned* count, nvmlDevice_t* devices) {
  if (!Library::get().initialized()) return NVML_ERROR_UNINITIALIZED;
  if (count == nullptr || static_cast<long>(cpu) >= sysconf(_SC_NPROCESSORS_CONF))
    return NVML_ERROR_INVALID_ARGUMENT;
  const std::vector<nvmlDevice_t> all = handles_except(nullptr);
  if (devices != nullptr) return copy_list(all, count, devices);
  *count = static_cast<unsigned>(all.size());
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device1, nvmlDevice_t device2,
                                    nvmlGpuP2PCapsIndex_t index, nvmlGpuP2PStatus_t* status) {
  return with_two(device1, device2, [&](const Device&, const Device&) {
    if (status == nullptr || index >= NVML_P2P_CAPS_INDEX_UNKNOWN)
      return NVML_ERROR_INVALID_ARGUMENT;
    *status =
        index == NVML_P2P_CAPS_INDEX_NVLINK ? NVML_P2P_STATUS_NOT_SUPPORTED : NVML_P2P_STATUS_OK;
    return NVML_SUCCESS;
  });
}
nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t device1, nvmlDevice_t device2, int* same) {
  return with_two(device1, device2, [&](const Device& one, const Device& other) {
    if (same == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    *same = &one == &other ? 1 : 0;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned size, unsigned long* set) {
  return fill_affinity(device, size, set, sysconf(_SC_NPROCESSORS_CONF));
}
nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned size,
                                                 unsigned long* set, nvmlAffinityScope_t) {
  return fill_affinity(device, size, set, sysconf(_SC_NPROCESSORS_CONF));
}
nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned size, unsigned long* set,
                                         nvmlAffinityScope_t) {
  return fill_affinity(device, size, set, 1);
}
