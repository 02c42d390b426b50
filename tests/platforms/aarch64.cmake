# A toolchain file of CMake: psim for 64-bit ARM. The environment names the compiler's root, PSIM_SYSROOT
# (aarch64.sh makes it). What CMake or the build runs of psim, runs under qemu-aarch64.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT $ENV{PSIM_SYSROOT})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${CMAKE_SYSROOT})

# Programs of this machine; headers, libraries and packages of the root only.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_DIR} "")
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(usr ${CMAKE_SYSROOT}/usr)
set(ENV{PKG_CONFIG_LIBDIR} ${usr}/lib/aarch64-linux-gnu/pkgconfig:${usr}/lib/pkgconfig:${usr}/share/pkgconfig)
