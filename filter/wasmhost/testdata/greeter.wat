;; The smallest filter that does something: it adds its configuration to every response, as the header x-greeting. The
;; examples of the packages wasmhost and filtertest run it.
;;
;;     wasm-opt filter/wasmhost/testdata/greeter.wat -o filter/wasmhost/testdata/greeter.wasm
(module
  (import "env" "proxy_get_buffer_bytes" (func $get_buffer (param i32 i32 i32 i32 i32) (result i32)))
  (import "env" "proxy_add_header_map_value" (func $add_header (param i32 i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  ;; The configuration's address stands at 0 and its length at 4.
  (data (i32.const 16) "x-greeting")
  (global $free (mut i32) (i32.const 64))
  ;; Memory is never freed: the host asks for some only to hand over the configuration.
  (func (export "malloc") (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (global.get $free))
    (global.set $free (i32.add (local.get $at) (local.get $size)))
    (local.get $at))
  (func (export "proxy_abi_version_0_2_0"))
  (func (export "proxy_on_context_create") (param i32 i32))
  (func (export "proxy_on_vm_start") (param i32 i32) (result i32) (i32.const 1))
  (func (export "proxy_on_configure") (param $root i32) (param $size i32) (result i32)
    (drop (call $get_buffer
      (i32.const 7) (i32.const 0) (local.get $size) (i32.const 0) (i32.const 4)))
    (i32.const 1))
  (func (export "proxy_on_response_headers") (param i32 i32 i32) (result i32)
    (drop (call $add_header
      (i32.const 2) (i32.const 16) (i32.const 10) (i32.load (i32.const 0)) (i32.load (i32.const 4))))
    (i32.const 0)))
