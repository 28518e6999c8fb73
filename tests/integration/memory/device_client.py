# SPDX-License-Identifier: Apache-2.0
"""A program that uses the driver by ctypes and knows nothing of gacer.  device_client.py SCENARIO [ARGUMENT...]

Prints JSON lines; where it holds something, it does so until its standard input ends.
"""
import ctypes
import json
import sys

MIB = 1 << 20
cuda = ctypes.CDLL("libcuda.so.1")
u64, u32, i32, ptr = ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int, ctypes.c_void_p


class Location(ctypes.Structure):
    _fields_ = [("type", i32), ("id", i32)]


class AllocationProp(ctypes.Structure):
    _fields_ = [("type", i32), ("handle_types", i32), ("location", Location), ("win32", ptr), ("flags", ctypes.c_uint8 * 8)]


class ArrayDescriptor(ctypes.Structure):
    _fields_ = [("width", u64), ("height", u64), ("format", i32), ("channels", u32)]


class IpcHandle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 64)]


def call(name, *arguments):
    return getattr(cuda, name)(*arguments)


def must(name, *arguments):
    result = call(name, *arguments)
    if result != 0:
        sys.exit(f"{name}: {result}")


def say(value):
    print(json.dumps(value), flush=True)


def hold():
    while sys.stdin.readline():
        pass


def enter(device):
    context = ptr()
    must("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    must("cuCtxSetCurrent", context)


def uuid_of(device):
    uuid = (ctypes.c_ubyte * 16)()
    must("cuDeviceGetUuid_v2", uuid, device)
    return bytes(uuid).hex()


def alloc(bytes_):
    pointer = u64()
    return call("cuMemAlloc_v2", ctypes.byref(pointer), u64(bytes_)), pointer


def create(bytes_, device=0, kind=1):
    handle = u64()
    prop = AllocationProp(type=1, location=Location(kind, device))
    return call("cuMemCreate", ctypes.byref(handle), u64(bytes_), ctypes.byref(prop), u64(0)), handle


def info():
    free, total = u64(), u64()
    must("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return free.value, total.value


def devices():
    """64 MiB times the last byte of the UUID's hash, on each device."""
    count = i32()
    result = call("cuDeviceGetCount", ctypes.byref(count))
    wanted = {}
    for device in range(count.value if result == 0 else 0):
        enter(device)
        uuid = uuid_of(device)
        bytes_ = (1 + sum(bytes.fromhex(uuid)) % 7) * 64 * MIB
        assert alloc(bytes_)[0] == 0
        wanted[uuid] = bytes_
    say(wanted)
    hold()


def paths():
    """Each way to allocate, over and under what is left; ends with nothing held."""
    enter(0)
    stream = ptr()
    must("cuStreamCreate", ctypes.byref(stream), 1)
    pointer, handle, array, pitch = u64(), u64(), ptr(), u64()
    def array_of(rows):
        return call("cuArrayCreate_v2", ctypes.byref(array), ctypes.byref(ArrayDescriptor(1 << 14, rows, 0x20, 4)))
    ways = {
        "plain": (lambda b: alloc_into(pointer, b), lambda: call("cuMemFree_v2", pointer)),
        "managed": (lambda b: call("cuMemAllocManaged", ctypes.byref(pointer), u64(b), 1), lambda: call("cuMemFree_v2", pointer)),
        "pitch": (lambda b: call("cuMemAllocPitch_v2", ctypes.byref(pointer), ctypes.byref(pitch), u64(1 << 20), u64(b >> 20), 4),
                  lambda: call("cuMemFree_v2", pointer)),
        "virtual": (lambda b: create_into(handle, b), lambda: call("cuMemRelease", handle)),
        "array": (lambda b: array_of(b >> 18), lambda: call("cuArrayDestroy", array)),
        "async": (lambda b: call("cuMemAllocAsync", ctypes.byref(pointer), u64(b), stream),
                  lambda: call("cuMemFreeAsync", pointer, stream) or call("cuStreamSynchronize", stream)),
    }
    seen = {}
    for name, (make, end) in ways.items():
        room = info()[0] // MIB // 4 * 4  # virtual memory comes in pieces of 2 MiB
        over = make((room + 64) * MIB)
        again = make((room + 64) * MIB)
        fits = make(room // 2 * MIB)
        seen[name] = [over, again, fits, end(), room, info()[0] // MIB // 4 * 4]
    say(seen)
    hold()


def alloc_into(pointer, bytes_):
    return call("cuMemAlloc_v2", ctypes.byref(pointer), u64(bytes_))


def create_into(handle, bytes_):
    prop = AllocationProp(type=1, location=Location(1, 0))
    return call("cuMemCreate", ctypes.byref(handle), u64(bytes_), ctypes.byref(prop), u64(0))


def queries():
    enter(0)
    total_of_device = u64()
    must("cuDeviceTotalMem_v2", ctypes.byref(total_of_device), 0)
    free, total = info()
    say({"total": total, "free": free, "device_total": total_of_device.value})
    hold()


def mix(kind):
    """Allocates in a framework's manner until refused; says how much it got."""
    enter(0)
    got, step = 0, {"bfc": 96 * MIB, "expandable": 20 * MIB, "native": 64 * MIB, "arena": 48 * MIB}[kind]
    host = ptr()
    while True:
        if kind == "bfc":
            must("cuMemHostAlloc", ctypes.byref(host), u64(MIB), 0)
        result = create(step)[0] if kind == "expandable" or (kind == "bfc" and (got // step) % 2) else alloc(step)[0]
        if result != 0:
            break
        got += step
    say({"got": got, "result": result})
    hold()


def export():
    enter(0)
    result, pointer = alloc(256 * MIB)
    handle = IpcHandle()
    must("cuIpcGetMemHandle", ctypes.byref(handle), pointer)
    say(bytes(handle.bytes).hex())
    hold()


def importer(text):
    enter(0)
    handle = IpcHandle((ctypes.c_ubyte * 64)(*bytes.fromhex(text)))
    pointer = u64()
    opened = call("cuIpcOpenMemHandle_v2", ctypes.byref(pointer), handle, 1)
    say({"opened": opened})
    sys.stdin.readline()
    say({"closed": [call("cuIpcCloseMemHandle", pointer), call("cuIpcCloseMemHandle", pointer) != 0]})
    hold()


def watch(count):
    enter(0)
    say("ready")
    sys.stdin.readline()
    say(sorted({info()[0] for _ in range(int(count))}))
    hold()


def grab(percent):
    enter(0)
    free = info()[0]
    say({"free": free, "result": alloc(free * int(percent) // 100)[0]})
    hold()


def main():
    scenarios = {"devices": devices, "paths": paths, "queries": queries, "mix": mix, "export": export, "import": importer,
                 "watch": watch, "grab": grab}
    result = call("cuInit", 0)
    if result != 0:
        say({})  # no device is visible
        return hold()
    return scenarios[sys.argv[1]](*sys.argv[2:])


main()
