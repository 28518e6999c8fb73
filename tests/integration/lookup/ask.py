# SPDX-License-Identifier: Apache-2.0
"""A program that takes everything from cuGetProcAddress: ask.py QUESTION [JSON]; prints its answers as JSON.

It knows the driver's documented interface and nothing of the shim."""
import ctypes
import json
import sys

SUCCESS, INVALID_VALUE, NOT_FOUND = 0, 1, 500


class Where(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("at", ctypes.c_void_p)]


c_library = ctypes.CDLL(None)
c_library.dladdr.argtypes = [ctypes.c_void_p, ctypes.POINTER(Where)]
c_library.dlsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
c_library.dlsym.restype = ctypes.c_void_p
c_library.dlvsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
c_library.dlvsym.restype = ctypes.c_void_p


def where(address):
    """(object, symbol) of an address; symbol: of the dynamic symbol table."""
    info = Where()
    if not address or not c_library.dladdr(address, ctypes.byref(info)):
        return [None, None]
    name = info.name.decode() if info.name and info.at == address else None
    return [info.file.decode().split("/")[-1], name]


def symbol(library, name):
    try:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    except AttributeError:
        return None


def lookup(library, name, version, flags, second, with_status=True):
    """[result, status or None, address] of one cuGetProcAddress; the place of the address holds 1 before."""
    function = ctypes.c_void_p(1)
    status = ctypes.c_int(-1)
    text = name.encode() if name is not None else None
    words = [ctypes.c_char_p(text), ctypes.byref(function), ctypes.c_int(version), ctypes.c_uint64(flags)]
    if second:
        words.append(ctypes.byref(status) if with_status else None)
    entry = library.cuGetProcAddress_v2 if second else library.cuGetProcAddress
    result = entry(*words)
    return [result, status.value if second and with_status else None, function.value]


def ask_many(question):
    """Every name x version x flags, by every kind of lookup there is."""
    library = ctypes.CDLL("libcuda.so.1")
    for name in question["names"]:
        for version in question["versions"]:
            for flags in question["flags"]:
                for kind in question["kinds"]:
                    answer = lookup(library, name, version, flags, kind != "v1", kind != "v2 without status")
                    yield [name, version, flags, kind, *answer[:2], *where(answer[2]), answer[2]]


def ask_ways(names):
    library = ctypes.CDLL("libcuda.so.1")
    for name in names:
        handle, text = ctypes.c_void_p(library._handle), name.encode()
        yield [name, where(c_library.dlsym(handle, text))[0], where(c_library.dlsym(None, text))[0],
               where(c_library.dlvsym(handle, text, b"libcuda.so.1"))[0], where(lookup(library, name, 12000, 0, True)[2])[0]]


def ask_null(_):
    library = ctypes.CDLL("libcuda.so.1")
    yield lookup(library, None, 12000, 0, True)
    yield lookup(library, None, 12000, 0, False)
    yield [library.cuGetProcAddress_v2(b"cuInit", None, 12000, ctypes.c_uint64(0), None)]
    yield [library.cuGetProcAddress(b"cuInit", None, 12000, ctypes.c_uint64(0))]


def ask_itself(names):
    """All other functions by a lookup that was itself looked up, four arguments below CUDA 12, five from then on."""
    library = ctypes.CDLL("libcuda.so.1")
    for version in (11030, 11080, 12000, 13000):
        found = lookup(library, "cuGetProcAddress", version, 0, True)
        types = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64] + [ctypes.c_void_p] * (version >= 12000)
        entry = ctypes.CFUNCTYPE(ctypes.c_int, *types)(found[2])
        for name in names:
            function, status = ctypes.c_void_p(1), ctypes.c_int(-1)
            words = [name.encode(), ctypes.addressof(function), version, 0] + [ctypes.addressof(status)] * (version >= 12000)
            yield [version, name, entry(*words), status.value, *where(function.value)]


def ask_work(count):
    """Allocates and launches with nothing but what cuGetProcAddress gave."""
    library = ctypes.CDLL("libcuda.so.1")

    def call(name, *words):
        address = lookup(library, name, 12000, 0, True)[2]
        return ctypes.CFUNCTYPE(ctypes.c_int, *[type(word) for word in words])(address)(*words)
    out, word, null = ctypes.c_uint64(0), ctypes.c_void_p, ctypes.c_void_p(0)
    yield call("cuInit", ctypes.c_uint(0))
    yield call("cuDevicePrimaryCtxRetain", word(ctypes.addressof(out)), ctypes.c_int(0))
    yield call("cuCtxSetCurrent", word(out.value))
    yield call("cuMemAlloc", word(ctypes.addressof(out)), ctypes.c_size_t(1 << 20))
    one = ctypes.c_uint(1)
    for _ in range(count):
        yield call("cuLaunchKernel", word(0x1000), one, one, one, one, one, one, ctypes.c_uint(0), null, null, null)


if __name__ == "__main__":
    argument = json.loads(sys.argv[2]) if len(sys.argv) > 2 else None
    print(json.dumps(list(globals()["ask_" + sys.argv[1]](argument))))
