// SPDX-License-Identifier: Apache-2.0
// Calls through the chain; prints how often each link was reached.
#include <stdio.h>
#include <time.h>

extern int chain_calls_a, chain_calls_b;
extern void* ompt_start_tool(unsigned version, const char* runtime);

int main(void) {
  const time_t moment = 86400 * 366;
  const struct tm* day = localtime(&moment);
  printf("%d %d %d %s\n", day->tm_year, chain_calls_a, chain_calls_b,
         ompt_start_tool(1, "none") == NULL ? "no tool" : "a tool");
  return 0;
}
