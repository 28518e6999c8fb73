// SPDX-License-Identifier: Apache-2.0
#include "runtime/simdevice/exec/device_runtime.h"

#include <set>
#include <string>

#include "runtime/ptx/parser.h"

namespace gacer::simdevice {
namespace {

// Signatures: cuda_device_runtime_api.h. The handle of a grid (cudaCGScopeGrid is 1) is the address
// in %envreg1 and %envreg2, 0 without a cooperative launch (error 1: cudaErrorInvalidValue). The
// barrier's word is the one that cooperative groups use inline, in the same way, so that both mix:
// the first block adds what turns the top bit over once each other block has added 1.
constexpr std::string_view kLibrary = R"(
.version 7.0
.target sm_70
.address_size 64
.func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope) {
  .reg .b32 %r<4>; .reg .b64 %rd<3>; .reg .pred %p<2>;
  ld.param.u32 %r1, [scope];
  mov.u32 %r2, %envreg2;
  mov.u32 %r3, %envreg1;
  mov.b64 %rd1, {%r2, %r3};
  setp.eq.u32 %p1, %r1, 1;
  selp.b64 %rd2, %rd1, 0, %p1;
  st.param.b64 [handle], %rd2;
  ret;
}
.func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags) {
  .reg .b32 %r<12>; .reg .b64 %rd<2>; .reg .pred %p<5>;
  ld.param.u64 %rd1, [handle];
  mov.u32 %r1, 1;
  setp.eq.u64 %p1, %rd1, 0;
  @%p1 bra END;
  barrier.sync 0;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %tid.y;
  or.b32 %r2, %r2, %r3;
  mov.u32 %r3, %tid.z;
  or.b32 %r2, %r2, %r3;
  setp.ne.u32 %p2, %r2, 0;
  @%p2 bra JOIN;
  mov.u32 %r4, %nctaid.x;
  mov.u32 %r5, %nctaid.y;
  mul.lo.u32 %r4, %r4, %r5;
  mov.u32 %r5, %nctaid.z;
  mul.lo.u32 %r4, %r4, %r5;
  sub.u32 %r4, 0x80000001, %r4;
  mov.u32 %r6, %ctaid.x;
  mov.u32 %r7, %ctaid.y;
  or.b32 %r6, %r6, %r7;
  mov.u32 %r7, %ctaid.z;
  or.b32 %r6, %r6, %r7;
  setp.eq.u32 %p3, %r6, 0;
  selp.b32 %r8, %r4, 1, %p3;
  atom.add.release.gpu.u32 %r9, [%rd1+4], %r8;
WAIT:
  ld.acquire.gpu.u32 %r10, [%rd1+4];
  xor.b32 %r11, %r10, %r9;
  setp.ge.s32 %p4, %r11, 0;
  @%p4 bra WAIT;
JOIN:
  barrier.sync 0;
  mov.u32 %r1, 0;
END:
  st.param.b32 [error], %r1;
  ret;
}
)";

const ptx::Module& library() {
  static const ptx::Module module = [] {
    auto parsed = ptx::parse(kLibrary);
    return parsed.ok() ? std::move(parsed).value() : ptx::Module{};
  }();
  return module;
}

}  // namespace

void add_device_runtime(ptx::Module& module) {
  std::set<std::string> declared, defined;
  for (const auto& item : module.items)
    if (const auto* f = std::get_if<ptx::Function>(&item))
      (f->has_body ? defined : declared).insert(f->name);
  if (declared.empty()) return;
  for (const auto& item : library().items)
    if (const auto* f = std::get_if<ptx::Function>(&item);
        f != nullptr && declared.contains(f->name) && !defined.contains(f->name))
      module.items.emplace_back(*f);
}

}  // namespace gacer::simdevice
