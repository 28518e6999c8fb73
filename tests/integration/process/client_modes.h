// SPDX-License-Identifier: Apache-2.0
// One function per mode of process_client. `count`: launches, unless said otherwise.
#pragma once

namespace gacer::test {

// fork_modes.cpp: children made in every way.
void fork_after_use(int count);     // fork, child launches, parent launches again
void fork_without_use(int count);   // four children launch, the parent never does
void fork_from_threads(int count);  // while four threads launch
void raw_clone(int count);          // clone(SIGCHLD) without the C library
void vfork_and_exec(int count);     // the new program launches
void spawn(int count);              // posix_spawn
void fork_and_exec(int count);
void crowd_of_children(int children);  // short lives, every tenth killed; 64 at a time

// host_modes.cpp: what a host does to its own process.
void close_all_before(int count);   // close_range(0, ~0), then launches
void close_all_after(int seconds);  // launches, close_range(3, ~0), launches for so long
void closed_standard_files(int count);
void standard_error_reused(int count);  // number 2 is a file of the program's own
void drop_privileges(int count);        // becomes CLIENT_UID, then launches
void launch_at_exit(int count);         // atexit, static and thread-local destructors
void exit_at_once(int count);           // _exit
void launch_at_thread_exit(int count);  // from destructors of so many threads
void close_driver_handle(int count);    // dlopen, dlclose many times
void other_namespace(int count);        // dlmopen of the driver
void interval_timer(int count);         // SIGALRM every 2 ms
void cancelled_threads(int count);      // so many threads cancelled while they launch
void host_state(int count);             // nothing of the host has changed

// timing_modes.cpp
void timed_first_launch(int count);  // waits for a byte, prints ns until the first launch is made
void launch_slowly(int seconds);     // at most, or until its input ends; prints the longest in ns
void stop_then_launch(int count);    // raises SIGSTOP before it attaches; allocates too

}  // namespace gacer::test
