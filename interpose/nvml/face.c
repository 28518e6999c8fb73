/* SPDX-License-Identifier: Apache-2.0
 * libgacer-nvml.so has no code: dlsym() on its handle looks into the libraries it needs, in order: first the shim
 * (SONAME libcuda.so.1, loaded already), then the real libnvidia-ml.so.1. */
typedef int gacer_nvml_face_is_empty; /* a translation unit may not be */
