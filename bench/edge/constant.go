package main

import "encoding/binary"

// constantEvent takes the place of every piece of an answer in the constant filter: an event of a Chat stream, as long
// as one of ours.
const constantEvent = `data: {"id":"chatcmpl_0123456789abcdef0123456789abcdef","object":"chat.completion.chunk",` +
	`"created":1767312000,"model":"gpt-oss-120b","choices":[{"index":0,"delta":{"content":" word","reasoning":null,` +
	`"reasoning_content":null},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n"

// The layout of the constant filter's memory, of two pages of 64 KiB.
const (
	lengthName   = "content-length"
	lengthAt     = 64
	eventAt      = 1024
	readAt       = 1 << 16
	readSize     = 1 << 16
	returnedPtr  = 0 // where the host writes the place of what was read,
	returnedSize = 4 // and its size
)

// constantFilter returns a proxy-wasm module that reads each piece of an answer and replaces it with [constantEvent]:
// the least that a filter can do that changes streams. It is written by hand, in the format of the WebAssembly Core
// Specification 1.0, section 5, for the ABI 0.2.1 (https://github.com/proxy-wasm/spec/tree/main/abi-versions/v0.2.1).
func constantFilter() []byte {
	const i32, function, memory = 0x7f, 0, 2
	signature := func(params, results int) []byte {
		return join([]byte{0x60}, vector(repeat([]byte{i32}, params)), vector(repeat([]byte{i32}, results)))
	}
	// Types by their index.
	const (
		none, takes1, takes2, configures, takes3, takes5 = 0, 1, 2, 3, 4, 5
	)
	types := [][]byte{signature(0, 0), signature(1, 1), signature(2, 0), signature(2, 1), signature(3, 1), signature(5, 1)}
	imported := func(name string, kind byte) []byte { return join(text("env"), text(name), []byte{function, kind}) }
	imports := [][]byte{
		imported("proxy_get_buffer_bytes", takes5), imported("proxy_set_buffer_bytes", takes5),
		imported("proxy_remove_header_map_value", takes3),
	}
	const getBuffer, setBuffer, removeHeader, drop = 0, 1, 2, 0x1a
	call := func(function byte, arguments ...[]byte) []byte {
		return join(join(arguments...), []byte{0x10, function})
	}
	const responseBody, responseHeaders = 1, 2 // the numbers of a buffer and of a map
	piece := local(1)                          // the size of what has come
	functions := []struct {
		name string
		kind byte
		code []byte
	}{
		{"proxy_abi_version_0_2_1", none, nil},
		// The host's results always have the same place. A longer piece than fits is not read to its end.
		{"proxy_on_memory_allocate", takes1, number(readAt)},
		{"proxy_on_context_create", takes2, nil},
		{"proxy_on_vm_start", configures, number(1)},
		{"proxy_on_configure", configures, number(1)},
		{"proxy_on_response_headers", takes3, join(
			call(removeHeader, number(responseHeaders), number(lengthAt), number(len(lengthName))), []byte{drop},
			number(0))},
		{"proxy_on_response_body", takes3, join(
			piece, []byte{0x45, 0x04, 0x40}, number(0), []byte{0x0f, 0x0b}, // if it is 0: return 0
			call(getBuffer, number(responseBody), number(0), join(piece, number(readSize), piece, number(readSize),
				[]byte{0x49, 0x1b}), // the lesser of both
				number(returnedPtr), number(returnedSize)), []byte{drop},
			call(setBuffer, number(responseBody), number(0), piece, number(eventAt), number(len(constantEvent))),
			[]byte{drop}, number(0))},
	}
	var kinds, exports, codes [][]byte
	for i, f := range functions {
		kinds = append(kinds, []byte{f.kind})
		exports = append(exports, join(text(f.name), []byte{function, byte(len(imports) + i)}))
		codes = append(codes, vector(join([]byte{0}, f.code, []byte{0x0b})))
	}
	exports = append(exports, join(text("memory"), []byte{memory, 0}))
	data := func(at int, content string) []byte { return join([]byte{0}, number(at), []byte{0x0b}, text(content)) }
	return join([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, types), section(2, imports), section(3, kinds), section(5, [][]byte{{0, 2}}), section(7, exports),
		section(10, codes), section(11, [][]byte{data(lengthAt, lengthName), data(eventAt, constantEvent)}))
}

// join returns parts as one.
func join(parts ...[]byte) []byte {
	var all []byte
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

func repeat(part []byte, n int) []byte {
	var all []byte
	for range n {
		all = append(all, part...)
	}
	return all
}

// vector is bytes after their number, and text is a name.
func vector(content []byte) []byte {
	return join(binary.AppendUvarint(nil, uint64(len(content))), content)
}
func text(s string) []byte { return vector([]byte(s)) }

// section is a vector of entries, with its size, after the section's number.
func section(id byte, entries [][]byte) []byte {
	return join([]byte{id}, vector(join(binary.AppendUvarint(nil, uint64(len(entries))), join(entries...))))
}

// local pushes a parameter, and number a constant: a signed LEB128 number, of which these need three bytes at most.
func local(index byte) []byte { return []byte{0x20, index} }
func number(n int) []byte {
	return []byte{0x41, byte(n&0x7f) | 0x80, byte(n>>7&0x7f) | 0x80, byte(n >> 14 & 0x7f)}
}
