// SPDX-License-Identifier: Apache-2.0
// While this library is being loaded, and so inside the loader's lock, its constructor makes a CUDA call; another
// thread has made the process's first one just before.
#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int other_started;

static void* other(void* result) {
  atomic_store(&other_started, 1);
  *(CUresult*)result = cuInit(0);
  return NULL;
}

static pthread_t thread;
static CUresult others_result = CUDA_ERROR_UNKNOWN;

__attribute__((constructor)) static void early(void) {
  pthread_create(&thread, NULL, &other, &others_result);
  while (!atomic_load(&other_started)) usleep(1000);
  usleep(200000);  // it is now looking for the driver, for which it needs the loader
  printf("early %d\n", cuInit(0));
}

int plugin_run(int count) {
  pthread_join(thread, NULL);
  return count == 1 ? (int)others_result : 1;
}
