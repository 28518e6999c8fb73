# SPDX-License-Identifier: Apache-2.0
# cmake -DPTX=<file> -DNAME=<symbol> -DOUT=<file.cpp> -P EmbedPtx.cmake
# Writes the text as one string constant; the delimiter cannot occur in PTX.
file(READ ${PTX} text)
file(WRITE ${OUT} "// Generated from the PTX of device/${NAME}.cu.\n"
  "#include <string_view>\n\n"
  "namespace gacer::kernels {\n"
  "extern const std::string_view kPtx_${NAME};\n"
  "const std::string_view kPtx_${NAME} = R\"_ptx_(")
file(APPEND ${OUT} "${text}")
file(APPEND ${OUT} ")_ptx_\";\n}  // namespace gacer::kernels\n")
