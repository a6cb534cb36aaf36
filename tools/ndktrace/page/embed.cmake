# SPDX-License-Identifier: MIT
# Makes the page of its parts, and writes it as C: cmake -DPAGE_DIR=DIRECTORY -DOUTPUT=FILE.c -P embed.cmake
# page.html has the places @POLICY@, @STYLE@, @DRAWING@, @WORDS@, @SCRIPT@ and @DATA@. The policy allows the script and
# the styles by their hashes, and nothing else.
cmake_minimum_required(VERSION 3.22)
set(SCRIPTS model link spans words diagnosis rows lanes draw draw_events draw_ticks view minimap details controls search
  table print main)

# Sets OUT to the SHA-256 of TEXT in base64, as a content security policy has it.
function(policy_hash TEXT OUT)
  set(digits ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  string(SHA256 hex "${TEXT}")
  set(base64 "")
  foreach(at RANGE 0 60 6) # the last group has 4 of 6 digits, which is 2 of 3 bytes
    string(SUBSTRING "${hex}00" ${at} 6 group)
    math(EXPR number "0x${group}")
    foreach(shift 18 12 6 0)
      math(EXPR index "(${number} >> ${shift}) & 63")
      string(SUBSTRING ${digits} ${index} 1 digit)
      string(APPEND base64 ${digit})
    endforeach()
  endforeach()
  string(SUBSTRING ${base64} 0 43 base64)
  set(${OUT} "'sha256-${base64}='" PARENT_SCOPE)
endfunction()

# Appends an array with the bytes of TEXT to the variable `code`.
function(append_array NAME TEXT)
  file(WRITE ${OUTPUT}.part "${TEXT}")
  file(READ ${OUTPUT}.part hex HEX)
  file(REMOVE ${OUTPUT}.part)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  set(code "${code}const unsigned char ${NAME}[] = {\n${hex}\n};\nconst size_t ${NAME}_size = sizeof ${NAME};\n"
    PARENT_SCOPE)
endfunction()

set(script "")
foreach(name ${SCRIPTS})
  file(READ ${PAGE_DIR}/${name}.js part)
  string(APPEND script "${part}")
endforeach()
file(READ ${PAGE_DIR}/page.html page)
file(READ ${PAGE_DIR}/page.css style)
file(READ ${PAGE_DIR}/drawing.css drawing)
file(READ ${PAGE_DIR}/words.json words)
policy_hash("${script}" script_hash)
policy_hash("${style}" style_hash)
policy_hash("${drawing}" drawing_hash)
set(policy "default-src 'none'; script-src ${script_hash}; style-src ${style_hash} ${drawing_hash}; base-uri 'none'; \
form-action 'none'")
string(REPLACE "@POLICY@" "${policy}" page "${page}")
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@DRAWING@" "${drawing}" page "${page}")
string(REPLACE "@WORDS@" "${words}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
string(FIND "${page}" "@DATA@" at)
string(SUBSTRING "${page}" 0 ${at} before)
math(EXPR at "${at} + 6")
string(SUBSTRING "${page}" ${at} -1 after)
set(code "/* SPDX-License-Identifier: MIT */\n#include \"html_page.h\"\n")
append_array(html_page_before_data "${before}")
append_array(html_page_after_data "${after}")
file(WRITE ${OUTPUT} "${code}")
